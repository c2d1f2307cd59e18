"""``daskgraphpart build``, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from commands import call
from edge_lists import DEFAULT, edges_of, originals
from graphs import file_hashes
from pyarrow import parquet

from daskgraphpart import read_chunked

if TYPE_CHECKING:
    from pathlib import Path

WRITES, CITES = "author:writes:paper", "paper:cites:paper"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of every test, with some edge lists in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dense.csv").write_text("0,3\n1,0\n")
    (tmp_path / "writes-1.csv").write_text("who,what,year\nzoe,p9,2001\n")
    (tmp_path / "writes-0.csv").write_text("who,what,year\nann,p1,1999\n")
    (tmp_path / "cites.tsv").write_text("# retracted: p5\np1\tp9\np9\tp1\n")
    (tmp_path / "papers.csv").write_text("title,doi\nx,p9\ny,p5\nz,p1\n")
    np.save(tmp_path / "papers.npy", np.array([[9.0], [5.0], [1.0]], np.float32))
    return tmp_path


def test_dense_ids_by_default(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("build", "graph", "--edges", "dense.csv") == 0
    shown = capsys.readouterr().out
    assert "4 nodes, 2 edges" in shown
    assert "IDs       as they were" in shown
    assert not (directory / "graph" / "id_map").exists()
    np.testing.assert_array_equal(edges_of(directory / "graph"), ([0, 1], [3, 0]))


def test_everything_at_once(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "--edges", f"{WRITES}=writes-*.csv:who,what", "--edges", f"{CITES}=cites.tsv", "--map-ids", "--name", "mag",
        "--nodes", "paper=papers.csv:doi", "--node-data", "paper/feat=papers.npy",
        "--edge-data", f"{CITES}/w=w.parquet",
        "--edge-format", "numpy", "--data-format", "parquet", "--num-chunks", "2", "--memory", "64MB", "--workers", "2",
    )  # fmt: skip
    parquet.write_table(pa.table({"w": [7, 8]}), directory / "w.parquet")
    assert call("build", "graph", *arguments) == 0
    shown = capsys.readouterr().out
    assert "Graph 'mag': 5 nodes, 4 edges" in shown
    assert "mapped; the original ones are in" in shown
    graph = read_chunked(directory / "graph")
    assert originals(directory / "graph", "author") == ["ann", "zoe"]
    assert originals(directory / "graph", "paper") == ["p1", "p5", "p9"]
    np.testing.assert_array_equal(edges_of(directory / "graph", WRITES), ([0, 1], [0, 2]))
    np.testing.assert_array_equal(edges_of(directory / "graph", CITES), ([0, 2], [2, 0]))
    assert graph.node_data["paper"]["feat"].compute(scheduler="sync").tolist() == [[1.0], [5.0], [9.0]]
    assert graph.edge_data[CITES]["w"].compute(scheduler="sync").tolist() == [7, 8]
    assert call("build", "again", *arguments, "--cluster", "processes", "--quiet") == 0
    assert file_hashes(directory / "graph") == file_hashes(directory / "again")


def test_columns_become_features(directory: Path) -> None:
    how = ("--endpoints", "what,who", "--edge-features", "year", "--map-ids", "--quiet")
    assert call("build", "graph", "--edges", "paper:by:author=writes-*.csv", *how) == 0
    graph = read_chunked(directory / "graph")
    assert graph.edge_data["paper:by:author"]["year"].compute(scheduler="sync").tolist() == [1999, 2001]
    assert originals(directory / "graph", "paper") == ["p1", "p9"]


def test_types_are_default_ones_unless_given(directory: Path) -> None:
    np.save(directory / "n=1.npy", np.arange(9))
    np.save(directory / "e.npy", np.arange(2))
    (directory / "run=5.csv").write_text("0;1\n1;2\n")
    how = ("--num-nodes", "9", "--node-data", "f=n=1.npy", "--edge-data", "w=e.npy", "--delimiter", "semicolon")
    assert call("build", "graph", "--edges", "run=5.csv", *how, "--no-header", "--quiet") == 0
    graph = read_chunked(directory / "graph")
    assert graph.node_data["_N"]["f"].shape == (9,)
    assert graph.edge_data[DEFAULT]["w"].shape == (2,)


def test_nodes_may_be_listed_without_type_and_column(directory: Path) -> None:
    (directory / "odd:name.csv").write_text("p7\np1\n")
    assert call("build", "graph", "--edges", "cites.tsv", "--map-ids", "--nodes", "odd:name.csv", "--quiet") == 0
    assert originals(directory / "graph") == ["p1", "p7", "p9"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--edges", "gone.csv"), "gone.csv: no such file"),
        (("--edges", "cites.tsv", "--no-map-ids"), "Add --map-ids"),
        (("--edges", "paper:paper=cites.tsv"), "--edges: not an edge type: expected SRC:REL:DST, found paper:paper"),
        (
            ("--edges", "dense.csv", "--node-data", "feat"),
            "--node-data: no file: expected [TYPE/]NAME=FILE, found feat",
        ),
        (("--edges", "dense.csv", "--node-data", "user/feat=papers.npy"), "--node-data: unknown type"),
        (("--edges", "dense.csv", "--num-nodes", "many"), "not a whole number"),
        (("--edges", "dense.csv", "--num-nodes", "9", "--num-nodes", "_N=8"), "--num-nodes: two numbers of '_N' nodes"),
        (
            ("--edges", "cites.tsv", "--map-ids", "--nodes", "papers.csv:doi", "--nodes", "papers.csv:title"),
            "papers.csv: two columns of '_N' nodes: expected doi, found title",
        ),
        (("--edges", "dense.csv", "--memory", "1MB"), "--memory 1MB is too small"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("build", "graph", *arguments) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told
    assert not (directory / "graph").exists()


def test_what_is_guessed_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="daskgraphpart"):
        assert call("build", "graph", "--edges", "writes-0.csv:who,what", "--map-ids") == 0
    assert "writes-0.csv: comma between fields, a header" in caplog.text


def test_a_table_of_nodes_a_mask_and_a_file_of_their_number(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    (directory / "rest.csv").write_text("doi\np9\np5\n")
    (directory / "count.csv").write_text("4\n")
    how = ("--nodes", "papers.csv:doi", "--node-data", "title=papers.csv:title", "--mask", "test_mask=rest.csv:header")
    with caplog.at_level("INFO", logger="daskgraphpart"):
        assert call("build", "graph", "--edges", "cites.tsv", "--map-ids", "--unknown-nodes", "error", *how) == 0
    assert "'_N' nodes: IDs that are not in the list: 0; listed nodes without an edge: 1 of 3" in caplog.text
    data = read_chunked(directory / "graph").node_data["_N"]
    assert data["title"].compute(scheduler="sync").tolist() == [2, 1, 0]
    assert data["test_mask"].compute(scheduler="sync").tolist() == [False, True, True]
    how = ("--num-nodes", "count.csv", "--mask", "m=count.csv", "--fill", "0", "--quiet")
    assert call("build", "dense", "--edges", "dense.csv", *how) == 2
    assert call("build", "dense", "--edges", "dense.csv", *how[:2], "--quiet") == 0
    assert read_chunked(directory / "dense").schema.num_nodes == 4


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("build", "--help") == 0
    assert "daskgraphpart build graph --edges edges.csv" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["10", "5e1", "0.01k", "1_0"])
def test_a_number_of_nodes_is_no_file_of_that_name(
    number: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.csv").write_text("0,1\n")
    for name in (number, f"_N={number}"):
        (tmp_path / name).write_text("77\n")
    for i, (given, count) in enumerate(((number, None), (f"_N={number}", None), (f"./{number}", 77))):
        assert call("build", f"out{i}", "--edges", "e.csv", "--num-nodes", given, "--quiet") == 0
        assert read_chunked(f"out{i}").schema.num_nodes == (count or {"5e1": 50}.get(number, 10))
