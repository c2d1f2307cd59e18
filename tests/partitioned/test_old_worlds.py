"""Partitions of older DGLs open as they are; what is broken is one clear error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import call
from corruptions import Damaged
from graphs import Graph

from daskgraphpart import EdgeType, GraphSchema, NodeType, load_partition_feats, open_partitions, partition

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def canonical(tmp_path: Path) -> Path:
    """Partitions as we write them."""
    rng = np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("u", 30), NodeType("v", 20)), (EdgeType("u", "likes", "v", 90),
                         EdgeType("v", "liked-by", "u", 70)))  # fmt: skip
    edges = {
        "u:likes:v": (rng.integers(0, 30, 90), rng.integers(0, 20, 90)),
        "v:liked-by:u": (rng.integers(0, 20, 70), rng.integers(0, 30, 70)),
    }
    graph = Graph(schema, edges, {"u": {"x": rng.random(30)}}, {"u:likes:v": {"w": rng.random((90, 2))}})
    graph.write(tmp_path / "in")
    partition(tmp_path / "in", tmp_path / "out", 2, method="random", memory=1 << 30, cluster="sync", workers=1)
    return tmp_path / "out"


@pytest.fixture
def old(canonical: Path) -> Path:
    """The same as DGL 0.9 writes them, with the names of files of its documentation."""
    Damaged(canonical).as_dgl_0_9_wrote_it()
    for part in range(2):
        (canonical / f"part{part}" / "node_feat.dgl").rename(canonical / f"part{part}" / "node_feats.dgl")
    return canonical


def contents(path: Path) -> dict[str, Any]:
    graph = open_partitions(path)
    return {
        "etypes": graph.etypes,
        "edges": {
            etype: view.frame(original=True).compute().to_numpy().tolist() for etype, view in graph.edges.items()
        },
        "x": graph.nodes["u"].data["x"][:].tolist(),
        "w": graph.edges["likes"].data["w"][:].tolist(),
        "nids": {ntype: ids.compute().tolist() for ntype, ids in graph.original_ids.items()},
        "feats": [sorted(load_partition_feats(path, p)[1] or ()) for p in range(2)],
    }


def test_partitions_of_dgl_0_9_open(canonical: Path, request: pytest.FixtureRequest) -> None:
    expected = contents(canonical)
    assert contents(request.getfixturevalue("old")) == expected


def test_rows_in_either_order_on_the_command_line(
    canonical: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = open_partitions(canonical)
    np.save(tmp_path / "new.npy", graph.nodes["u"].data["x"][:])
    assert call("to-original", canonical, tmp_path / "new.npy", tmp_path / "old.npy", "--type", "u", "--quiet") == 0
    originals = graph.nodes["u"].original_ids[:]
    assert np.load(tmp_path / "old.npy")[originals].tolist() == graph.nodes["u"].data["x"][:].tolist()
    assert call("from-original", canonical, tmp_path / "old.npy", tmp_path / "again.zarr", "--type", "u") == 0
    assert "by new ID" in capsys.readouterr().out
    for arguments, word in (
        ((tmp_path / "new.npy", tmp_path / "old.npy", "--type", "u"), "--overwrite"),
        ((tmp_path / "new.npy", tmp_path / "x.npy"), "--type"),
        ((tmp_path / "new.npy", tmp_path / "x.npy", "--type", "w"), "There is no edge type 'w'. Choose from "),
        ((tmp_path / "new.npy", tmp_path / "x.npy", "--type", "v"), "the rows do not fit the original IDs of v"),
        ((tmp_path / "no.npy", tmp_path / "x.npy", "--type", "u"), "no such file"),
        ((tmp_path, tmp_path / "x.npy", "--type", "u"), "has no known format"),
    ):
        assert call("to-original", canonical, *arguments, "--quiet") == 2
        assert word in capsys.readouterr().err
