"""Memory, workers, scheduler and staging change no owner, with every method, on both sides of every threshold."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from graphs import file_hashes
from inside import METHODS, Resources, generate, open_runner

import daskgraphpart as dgp
from daskgraphpart import partitioner

if TYPE_CHECKING:
    from collections.abc import Iterator

THRESHOLDS = {
    "COARSE_ARCS": "arcs of a graph that METIS is given",
    "WHOLE_ARCS": "arcs of a graph that KaMinPar is given",
    "UNCLUSTERED_ARCS": "arcs of a graph without clusters that KaMinPar is given",
    "LARGE_ARCS": "arcs of a graph with V-cycles",
    "SHARED_ARCS": "arcs of a graph that one worker of several takes",
    "MARKS_AT_ONCE": "bytes of marks that are set at a time",
    "MOST_UNITS": "units that a cluster may weigh",
    "MAX_ARCS_IN_MEMORY": "arcs that are contracted in memory to extend",
    "MOST_ARCS_OF_ONE_BLOCK": "arcs of a graph in memory that is one block",
    "MIN_BLOCK_ARCS": "arcs of the smallest block",
    "MAX_BLOCK_ARCS": "arcs of the largest block",
    "SPAN": "nodes that a thread works on at a time",
    "PIECE_ARCS": "arcs that a thread works on at a time",
    "ARCS_PER_READ": "arcs that are merged at a time",
    "MOST_STREAMED": "parts of a graph that is streamed, too",
    "COARSE_NODES_PER_PART": "nodes of a graph that is coarse enough",
    "LEAST_NODES": "nodes that a V-cycle does not coarsen",
    "HUB": "neighbours of a node that enters the queue once",  # compiled into a kernel
    "MAX_ROWS": "edges of a run",
    "MIN_ROWS": "edges of a run in little memory",
    "SMALL_ROWS": "edges of several blocks that share a run",
    "EDGES_PER_UNIT": "edges whose cut is counted at a time",
    "ROWS_PER_UNIT": "nodes and weights per task",
    "EDGES_PER_BLOCK": "edges whose trainers are found at a time",
    "ROWS_PER_BATCH": "owners written at a time",
    "ROWS_AT_ONCE": "owners and IDs read at a time",
    "ROWS_PER_CHUNK": "owners of a chunk that dask sees",
    "MOST_EDGES_OF_SEVERAL": "edges of a graph that is partitioned in several ways for training",
    "ARCS_PER_UNIT": "samples that are added up at a time",
    "FEWEST_MERGED": "fetches that are counted before they are merged",
    "ALWAYS": "a random number",
    "MAX_PARTS": "parts",
    "MAX_TOTAL": "sum of weights",
    "EXACT": "sum of weights that a float holds",
    "MAX_TOLERANCE": "times a limit",
    "UNLIMITED": "times a limit",
}
"""Every number from which on the partitioner works otherwise."""
KEPT = {
    "HUB",
    "MAX_PARTS",
    "MAX_TOTAL",
    "EXACT",
    "MAX_TOLERANCE",
    "UNLIMITED",
    "ROWS_PER_CHUNK",
    "MAX_ROWS",
    "ALWAYS",
}
"""Those that are compiled, or change nothing in how owners are found; runs become small by the others."""
SIDES = {
    "whole": {},
    "half": {"COARSE_ARCS": 6000, "PIECE_ARCS": 500, "MIN_BLOCK_ARCS": 1000},
    "coarse": {
        **{name: 500 for name in THRESHOLDS if name not in KEPT},
        "COARSE_ARCS": 2000,
        "MAX_BLOCK_ARCS": 2000,
        "MOST_STREAMED": 2,
        "COARSE_NODES_PER_PART": 4,
    },
}
UNCLUSTERED = {"COARSE_ARCS": 2000, "WHOLE_ARCS": 4000, "PIECE_ARCS": 500, "MIN_BLOCK_ARCS": 1000}
"""Values of thresholds that a graph of ten thousand arcs is above, between or below."""
HOWS: dict[str, dict[str, Any]] = {
    **{method: {"method": method} for method in METHODS},
    "low": {"effort": "low"},
    "high": {"effort": "high"},
    "constraints": {"balance": "ntypes=0.2,edges=0.2,types:paper/train_mask=0.2"},
    "weighted": {"edge_weight": "paper:cites:paper/weight"},
    "fetch": {"objtype": "fetch", "fanouts": "3,2,2", "training_options": {"batch_size": 50}},
    "work": {
        "balance": "nodes,work=0.2",
        "fanouts": [3, 2],
        "training_options": {"seeds": "all"},
        "method": "multilevel",
    },
    "refined": {"method": "OLD", "refine": True},
    "balanced": {"method": "OLD", "balance": "nodes"},
    "extended": {"extend": "OLD", "extend_options": {"may_move": "5%"}},
}


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(partitioner.__path__, f"{partitioner.__name__}."):
        if not found.name.endswith("run_library"):
            yield importlib.import_module(found.name)


def test_every_threshold_of_the_partitioner_is_in_the_table() -> None:
    named = re.compile(r"^([A-Z][A-Z0-9_]+(?:(?:, | = )[A-Z][A-Z0-9_]+)*) = ", re.M)
    found = set()
    for module in modules():
        for names in named.findall(Path(module.__file__).read_text()):
            found |= {
                n for n in re.split(", | = ", names) if isinstance(value := getattr(module, n), int) and value >= 128
            }
    sizes = {name for name in found if name.endswith(("_NBYTES", "_PER_ARC", "_PER_NODE", "SCALE"))}  # of memory
    assert found - sizes - THRESHOLDS.keys() == set()
    assert THRESHOLDS.keys() - found <= {"HUB"}


def make(directory: Path, kind: str, num_nodes: int, num_edges: int) -> Path:
    with open_runner(Resources(1 << 28)) as runner:
        return generate(directory, kind=kind, num_nodes=num_nodes, num_edges=num_edges, feature_width=1, runner=runner)


@pytest.fixture(scope="module")
def mag(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A graph, and owners of an earlier one."""
    root = tmp_path_factory.mktemp("mag")
    dgp.assign(make(root / "earlier", "mag", 1800, 5000), 4, method="random", out=root / "owners")
    return make(root / "graph", "mag", 2000, 6000), root / "owners"


def spelled_out(name: str, old: Path) -> dict[str, Any]:
    return {key: str(old) if value == "OLD" else value for key, value in HOWS[name].items()}


@pytest.mark.parametrize(
    ("name", "side"),
    [*itertools.product(HOWS, SIDES), *((name, "unclustered") for name in ("auto", "constraints", "weighted"))],
)
def test_no_budget_and_no_number_of_workers_changes_an_owner(
    name: str, side: str, mag: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules():
        for threshold, value in SIDES.get(side, UNCLUSTERED).items():
            if hasattr(module, threshold):
                monkeypatch.setattr(module, threshold, value)
    graph, old = mag
    how = spelled_out(name, old)
    if how.get("method") == str(old):
        how["method"] = str(tmp_path / "random")
        dgp.assign(graph, 4, method="random", out=how["method"])
    least, found = dgp.plan(graph, 4, **how).smallest_budget, []
    for memory, cluster, workers in ((least, "sync", 1), (8 << 30, "threads", 4)):
        owners = dgp.assign(graph, 4, memory=memory, cluster=cluster, workers=workers, **how).owners
        found.append(np.concatenate([of_type.compute() for of_type in owners.values()]))
    assert np.array_equal(*found)


GRAPHS = {
    "citations": ("mag", 60_000, 200_000),
    "mesh": ("grid", 550 * 550, 604_000),
    "communities": ("communities", 100_000, 1_000_000),
    "power law": ("rmat", 200_000, 2_000_000),
    "more citations": ("mag", 1_500_000, 5_000_000),
    "large": ("communities", 1_200_000, 12_000_000),
}
"""Graphs on both sides of the real thresholds: kind, nodes, edges."""
OF_MAG = ("constraints", "weighted")


@pytest.mark.long
@pytest.mark.parametrize("graph_name", GRAPHS)
def test_partitions_of_real_sizes_are_the_same_bytes(graph_name: str, tmp_path: Path) -> None:
    kind, num_nodes, num_edges = GRAPHS[graph_name]
    graph = tmp_path / "graph"
    if kind == "grid":
        node = np.arange(num_nodes).reshape(550, 550)
        ends = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
        edges = tuple(np.concatenate([pair[end].ravel() for pair in ends]) for end in (0, 1))
        dgp.chunk_graph({("_N", "_E", "_N"): edges}, "grid", num_nodes={"_N": num_nodes}, output_path=graph)
    else:
        make(graph, kind, num_nodes, num_edges)
    old, random = tmp_path / "old", tmp_path / "random"
    earlier = make(tmp_path / "earlier", "communities" if kind == "grid" else kind, num_nodes * 9 // 10, 1000)
    dgp.assign(earlier, 4, method="random", out=old)
    dgp.assign(graph, 4, method="random", out=random)
    differ = []
    for name in HOWS:
        if (name in OF_MAG and kind != "mag") or (name == "high" and num_edges > 1_000_000):
            continue
        how = spelled_out(name, old if name == "extended" else random)
        least, found = dgp.plan(graph, 4, **how).smallest_budget, []
        budgets = (least, "threads", 1, "auto"), (2 * least, "processes", 2, "zarr"), (8 << 30, "threads", 4, "auto")
        for memory, cluster, workers, staging in budgets:
            out = tmp_path / "out"
            resources = {
                "memory": memory,
                "cluster": cluster,
                "workers": workers,
                "workspace_options": {"staging": staging},
            }
            parts = dgp.partition(graph, out, 4, overwrite=True, **resources, **how)
            found.append(file_hashes(out))
        print(f"{graph_name:15} {name:12} least {least / 1e6:7.1f} MB {found[0] == found[1] == found[2]} {parts!r:.60}")
        with pytest.raises(dgp.GraphPartError, match=r"too small for this job\. Use \d+MB or more"):
            dgp.partition(graph, tmp_path / "none", 4, memory=least - 1, **how)
        differ += [name] if any(hashes != found[0] for hashes in found) else []
    assert not differ
