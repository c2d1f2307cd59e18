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
    assert shown.err.count("Unknown method 'nonsense'") == 1
    assert call("plan", graph, "--num-parts", "5000", "--method", "fennel") == 2
    assert "more than the graph's" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--layout", "ondisk", "--num-parts", "4"), "this layout has only one part"),
        (("--layout", "graphstorm", "--name", "part1", "--num-parts", "4"), "GraphStorm cannot train on a graph of"),
        (("--balance", "nodez", "--num-parts", "4"), "Unknown item 'nodez' in --balance. Did you mean nodes?"),
        (("--balance", "file:gone.npy", "--num-parts", "4"), "gone.npy: no such file"),
        (("--extend", "gone", "--num-parts", "4"), "gone: no such directory of owners"),
        (("--method", "gone", "--num-parts", "4"), "Unknown method 'gone'"),
        (("--num-parts", "0"), "--num-parts 0 is not a number of parts"),
        (
            ("--id-type", "string", "--no-map-ids", "--num-parts", "4"),
            "only mapped IDs can continue others, or be strings",
        ),
        (("--split-seed", "4", "--num-parts", "4"), "--split-seed"),
    ],
)
def test_what_tables_cannot_become_is_said_before_they_are_read(
    options: tuple[str, ...], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,no number\n")  # what reading would find
    tables = ("--edges", tmp_path / "e.csv", *options)
    assert call("plan", *tables) == 2
    assert what in capsys.readouterr().err
    assert call("partition", tmp_path / "out", *tables) == 2
    assert what in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    if not {"--layout", "--name"} & {*options}:
        assert call("assign", tmp_path / "owners", *tables) == 2
        assert what in capsys.readouterr().err


def test_owners_that_are_not_there_are_missed_before_tables_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,no number\n")
    assert call("dispatch", tmp_path / "gone", tmp_path / "out", "--edges", tmp_path / "e.csv") == 2
    assert "gone: no such directory of owners" in capsys.readouterr().err
