"""Every notebook runs from top to bottom with nothing but the package, and shows the outputs that are stored in it.

`make outputs` stores them anew. Addresses, sizes of processes, times and names of tasks are not compared, nor pictures.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient
from one_machine_slurm import running_slurm, why_not

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent.parent
NAMES = ["01_ten_minutes", "02_choosing_a_partitioner", "03_dask_cluster", "04_slurm", "05_training"]
SECONDS_PER_CELL = 600  # of a machine that does other things as well; alone a notebook takes a minute
VARIES = re.compile(
    r"(?<=/tmp/)[\w-]+|127\.0\.0\.1:\d+|\d+ MB|\b[0-9a-f]{7,}\b"
    r"|(?m:^.*(?:accuracy|trained on|predicted|fetched).*$)"
)
"""Directories of a run, addresses, memory of processes, names of tasks; and what a model has learnt, which differs
between processors."""


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


@pytest.fixture
def execute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Run a notebook, alone in a directory of the test, and store its outputs if that is asked for."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def run(name: str) -> Any:
        notebook = read(name)
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(notebook, timeout=SECONDS_PER_CELL, resources=resources, record_timing=False).execute()
        notebook.metadata.pop("language_info", None)
        for cell in notebook.cells:
            if "outputs" in cell:
                cell.outputs = [output for output in cell.outputs if not is_progress(output)]
        text = nbformat.writes(notebook).replace(str(tmp_path), "/tmp").replace(sys.executable, "python")
        notebook = nbformat.reads(text, as_version=4)
        if request.config.getoption("write_outputs") and shown(notebook) != shown(read(name)):
            nbformat.write(notebook, ROOT / "notebooks" / f"{name}.ipynb")
        return notebook

    return run


def shown(notebook: Any) -> list[list[str]]:
    """What each cell of code shows, as text without what varies."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[VARIES.sub("...", text) for text in texts_of(cell.outputs)] for cell in cells]


def is_progress(output: Any) -> bool:
    """Whether an output shows how far a job was, and how long it took."""
    return "daskgraphpart" in output.get("metadata", {})


def texts_of(outputs: list[Any]) -> Iterator[str]:
    """The text of each output; what goes to one stream may come in several pieces."""
    for name, group in groupby(outputs, lambda output: output.get("name")):
        texts = [text_of(output) for output in group]
        yield from texts if name is None else ["".join(texts)]


def text_of(output: Any) -> str:
    """The text of an output."""
    return str(output.text if output.output_type == "stream" else output.data["text/plain"])


def boxes(notebook: Any) -> list[str]:
    """What a notebook writes to standard error, which Jupyter shows in red boxes."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.text for output in outputs if output.get("name") == "stderr"]


@pytest.mark.filterwarnings("ignore")  # of the notebook client's own event loop
@pytest.mark.parametrize(
    "name",
    [
        "01_ten_minutes",
        *(pytest.param(name, marks=pytest.mark.long) for name in NAMES[1:] if name != "04_slurm"),
    ],
)
def test_a_notebook_runs_from_top_to_bottom_and_shows_what_is_stored(name: str, execute: Callable[[str], Any]) -> None:
    notebook = execute(name)
    assert boxes(notebook) == []
    assert shown(read(name)) == shown(notebook), "`make outputs` stores them"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_on_slurm_runs_with_jobs_if_there_is_a_slurm_and_says_so_if_there_is_none(
    slurm: bool, execute: Callable[[str], Any]
) -> None:
    notebook = execute("04_slurm")
    assert boxes(notebook) == []
    text = "".join(line for cell in shown(notebook) for line in cell)
    assert ("No SLURM answers here" in text) is not slurm
    assert ("NODELIST" in text) is slurm


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_needs_nothing_but_the_package(name: str) -> None:
    source = "\n".join(cell.source for cell in read(name).cells)
    assert "sys.path" not in source and "../" not in source and "mplstyle" not in source


def test_there_are_tests_of_all_notebooks() -> None:
    assert sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_with_outputs(name: str) -> None:
    notebook = read(name)
    nbformat.validate(notebook)
    assert any(shown(notebook)) and boxes(notebook) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_listed_by_its_title(name: str) -> None:
    title = read(name).cells[0].source.splitlines()[0].removeprefix("# ")
    assert f"[{title}](notebooks/{name}.ipynb)" in (ROOT / "docs" / "notebooks.md").read_text()
    assert f'"{title}": notebooks/{name}.ipynb' in (ROOT / "mkdocs.yml").read_text()
