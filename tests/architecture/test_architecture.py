"""What keeps the package in shape: import time, public names, what the wheel holds, names of passes."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import closure
import numpy as np
import pytest
from inside import ProgressListener

import daskgraphpart
import daskgraphpart.extension
from daskgraphpart.partitioned.part import Part
from daskgraphpart.public import Public

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PACKAGE = Path(daskgraphpart.__file__).parent
ROOT = PACKAGE.parent
NOT_FOR_LOCAL_JOBS = ("torch", "pandas", "pyarrow", "zarr", "duckdb", "distributed", "rich", "upath", "fsspec")
MOST_LINES, MOST_INNER_IMPORTS = 48_195, 60
"""Lines to be read with all layouts, methods and readers, and our own imports inside functions; both to be fewer."""
HEAVY = (*NOT_FOR_LOCAL_JOBS, "numba", "dask", "numpy")


@pytest.mark.parametrize(
    ("module", "not_needed"), [("daskgraphpart", HEAVY), ("daskgraphpart.jobs.partition_function", NOT_FOR_LOCAL_JOBS)]
)
def test_import_loads_nothing_heavy_that_is_not_needed(module: str, not_needed: tuple[str, ...]) -> None:
    program = f"import sys, {module}; print([m for m in {not_needed!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_listed() -> None:
    assert sorted(daskgraphpart.__all__) == list(daskgraphpart.__all__)
    assert all(getattr(daskgraphpart, name) is not None for name in daskgraphpart.__all__)


def public_classes() -> Iterator[type]:
    """Those of the package, of its errors, and of the reference."""
    pages = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    named = (pydoc.locate(name) for name in re.findall(r"^::: (\S+)$", pages, re.MULTILINE))
    exported = (getattr(of, name) for of in (daskgraphpart, daskgraphpart.errors) for name in of.__all__)
    found = {of for of in (*exported, *named) if isinstance(of, type)}
    return (of for of in found if of is not ProgressListener)  # which users write


def test_dir_of_public_modules_is_what_they_export() -> None:
    for module in (daskgraphpart, daskgraphpart.errors, daskgraphpart.parmetis):
        assert dir(module) == list(module.__all__), module
        assert all(hasattr(module, name) for name in module.__all__)
    errors = {
        name for name, of in vars(daskgraphpart.errors).items() if isinstance(of, type) and issubclass(of, Exception)
    }
    assert set(daskgraphpart.errors.__all__) == errors


def test_dir_of_public_objects_lists_what_users_call() -> None:
    """Names without `_`, that are there, and of classes with `__all__`, those and no other."""
    for kind in public_classes():
        assert issubclass(kind, Public), kind
        names = {name for of in kind.__mro__ for name in (*vars(of), *vars(of).get("__annotations__", ()))}
        assert [name for name in kind.__all__ if name.startswith("_")] == []
        assert kind.__all__ == () or issubclass(kind, Exception) or set(kind.__all__) <= names, kind
    graph = daskgraphpart.from_edges((np.arange(3), np.arange(3)))
    assert set(dir(graph)) == set(daskgraphpart.Graph.__all__)
    assert dir(graph.schema)[:2] == ["bfloat16_features", "edge_starts"]
    error = daskgraphpart.errors.OptionError("wrong", hint="mend it")
    assert dir(error) == sorted(error.__all__)
    assert all(hasattr(error, name) for name in dir(error))


def test_what_only_the_schema_has_is_named_as_such() -> None:
    graph = daskgraphpart.from_edges((np.arange(3), np.arange(3)))
    with pytest.raises(AttributeError, match=r"no attribute 'ntypes'; its schema has: \.schema\.ntypes"):
        _ = graph.ntypes
    with pytest.raises(AttributeError, match="no attribute 'num_nodez'"):
        _ = graph.num_nodez


@pytest.mark.parametrize(
    ("module", "given", "meant"),
    [
        (daskgraphpart, "partitoin", "partition"),
        (daskgraphpart.errors, "OptionEror", "OptionError"),
        (daskgraphpart.extension, "Layuot", "Layout"),
    ],
)
def test_a_misspelt_attribute_of_a_module_names_the_right_one(module: ModuleType, given: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=rf"no attribute '{given}'; did you mean {meant}\?"):
        getattr(module, given)
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = module.zzz


def test_methods_are_attributes_of_their_classes_with_signatures_and_help() -> None:
    for kind in (daskgraphpart.PartitionedGraph, Part, daskgraphpart.Graph):
        for name in kind.__all__:
            if inspect.isfunction(method := getattr(kind, name, None)):
                assert len(inspect.signature(method).parameters) > 0 and method.__doc__, (kind, name)
    assert "checksums in their manifest" in pydoc.render_doc(daskgraphpart.PartitionedGraph)
    assert hasattr(daskgraphpart.PartitionedGraph, "verify")
    assert hasattr(daskgraphpart.Graph, "write_chunked")


def test_every_module_has_a_base_name_of_its_own() -> None:
    names = [path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    assert sorted(names) == sorted(set(names))


def test_names_say_what_they_hold() -> None:
    """`found` is what errors and findings of `verify` were given; anything else has a name of its own."""
    owners = {"errors.py", "registry.py", "findings.py"}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        nodes = ast.walk(ast.parse(text)) if "found" in text else ()
        names = {of.id if isinstance(of, ast.Name) else of.arg for of in nodes if isinstance(of, (ast.Name, ast.arg))}
        assert "found" not in names or path.name in owners, path


def test_public_names_are_documented() -> None:
    missing = [name for name in daskgraphpart.__all__ if not getattr(daskgraphpart, name).__doc__]
    assert missing == []


def test_public_names_are_in_the_reference() -> None:
    pages = "\n".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    listed = {line.removeprefix("::: daskgraphpart.") for line in pages.splitlines() if line.startswith("::: dask")}
    assert set(daskgraphpart.__all__) - listed == set()


def test_members_that_a_page_of_the_reference_lists_are_shown() -> None:
    """Those of a class above it are, if the page says so."""
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        blocks = re.findall(r"^::: (daskgraphpart\S+)\n    options:\n((?:      .+\n)+)", page.read_text(), re.MULTILINE)
        for name, options in blocks:
            listed = re.search(r"members: \[(.+)\]", options)
            kind = pydoc.locate(name)
            own = {*vars(kind), *getattr(kind, "__annotations__", ())}
            missing = set(listed[1].split(", ")) - own if listed else set()
            assert not missing or "inherited_members: true" in options, (page.name, name)


def test_no_module_imports_from_the_package_root() -> None:
    allowed = {PACKAGE / "__init__.py", PACKAGE / "cli" / "main.py"}  # the version
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if re.search(r"from\s+daskgraphpart\s+import", text) else ():
            if isinstance(node, ast.ImportFrom) and node.module == "daskgraphpart":
                assert path in allowed, path


def test_files_and_functions_stay_short() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and "kernels" not in path.parts:
                body = (node.end_lineno or 0) - node.body[0].lineno
                docstring = ast.get_docstring(node)
                if docstring and len(node.body) > 1:
                    body = (node.end_lineno or 0) - node.body[1].lineno
                assert body < 60, f"{path}: {node.name} has {body} lines"


def test_what_one_reads_to_follow_partition_does_not_grow() -> None:
    assert sum(closure.closure().values()) <= MOST_LINES
    assert len(closure.inner_imports()) <= MOST_INNER_IMPORTS


def test_the_page_on_the_design_names_every_folder() -> None:
    page = (ROOT / "docs" / "design.md").read_text()
    rooms = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    inner = {f"{path.parent.name}/" for path in PACKAGE.glob("*/*/__init__.py")} - {"methods/"}
    assert {name for name in rooms | inner if f"`{name}`" not in page} == set()


def test_files_that_the_guide_for_contributors_names_are_there() -> None:
    pages = ("CONTRIBUTING.md", "docs/design.md")
    named = re.findall(r"`([a-z_/]+\.py)`", "".join((ROOT / page).read_text() for page in pages))
    folders = ("daskgraphpart", "benchmarks", "docs", "fuzz", "tests")
    known = [str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.py")]
    assert [name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in known)] == []


SHARED_NAMES = {
    "columns",
    "compare",
    "features",
    "graph",
    "inputs",
    "options",
    "partition",
    "pipeline",
    "refine",
    "tables",
}
"""Base names that several files still have, to be fewer."""


def test_a_file_has_a_base_name_of_its_own() -> None:
    counts = Counter(path.stem for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in counts.items() if count > 1} - {"__init__"} <= SHARED_NAMES


def test_every_module_is_named_by_one_that_is_used() -> None:
    """By imports, those for type checkers included, or in strings: built-ins, commands, readers, programs by path."""
    known = closure.modules()
    forms = {name.rpartition(".")[2]: name for name in known} | {name.partition(".")[2]: name for name in known}
    forms |= {path.name: name for name, path in known.items()} | {name: name for name in known}
    left, used = ["daskgraphpart", "daskgraphpart.__main__", "daskgraphpart.testing"], set[str]()
    while left:
        used.add(module := left.pop())
        named = set[str]()
        for node in ast.walk(ast.parse(known[module].read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                named |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                named.add(node.value.partition(":")[0])
        left += {forms[form] for form in named & forms.keys()} - used - set(left)
    assert [name for name, path in known.items() if name not in used and path.name != "__init__.py"] == []


def test_no_name_of_a_junk_drawer() -> None:
    junk = {"utils", "helpers", "common", "core", "base", "misc", "manager"}
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in junk] == []


def test_the_wheel_of_the_sdist_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # setuptools packs what an earlier build left there
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert len([*tmp_path.glob("*.tar.gz")]) == 1
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    data = ("py.typed", "engine/defaults.yaml", "tools/report/page.html", "tools/report/report.html")
    assert {f"daskgraphpart/{name}" for name in data} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"daskgraphpart"}
    expected = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py")}
    assert expected == {name for name in names if name.endswith(".py")}
