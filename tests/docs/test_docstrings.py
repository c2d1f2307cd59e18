"""The examples in docstrings of public functions and methods run, in a directory with the files of a small shop.

What an example shows is what it prints: `make outputs` writes it anew.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from constructions import edges_entry, nodes_entry, table, write_config
from judges import dgl_environment, dgl_python
from parmetis_programs import pm_dglpart, pm_dglpart2
from published_data import write_ogb
from shown_outputs import is_same, read_examples, run_examples, with_outputs

import daskgraphpart as dgp

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
REFERENCE = ROOT / "docs" / "reference"
OPTIONS = r"\n    options:(?:\n      inherited_members: true)?\n      members: \[(.*)\]"
SHOWN = re.compile(rf"^::: daskgraphpart\.(\S+)(?:{OPTIONS})?", re.MULTILINE)
SLOW = ("compare", "from_dgl")


def documented() -> Iterator[tuple[str, Any]]:
    """Functions and classes that the reference shows, and the methods and properties of these, by name."""
    for page in sorted(REFERENCE.glob("*.md")):
        for name, members in SHOWN.findall(page.read_text()):
            module, _, last = f"daskgraphpart.{name}".rpartition(".")
            value = getattr(importlib.import_module(module), last)
            if not inspect.ismodule(value):
                yield name, value
            if members:
                yield from ((f"{name}.{member}", getattr(value, member)) for member in re.findall(r"\w+", members))
            elif inspect.isclass(value):
                found = inspect.getmembers(value, lambda of: inspect.isfunction(of) or isinstance(of, property))
                yield from ((f"{name}.{member}", of) for member, of in found if not member.startswith("_"))


FOUND = {name: value for name, value in documented() if ">>>" in (value.__doc__ or "")}
FIRST = {value: name for name, value in reversed(FOUND.items())}  # a method of two classes runs once


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that examples read: those that the page of the API makes, tables, a data set, what ParMETIS prints."""
    root = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        block = re.search(r"^```python\n(.*?)^```$", (REFERENCE / "api.md").read_text(), re.MULTILINE | re.DOTALL)
        assert block is not None
        exec(compile(block[1], "api.md", "exec"), {})
        dgp.parmetis.write("shop", "for-parmetis")
        pm_dglpart(root / "for-parmetis", "shop", 4)
        pm_dglpart2(root / "for-parmetis", "shop", 4, 1)
    write_ogb(root / "dataset" / "ogbn_products")
    users, sales = table(root, "users", id=["ann", "bob"], age=[31, 25]), table(root, "sales", s=["ann"], d=["tea"])
    age = {"feature_col": "age", "feature_name": "age"}
    entries = {
        "nodes": [nodes_entry(users, age, ntype="user")],
        "edges": [edges_entry(sales, ("user", "buys", "item"))],
    }
    write_config(root, entries)
    return root


@pytest.fixture
def names(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the examples take for granted, in a directory of their own."""
    shutil.copytree(shop, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    graph, parts = dgp.read_chunked("shop"), dgp.open_partitions("shop-parts")
    return {"dgp": dgp, "np": np, "pd": pd, "graph": graph, "parts": parts}


@pytest.mark.filterwarnings("ignore")  # of PyG, as it is imported
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in sorted(FIRST.values())]
)
def test_an_example_prints_what_it_shows(
    name: str, names: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    examples = read_examples(FOUND[name].__doc__ or "")
    code = [example.source for example in examples]
    printed = run_with_dgl(code, tmp_path) if "import dgl\n" in code else run_examples(code, names, tmp_path)
    if request.config.getoption("write_outputs"):
        module = sys.modules[getattr(FOUND[name], "fget", FOUND[name]).__module__]
        path = Path(module.__file__ or "")
        path.write_text(with_outputs(path.read_text(), examples, printed))
    else:
        shown = {example.source: example.want for example in examples}
        found = dict(zip(code, printed, strict=True))
        assert {key: of for key, of in found.items() if not is_same(of, shown[key])} == {}, "`make outputs` writes them"


def run_with_dgl(code: list[str], directory: Path) -> list[str]:
    """What examples print where DGL is installed."""
    script = (
        "import json, sys, pathlib\nsys.path += json.loads(sys.argv[2])\n"
        "import daskgraphpart as dgp\nfrom shown_outputs import run_examples\n"
        "print(json.dumps(run_examples(json.loads(sys.argv[1]), {'dgp': dgp}, pathlib.Path.cwd())))"
    )
    paths = [ROOT, ROOT / "tests", *(path for path in sys.path if path.endswith("site-packages"))]
    command = [dgl_python("1.1.3"), "-c", script, json.dumps(code), json.dumps(list(map(str, paths)))]
    environment = dgl_environment(directory)
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    printed: list[str] = json.loads(done.stdout.splitlines()[-1])
    return printed


def test_every_public_function_and_method_has_an_example() -> None:
    classes = ("Graph", "Scan", "Assignment", "PartitionedGraph")
    public = {name for name, value in documented() if inspect.isfunction(value) and _class_of(name) in ("", *classes)}
    assert sorted(public - set(FOUND)) == []


def test_every_public_field_of_a_class_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from reference_page import commented_fields  # type: ignore[import-not-found]

    missing = []
    for name, value in documented():
        if inspect.isclass(value):
            entries = re.findall(r"^ *(\w+(?:, \w+)*) : ", value.__doc__ or "", re.MULTILINE)
            described = {word for entry in entries for word in entry.split(", ")}
            fields = commented_fields(value).items()
            missing += [f"{name}.{field}" for field, of in fields if not of.comment and field not in described]
    assert missing == []


def test_each_error_is_said_by_itself() -> None:
    several = [
        name for name, value in documented() if re.search(r"^ *\w+Error, \w+", value.__doc__ or "", re.MULTILINE)
    ]
    assert several == []


def test_docstrings_have_words_of_python_and_not_of_the_command_line() -> None:
    """A function has keywords and values; `--options`, metavariables and giving an option again are of a shell."""
    of_a_shell = re.compile(r"(?<![\w-])--[a-z][\w-]*|\b(?:NTYPE|ETYPE|OLD)\b|[Rr]epeat (?:it|the option)")
    found = {}
    for name, value in documented():
        text = re.sub(r"``[^`]*``|`[^`]*`", "", (value.__doc__ or "").partition("Examples\n")[0])
        if words := of_a_shell.findall(text):
            found[name] = words
    assert found == {}


def _class_of(name: str) -> str:
    """The class of a method by its name in the reference, "" for a function."""
    head, _, _ = name.rpartition(".")
    return head if head.rpartition(".")[2][:1].isupper() else ""
