"""Every block of `bash` and `python` of the pages for users runs as it stands, from top to bottom, in one directory.

A block of `output` below it is what it prints: `make outputs` writes it anew. What needs machines that are not here
(SLURM, SSH) is set as `console` or `pycon`.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from commands import call, every_command
from distributed import Client
from installed_copy import write_metadata
from judges import run_script_in_dgl
from remote.conftest import s3, s3_server
from shown_outputs import Block, captured, is_same, read_blocks, replaced, run_like_a_notebook

from daskgraphpart import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from remote_stores import S3

ROOT = Path(__file__).parent.parent.parent
PAGES = [
    "README",
    *(
        f"docs/{name}"
        for name in (
            *("index", "tutorial", "concepts", "install", "coming_from_dgl", "new_data", "partitioners"),
            *("input", "input_nodes", "input_changes", "datasets"),
            *("memory_and_disk", "clusters", "stores", "resume", "troubleshooting", "command_line"),
        )
    ),
] + [str(path.relative_to(ROOT).with_suffix("")) for path in sorted((ROOT / "docs" / "howto").glob("*.md"))]
LONG_PAGES = ("docs/index", "clusters", "stores", "howto/dgl", "howto/heterogeneous", "layout", "several_machines")
__all__ = ["s3", "s3_server"]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of a page: the reader's files, and programs that run with the interpreter of the tests."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    for program, module in (("daskgraphpart",) * 2, ("dask",) * 2, ("torchrun", "torch.distributed.run")):
        (tmp_path / "bin" / program).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (tmp_path / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DGLBACKEND", "pytorch")  # else it says so
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "activate").touch()
    (tmp_path / "site").mkdir()
    return tmp_path


def prepare(page: str, directory: Path) -> None:
    """Make what the page takes for granted: tables that README's readers have, and a bucket; else nothing."""
    rng = np.random.default_rng(0)
    if page == "README":
        for day in ("monday", "tuesday"):
            sales = {
                "user": [f"u{i}" for i in rng.integers(0, 50, 250)],
                "item": [f"i{i}" for i in rng.integers(0, 20, 250)],
            }
            pd.DataFrame(sales).to_csv(f"sales-{day}.csv", index=False)
        (directory / "writes").mkdir()
        writes = pd.DataFrame({"src": rng.integers(0, 50, 300), "dst": rng.permutation(np.arange(300) % 80)})
        for i in range(3):  # with more columns, which dask reads in other partitions than the ends
            writes[i::3].assign(year=2024 + i, weight=0.5).to_parquet(directory / "writes" / f"{i}.parquet")
        np.save("feat.npy", rng.random((80, 4), np.float32))
    elif page.endswith("stores"):  # in a bucket
        assert call("generate", "graph", "--nodes", "1e3", "--edges", "1e4", "--quiet") == 0
    (directory / "ip_config.txt").write_text("10.0.0.1\n10.0.0.2\n")


def run_bash(block: str) -> None:
    """Run commands: those of the package in this process, all else by bash, which may leave servers behind."""
    known: dict[str, Callable[..., object]] = {"pip": install, "make": make, "export": export, "head": head}
    if not any(Path("site").iterdir()):  # else a new process finds what was installed
        known["daskgraphpart"] = call
    lines = [line for line in block.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    for is_known, group in groupby(lines, lambda line: line.split()[0] in known and not re.search(r" [|&>]+ ", line)):
        if not is_known:
            run_script("\n".join(group))
        for line in group if is_known else ():
            words = shlex.split(line, comments=True)
            assert not known[words[0]](*words[1:]), line


def run_script(script: str) -> None:
    """Run lines by bash, and print what they print."""
    with open("shown", "w") as shown:
        command = ["bash", "-c", f"set -e\n{script}"]
        done = subprocess.run(command, stdout=shown, stderr=shown, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, Path("shown").read_text()
    print(Path("shown").read_text(), end="")


def head(*words: str) -> None:
    """Print the first lines of files."""
    print(subprocess.run(["head", *words], capture_output=True, text=True, check=True).stdout, end="")


def install(verb: str, *what: str) -> None:
    """Install an example; see that else it is a clone, with extras that there are; tests/install installs it."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in what:
        if (example := ROOT / "tests" / "third_party" / name).is_dir() and name != ".":
            project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
            for module in example.glob("*.py"):
                shutil.copy(module, "site")
            write_metadata(Path("site"), project["name"], project["version"], project["entry-points"])
            os.environ["PYTHONPATH"] = f"{Path('site').absolute()}{os.pathsep}{ROOT}"
            continue
        found = re.fullmatch(r"\.(?:\[([a-z0-9]+)\])?", name)
        assert verb == "install" and found and (found[1] is None or found[1] in extras), name


def make(target: str) -> None:
    """See that there is such a target; it makes environments and runs these tests."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def export(setting: str) -> None:
    """Set a variable of the environment."""
    name, _, value = setting.partition("=")
    os.environ[name] = value


def run_python(block: str, names: dict[str, Any]) -> None:
    """Run statements, with the names of the blocks before; those that import DGL where it is installed."""
    if "import dgl" not in block:
        run_like_a_notebook(block, names)
        return
    Path("block.py").write_text(block)
    exit_code, out, err = run_script_in_dgl("2.1.0", Path("block.py"), cwd=Path.cwd())
    assert exit_code == 0, err
    print(out, end="")


@pytest.mark.filterwarnings("ignore")  # of clusters that are left open
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.endswith(LONG_PAGES) else ()) for page in PAGES],
)
def test_the_blocks_of_a_page_run(
    page: str, directory: Path, s3: S3, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    prepare(page, directory)
    for name, value in (("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("AWS_ENDPOINT_URL", s3.address)):
        monkeypatch.setenv(name, value)
    if page.endswith("stores"):
        s3.files.put(str(directory / "graph"), "bucket/graph", recursive=True)
    text = (ROOT / f"{page}.md").read_text()
    printed: dict[tuple[int, int], str] = {}
    names: dict[str, Any] = {"__name__": "page"}
    with ExitStack() as left:
        left.callback(os.environ.update, dict(os.environ))  # `export` lasts for a page
        left.callback(os.environ.clear)
        left.callback(end_servers, directory, names)
        for block in read_blocks(text):
            of_python = directory if block.language == "python" else None
            output = captured(lambda block=block: run_block(block, names), of_python)  # type: ignore[misc]
            if block.shown is not None:
                printed[block.shown] = indent(output, block.indent)
    wrong = {place: output for place, output in printed.items() if not is_same(output, text[slice(*place)])}
    if request.config.getoption("write_outputs"):
        (ROOT / f"{page}.md").write_text(replaced(text, wrong))
    else:
        assert {text[slice(*place)]: output for place, output in wrong.items()} == {}, "`make outputs` writes them anew"


def run_block(block: Block, names: dict[str, Any]) -> None:
    """Run a block by the interpreter of its language."""
    if block.language == "bash":
        run_bash(block.code)
    elif block.file:
        Path(block.file).write_text(block.code)
    else:
        run_python(block.code, names)


def end_servers(directory: Path, names: dict[str, Any]) -> None:
    """End what a page has started and leaves running."""
    for client in [value for value in names.values() if isinstance(value, Client)]:
        client.close()
        if client.cluster is not None:
            client.cluster.close()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd") == str(directory) and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGTERM)
        except OSError:
            continue


def test_messages_on_the_page_of_troubleshooting_are_those_of_the_package() -> None:
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "daskgraphpart").rglob("*.py")))
    said = re.sub(r'"\s*\n\s*f?"', "", sources) + os.strerror(errno.ENOSPC)
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    messages = re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)
    assert len(messages) > 10
    assert [piece for text in messages for piece in text.split("...") if piece.strip() not in said] == []


def test_each_kind_of_error_is_explained() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    rows = re.findall(r"^\| `(\w+)`\{#(\w+)\} \| (\d) \|", page, re.MULTILINE)
    assert sorted(rows) == sorted((name, name, str(getattr(errors, name).exit_code)) for name in errors.__all__)


def test_each_command_has_a_page_with_all_that_its_help_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import reference_pages  # type: ignore[import-not-found]

    pages = {of.command_path: reference_pages.command_page(of) for of in reference_pages.commands()}
    for path in every_command():
        name = " ".join(("daskgraphpart", *path))
        page = pages[name]
        assert f"\n# {name}\n\n```text\nUsage: {name} " in page
        assert "Sentinel" not in page and "\b" not in page
    assert "\ndaskgraphpart partition graph parts --num-parts 4\n" in pages["daskgraphpart partition"]
    assert "`--num-parts N`{#num-parts}" in pages["daskgraphpart partition"]
