"""Every notebook runs from top to bottom, is kept without outputs, and is listed in the documentation."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from one_machine_slurm import running_slurm, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent.parent
NAMES = ["01_ten_minutes", "02_choosing_a_partitioner", "03_dask_cluster", "04_slurm", "05_training"]
SECONDS_PER_CELL = 600  # of a machine that does other things as well; alone a notebook takes a minute


def read(name: str) -> Any:
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


@pytest.fixture
def slurm() -> Iterator[bool]:
    """Whether there is a SLURM: one that answers anyhow is used, else one is started where that is possible."""
    if answers("sinfo"):
        yield True
    elif why_not():
        yield False
    else:  # a short path: the name of a socket has at most 107 characters
        with tempfile.TemporaryDirectory(prefix="slurm-") as root, running_slurm(Path(root)):
            yield True


def answers(program: str) -> bool:
    return shutil.which(program) is not None and subprocess.run([program], capture_output=True).returncode == 0


def execute(name: str, monkeypatch: pytest.MonkeyPatch, directory: Path) -> str:
    """Run a notebook, whose files go to a directory of the test; the text it prints."""
    monkeypatch.setenv("TMPDIR", str(directory))
    notebook = read(name)
    resources = {"metadata": {"path": str(ROOT / "notebooks")}}
    NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources=resources).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    return "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")


@pytest.mark.filterwarnings("ignore")  # of the notebook client's own event loop
@pytest.mark.parametrize(
    "name",
    [
        "01_ten_minutes",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("02_choosing_a_partitioner", "05_training")),
    ],
)
def test_a_notebook_on_a_real_graph_runs_from_top_to_bottom(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    execute(name, monkeypatch, tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_on_a_dask_cluster_runs_from_top_to_bottom(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "/status" in execute("03_dask_cluster", monkeypatch, tmp_path)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_on_slurm_runs_with_jobs_if_there_is_a_slurm_and_says_so_if_there_is_none(
    slurm: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = execute("04_slurm", monkeypatch, tmp_path)
    assert ("No SLURM answers here" in text) is not slurm
    assert ("NODELIST" in text) is slurm


def test_the_first_notebook_needs_nothing_but_the_package() -> None:
    source = "\n".join(cell.source for cell in read("01_ten_minutes").cells)
    assert "sys.path" not in source and "../" not in source
    assert ".visualize(" in source


def test_there_are_tests_of_all_notebooks() -> None:
    assert sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell for cell in cells if cell.outputs or cell.execution_count is not None] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_listed_on_its_page_by_its_title(name: str) -> None:
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    title = read(name).cells[0].source.splitlines()[0].removeprefix("# ")
    assert f"`{name}.ipynb`" in page
    assert f"## {title}\n" in page
