"""Graphs in METIS' and ParHIP's files, and owners in METIS' form, both ways with `gpmetis`."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from inside import Resources
from keywords import spelled

import daskgraphpart as dgp
from daskgraphpart import GraphPartError
from daskgraphpart.readers import metis_files
from daskgraphpart.readers.open_scan import open_scan

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = spelled(Resources(1 << 28, "sync", 1))
ETYPE = "_N:_E:_N"
# the graphs of METIS' manual, 5.1, figure 2
PLAIN = "7 11\n5 3 2\n1 3 4\n5 4 2 1\n2 3 6 7\n1 3 6\n5 4 7\n6 4\n"
EDGE_WEIGHTS = (
    "7 11 001\n5 1 3 2 2 1\n1 1 3 2 4 1\n5 3 4 2 2 2 1 2\n2 1 3 2 6 2 7 5\n1 1 3 3 6 2\n5 2 4 2 7 6\n6 6 4 5\n"
)
BOTH_WEIGHTS = (
    "% c\n7 11 11\n4 5 1 3 2 2 1\n2 1 1 3 2 4 1\n5 5 3 4 2 2 2 1 2\n3 2 1 3 2 6 2 7 5\n1 1 1 3 3 6 2\n% c\n"
    "6 5 2 4 2 7 6\n2 6 6 4 5"
)
THREE_WEIGHTS = (
    "7 11 010 3\n1 2 0 5 3 2\n0 2 2 1 3 4\n4 1 1 5 4 2 1\n2 2 3 2 3 6 7\n1 1 1 1 3 6\n2 2 1 5 4 7\n1 2 1 6 4\n\n"
)


def read(path: Path) -> tuple[list[list[int]], dict[str, Any], dict[str, Any]]:
    """Edges, and weights of nodes and edges."""
    graph = open_scan(path).collect(**HOW)
    data = ({name: rows.compute() for name, rows in of.get(key, {}).items()}
            for of, key in ((graph.node_data, "_N"), (graph.edge_data, ETYPE)))  # fmt: skip
    return graph.edges[ETYPE].compute().to_numpy().tolist(), *data


def by_hand(text: str, num_weights: int, has_edge_weights: bool) -> tuple[list[list[int]], list[list[int]], list[int]]:
    lines = [line for line in text.split("\n") if not line.startswith("%")][1:]
    rows = [list(map(int, line.split())) for line in lines]
    step = 1 + has_edge_weights
    edges = [[i, end - 1] for i, row in enumerate(rows) for end in row[num_weights::step]]
    weights = [value for row in rows for value in row[num_weights + 1 :: 2]] if has_edge_weights else []
    return edges, [row[:num_weights] for row in rows[:7]], weights


@pytest.mark.parametrize("nbytes", [3, 1 << 20])
@pytest.mark.parametrize(
    ("text", "num_weights", "has_edge_weights"),
    [(PLAIN, 0, False), (EDGE_WEIGHTS, 0, True), (BOTH_WEIGHTS, 1, True), (THREE_WEIGHTS, 3, False),
     ("3 1\n2\n1\n\n", 0, False)],
)  # fmt: skip
def test_metis_files_give_each_edge_both_ways_with_weights(
    text: str, num_weights: int, has_edge_weights: bool, nbytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metis_files, "PIECE_NBYTES", nbytes + 40)
    (tmp_path / "g.graph").write_text(text)
    edges, of_nodes, of_edges = read(tmp_path / "g.graph")
    expected, weights, edge_weights = by_hand(text, num_weights, has_edge_weights)
    assert edges == expected
    assert [*of_nodes] == ["weight"] * (num_weights > 0)
    assert not of_nodes or of_nodes["weight"].reshape(7, -1).tolist() == weights
    assert not has_edge_weights or of_edges["weight"].tolist() == edge_weights


@pytest.mark.parametrize("nbytes", [64, 1 << 20])
def test_parhip_files_give_the_same_graph(nbytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metis_files, "PIECE_NBYTES", nbytes)
    edges = np.array(by_hand(PLAIN, 0, False)[0]) + 1  # node 0 and the last have none
    ends = np.searchsorted(edges[:, 0], np.arange(10))
    words = [3, 9, len(edges), *(8 * (4 + 9) + 8 * ends), *edges[:, 1]]
    np.array(words, "<u8").tofile(tmp_path / "g.bgf")
    assert read(tmp_path / "g.bgf")[0] == edges.tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\n", "not a METIS file"),
        ("3 1 2\n", "not a METIS file"),
        ("3 2\n2\n1\n\n", "not what the first line says"),
        ("2 1\n2\n1\n1\n", "not what the first line says"),
        ("2 1\n3\n1\n", "line of node 1: no such node"),
        ("2 1\n0\n1\n", "line of node 1: no such node"),
        ("2 1 1\n2 5\n1\n", "line of node 2: a weight is missing"),
        ("2 1\n2\nx\n", "line of node 2: not a number"),
        ("2 1\n2\n-1\n", "line of node 2: not a number"),
        ("2 1\n99999999999999999999\n1\n", "too large a number"),
    ],
)
def test_a_file_that_is_not_as_it_says_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "g.graph").write_text(text)
    with pytest.raises(GraphPartError, match=message) as caught:
        read(tmp_path / "g.graph")
    assert str(tmp_path / "g.graph") in str(caught.value)


@pytest.mark.skipif(not shutil.which("gpmetis"), reason="no gpmetis here")
def test_gpmetis_and_we_exchange_graphs_and_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.graph").write_text(BOTH_WEIGHTS)
    subprocess.run(["gpmetis", "g.graph", "2"], check=True, capture_output=True)
    assert call("dispatch", "g.graph", "g.graph.part.2", "parts", "--num-parts", "2", "--quiet") == 0
    parts = dgp.open_partitions("parts")
    owners = np.loadtxt("g.graph.part.2", int)
    for part in parts.parts:
        assert part.original_ids["_N"].compute().tolist() == np.flatnonzero(owners == part.part_id).tolist()
    assert parts.verify("g.graph").ok
    assert call("partition", "g.graph", "again", "--num-parts", "2", "--method", "g.graph.part.2", "--quiet") == 0
    assert call("dispatch", "g.graph", "g.graph.part.2", "three", "--num-parts", "3", "--quiet") == 2
    assert call("assign", "g.graph", "owners", "--num-parts", "2", "--method", "metis", "--quiet") == 0
    assert np.loadtxt("owners/_N.txt", int).shape == (7,)
