"""Every option of `partition` is part of what a job is, or changes no byte."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import daskgraphpart as dgp
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import Resources
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.partitioner.assign_options import AssignOptions

if TYPE_CHECKING:
    from pathlib import Path

PLACES = {"graph", "out", "storage_options"}
"""Where the job reads and writes: its files are in the fingerprint, and the journal lies in the output."""
NO_BYTE = {*stated_options(JobOptions), *stated_options(Resources)}
OTHERS: dict[str, Any] = {
    "num_parts": 3, "method": "fennel", "balance": "nodes", "seed": 1, "refine": True, "threads": 2,
    "passes": 2, "objtype": "vol", "fanouts": "5", "batch_size": 10, "seeds": "all", "recursive": True,
    "fill_parts": True, "num_trainers_per_machine": 2, "effort": "low", "edge_weight": "_N:_E:_N/w", "extend": "OLD",
    "old_id_map": "OLD", "may_move": "1%", "num_hops": 2, "graph_formats": "csc", "out_edges": True,
    "config_name": "x.json", "reshuffle": False, "layout": "ranks", "store_eids": False, "store_inner_node": True,
    "store_inner_edge": True, "map_feature": "_N/x=_N", "layout_options": {"x": 1},
    "method_options": {"threads": 2}, "dispatch_to": "MACHINES",
    "hot_rows": "5%",
}  # fmt: skip
"""A value of each option that is not its default."""
GROUPS = {
    member: name
    for kind in (AssignOptions, DispatchOptions)
    for name, field in stated_options(kind).items()
    for member in field.metadata["members"]
}
"""Which option of functions holds an option."""
OPTIONS = sorted(
    {*inspect.signature(dgp.partition).parameters, *GROUPS} - PLACES - NO_BYTE - {"extend_options", "training_options"}
)


def fingerprint(out: Path, graph: dgp.Graph, **keywords: Any) -> dict[str, Any]:
    """What a job is, with these options and defaults."""
    owners, options = chosen(AssignOptions, keywords), chosen(DispatchOptions, keywords)
    parts, machines = keywords.get("num_parts", 2), keywords.get("dispatch_to")
    return JobSpec.of(graph, owners, parts, out, options, Resources(1 << 30), dispatch_to=machines).fingerprint()


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_is_in_the_fingerprint_or_changes_no_byte(name: str, tmp_path: Path) -> None:
    (tmp_path / "OLD").mkdir()
    (tmp_path / "MACHINES").write_text("127.0.0.1\n127.0.0.2\n", encoding="ascii")
    graph = dgp.from_edges((np.array([0, 1, 2]), np.array([1, 2, 0])))
    value = str(tmp_path / OTHERS[name]) if OTHERS[name] in ("OLD", "MACHINES") else OTHERS[name]
    needed = {"extend": str(tmp_path / "OLD")} if name in ("old_id_map", "may_move") else {}
    before = fingerprint(tmp_path / "out", graph, **needed)
    assert before != fingerprint(tmp_path / "out", graph, **needed, **{name: value})
    assert before == fingerprint(tmp_path / "other", graph, **needed)
    if name in GROUPS:
        given = {GROUPS[name]: {name: value}}
        assert fingerprint(tmp_path / "out", graph, **needed, **given) == fingerprint(
            tmp_path / "out", graph, **needed, **{name: value}
        )
