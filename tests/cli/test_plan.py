"""The command `plan`, and the line of it that `partition` and `dispatch` begin with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from commands import call

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = ("--num-parts", "3", "--method", "random")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plan") / "graph"
    assert call("generate", directory, "--nodes", "2e3", "--edges", "1e4", "--features", "4", "--quiet") == 0
    return directory


def test_plan_shows_sizes_memory_and_method(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("plan", graph, tmp_path / "out", *RANDOM, "--memory", "1GB", "--workers", "2") == 0
    shown = capsys.readouterr().out
    for word in ("plan of 'graph' in 3 parts", "random", "at its peak", "budget 1.0 GB"):
        assert word in shown
    assert not any(tmp_path.iterdir())
    assert call("plan", graph, "--num-parts", "2", "--num-hops", "2", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["num_parts"] == 2


def test_plan_takes_the_command_line_of_partition(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    line = (graph, tmp_path / "out", *RANDOM, "--overwrite", "--restart", "--keep-workspace", "--staging", "zarr")
    assert call("plan", *line) == 0
    assert capsys.readouterr().out.startswith("plan of")
    assert call("partition", *line) == 0
    assert caplog.messages[0].startswith("plan: 3 parts; random; ")
    capsys.readouterr()
    assert call("partition", *line, "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_what_is_wrong_is_said_once(graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("partition", graph, tmp_path / "out", "--num-parts", "3", "--method", "nonsense") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("no such method") == 1
    assert call("plan", graph, "--num-parts", "5000", "--method", "fennel") == 2
    assert "more parts than nodes" in capsys.readouterr().err
