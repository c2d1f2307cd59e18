"""Loaders sample partitions that DGL wrote: batches have the edges of the graph, and rows follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from judges import DGL_VERSIONS, run_in_dgl

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.dgl, pytest.mark.filterwarnings("ignore")]  # torch's, of what PyG imports


@pytest.mark.parametrize("version", DGL_VERSIONS)
def test_partitions_of_dgl_are_sampled(version: str, tmp_path: Path) -> None:
    run_in_dgl(version, "partition_typed.py", tmp_path, cwd=tmp_path)
    ends, shares = np.load(tmp_path / "edges.npz"), []
    for form in ("coo", "csc"):
        parts = dgp.open_partitions(tmp_path / form)
        for sampled in (parts, parts.part(1)):
            seen = 0
            for batch in sampled.neighbor_loader([3, -1, 2], "u", batch_size=16, shuffle=True):
                for etype in parts.etypes:
                    src, relation, dst = etype.split(":")
                    edges = batch[src, relation, dst]
                    for end, ntype, row in zip(("src", "dst"), (src, dst), edges.edge_index.numpy(), strict=True):
                        assert np.array_equal(batch[ntype].x.numpy()[row], ends[f"{relation}_{end}"][edges.k.numpy()])
                    seen += len(edges.k)
            assert seen > 1000
        fetching = parts.report(fanouts=[-1]).sampling
        assert fetching is not None
        shares.append(fetching.share)
        assert fetching.seeds.sum() == 350
    assert all(0.3 < share < 0.9 for share in shares)
