"""`DGL_DIST_DEBUG` in the environment stores what marks nodes and edges in GraphBolt's graphs, as in DGL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from inside import AssignOptions, Resources

import daskgraphpart as dgp
from daskgraphpart.jobs.estimate_job import estimate

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EDGES = (np.arange(30), (np.arange(30) + 1) % 30)


def test_debug_mode_stores_every_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stored(name: str, **options: bool) -> bytes:
        dgp.partition_graph(EDGES, "g", 2, tmp_path / name, part_method="random", use_graphbolt=True, **options)
        return (tmp_path / name / "part0" / "fused_csc_sampling_graph.pt").read_bytes()

    few = stored("few", store_eids=False)
    every = stored("every", store_inner_node=True, store_inner_edge=True)
    monkeypatch.setenv("DGL_DIST_DEBUG", "1")
    assert stored("debug", store_eids=False) == every != few


def test_an_objective_that_has_no_effect_is_told(tmp_path: Path) -> None:
    graph = dgp.from_edges(EDGES)
    for method, is_told in (
        ("metis", False),
        ("auto", False),
        ("multilevel", True),
        ("kaminpar", True),
        ("random", True),
    ):
        options = AssignOptions(method=method, objtype="vol")
        plan = estimate(graph, 2, options, None, Resources(memory=1 << 30, workers=1), tmp_path)
        assert any("--objtype vol has no effect" in line for line in plan.warnings) is is_told, method
