"""What the docs and the metadata say of versions and of PyPI is what is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from commands import call

import daskgraphpart
from daskgraphpart.array_layouts import ondisk, parquet, ranks
from daskgraphpart.dispatching.dispatch_options import LAYOUTS
from daskgraphpart.engine import displays
from daskgraphpart.jobs import estimate_job, fingerprint
from daskgraphpart.layouts import manifest
from daskgraphpart.partitioner import write_files
from daskgraphpart.tools.report import figures

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONSTRAINTS = (ROOT / "constraints.txt").read_text()
PAGE = (ROOT / "docs" / "compatibility.md").read_text()
LABELS = {"dask, distributed": "dask", "DuckDB": "duckdb", "PyG": "torch-geometric"}


def row_of(label: str) -> str:
    (found,) = re.findall(rf"^\| {re.escape(label)} \|.*$", PAGE, re.MULTILINE)
    return str(found)


@pytest.mark.parametrize(
    "label", ["dask, distributed", "numpy", "pandas", "pyarrow", "zarr", "numba", "DuckDB", "PyG", "torch"]
)
def test_versions_are_those_of_the_constraints(label: str) -> None:
    package = LABELS.get(label, label)
    (newest,) = re.findall(rf"^{package}==(\S+)$", CONSTRAINTS, re.MULTILINE)
    assert newest in row_of(label)
    needed = re.findall(rf"^{package}>=(\S+)$", "\n".join(PROJECT["project"]["dependencies"]), re.MULTILINE)
    assert all(f" {oldest} or later " in row_of(label) for oldest in needed)


def test_judges_are_those_of_their_requirements() -> None:
    for path in (ROOT / "tests" / "real_dgl").glob("requirements-*.txt"):
        name, version = path.stem.removeprefix("requirements-").split("-")
        assert version in row_of({"dgl": "DGL", "graphstorm": "GraphStorm"}[name])


def test_the_version_is_said_once() -> None:
    version = PROJECT["project"]["version"]
    assert daskgraphpart.__version__ == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version} " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("command", "on_pypi"),
    [
        ("pip install .", "pip install daskgraphpart"),
        ('pip install ".[torch]"', 'pip install "daskgraphpart[torch]"'),
        ('pip install ".[dgl,s3]"   # in a clone', 'pip install "daskgraphpart[dgl,s3]"'),
    ],
)
def test_one_switch_says_that_it_is_on_pypi(command: str, on_pypi: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import commands_page  # type: ignore[import-not-found]

    assert commands_page.installed(command, on_pypi=False) == command
    assert commands_page.installed(command, on_pypi=True) == on_pypi


def test_no_page_installs_from_pypi_by_itself() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert [path for path in pages if re.search(r"pip install [\\\"]*daskgraphpart", path.read_text())] == []


def test_urls_resolve_or_cannot() -> None:
    urls = PROJECT["project"]["urls"].values()
    assert len({url.split("/")[2].endswith(".invalid") for url in urls}) == 1


def test_versions_of_what_is_written_are_those_of_the_code() -> None:
    versions = [
        f"{manifest.VERSION}; {manifest.VERSION - 1} is read",
        f"{ranks.VERSION}, {parquet.VERSION}, {ondisk.VERSION}",
        write_files.DGL_META_VERSION,
        *(str(of) for of in (figures.VERSION, estimate_job.VERSION, displays.JSON_VERSION, fingerprint.WORK_VERSION)),
    ]
    formats = (ROOT / "docs" / "formats.md").read_text()
    assert f"the version is {manifest.VERSION}. " in formats
    assert {ranks.VERSION, parquet.VERSION, ondisk.VERSION} == {1} and "`layout_version`, which is 1: " in formats
    _, _, table = PAGE.partition("| what | where its version is | version |\n|---|---|---|\n")
    assert [row.split(" | ")[-1].removesuffix(" |") for row in table.splitlines()] == versions


def test_the_matrix_of_layouts_and_commands_is_what_commands_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("generate", "graph", "--nodes", "300", "--edges", "2000", "--features", "2", "--quiet") == 0
    np.save("rows.npy", np.zeros(300))
    found = re.search(r"\| layout \|.*\n(?:\|.*\n)+", PAGE)
    assert found is not None
    rows = found[0].splitlines()[:2]
    for layout in LAYOUTS:
        parts = "1" if layout == "ondisk" else "2"
        made = ("--num-parts", parts, "--method", "random", "--layout", layout, "--quiet")
        assert call("partition", "graph", layout, *made) == 0
        done = [
            call("info", layout),
            call("verify", "graph", layout),
            call("verify", "--checksums", layout),
            call("report", layout),
            call("ids", layout, "1"),
            call("to-original", layout, "rows.npy", f"{layout}.npy"),
            call("add", layout, "--node-data", "y=rows.npy"),
        ]
        rows.append(f"| `{layout}` | {' | '.join('no' if code else 'yes' for code in done)} |")
    table = "\n".join([*rows, ""])
    if request.config.getoption("write_outputs"):
        (ROOT / "docs" / "compatibility.md").write_text(PAGE.replace(found[0], table))
    else:
        assert found[0] == table
