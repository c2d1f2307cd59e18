"""DGL convolves on parts of a graph with self-loops added, and reads a feature that was added to finished parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from judges import DGL_VERSIONS, run_in_dgl

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

NUM_NODES = 300


@pytest.mark.dgl
@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_dgl_convolves_with_self_loops_and_reads_what_was_added(version: str, tmp_path: Path) -> None:
    ends = np.random.default_rng(0).integers(0, NUM_NODES, (200, 2))  # many nodes have no in-edge
    graph = dgp.from_edges(ends, num_nodes=NUM_NODES).without_self_loops().with_self_loops()
    parts = dgp.partition(graph, tmp_path / "parts", 2)
    parts.add_node_data({"_N": {"added": np.arange(NUM_NODES, dtype=np.float32) / 2}})
    found = run_in_dgl(version, "convolve.py", tmp_path / "parts" / parts.config.name, cwd=tmp_path)["parts"]
    degrees = 1 + np.bincount(ends[ends[:, 0] != ends[:, 1], 1], minlength=NUM_NODES)
    ids = np.asarray(parts.own_ids("_N", np.concatenate([part["ids"] for part in found])))
    assert sorted(ids) == [*range(NUM_NODES)]
    assert np.concatenate([part["degrees"] for part in found]).tolist() == degrees[ids].tolist()
    assert np.concatenate([part["added"] for part in found]).tolist() == (ids / 2).tolist()
