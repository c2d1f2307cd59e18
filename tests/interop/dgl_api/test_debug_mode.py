"""`DGL_DIST_DEBUG` in the environment stores what marks nodes and edges in GraphBolt's graphs, as in DGL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from inside import AssignOptions, Resources
from judges import run_in_dgl

import daskgraphpart as dgp
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.jobs.estimate_job import estimate
from daskgraphpart.jobs.job_spec import JobSpec

if TYPE_CHECKING:
    from pathlib import Path

EDGES = (np.arange(30), (np.arange(30) + 1) % 30)


SEVERAL = {"a:r:b": (np.arange(60), np.arange(60) % 20), "b:s:a": (np.arange(60) % 20, np.arange(60))}
ALL = {"nodes": ["_ID", "inner_node", "part_id"], "edges": ["_ID", "inner_edge"]}
COO = ["_dgl2gb_eid", "_gb_dst_id"]


@pytest.mark.parametrize("graph", [EDGES, SEVERAL], ids=["homogeneous", "heterogeneous"])
def test_debug_mode_stores_what_dgl_stores(graph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All arrays of DGL's part, and owners: as DGL 2.1 and the source of 2.5 do (`_create_attributes_gb`)."""

    def stored(name: str, **options: Any) -> dict[str, list[str]]:
        dgp.partition_graph(graph, "g", 2, tmp_path / name, part_method="random", use_graphbolt=True, **options)
        config = str(tmp_path / name / "g.json")
        return run_in_dgl("2.1.0", "graphbolt_arrays.py", config, cwd=tmp_path)

    typed = ["_TYPE"] if graph is SEVERAL else []
    assert stored("default") == {"nodes": ["_ID"], "edges": sorted(["_ID", *COO])}
    assert stored("csc", graph_formats="csc", store_eids=False) == {"nodes": ["_ID"], "edges": []}
    every = stored("every", store_inner_node=True, store_inner_edge=True)
    assert every == {"nodes": ["_ID", "inner_node"], "edges": sorted(["_ID", "inner_edge", *COO])}
    monkeypatch.setenv("DGL_DIST_DEBUG", "1")
    debugged = stored("debug", store_eids=False)
    assert debugged == {"nodes": sorted(ALL["nodes"] + typed), "edges": sorted(ALL["edges"] + typed + COO)}
    assert dgp.verify(dgp.from_edges(graph), tmp_path / "debug").ok


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
        spec = JobSpec(GraphScan(graph), options, 2)
        plan = estimate(spec, (), graph, 2, Resources(memory=1 << 30, workers=1), tmp_path)
        assert any("--objtype vol has no effect" in line for line in plan.warnings) is is_told, method
