"""What each method needs, and what `auto` picks: closed formulas in nodes and arcs.

Constants are measured peaks of whole processes; METIS' are for R-MAT of 50 million edges, which it hardly coarsens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from daskgraphpart.partitioner.adjacency.build_adjacency import adjacency_nbytes, max_arcs_of_block
from daskgraphpart.partitioner.adjacency.build_adjacency import workspace_nbytes as building_nbytes
from daskgraphpart.partitioner.libraries.call import Call, has_library, need_library
from daskgraphpart.storage.region import id_dtype
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.schema import GraphSchema

LIBRARY_NAMES = {"metis": "METIS", "kaminpar": "KaMinPar"}
HIGH_SEEDS = 4
MULTILEVEL_ARCS, LARGE_ARCS = 1 << 21, 1 << 25  # edges have two arcs: the first is a million edges
"""Beyond the first, unless effort is high, `auto` is `multilevel`; beyond the second there is no V-cycle."""
COARSE_ARCS, COARSE_BYTES_PER_ARC = 1 << 20, 100
"""Most arcs of the graph to which `multilevel` coarsens, and the bytes that METIS usually needs for each."""
METIS_PER_ARC, METIS_PER_NODE = 135, 200
KAMINPAR_PER_ARC, COMPRESSED_PER_ARC, KAMINPAR_PER_NODE = 18, 11, 80
GRAPH_PER_ARC, CYCLE_PER_ARC, GRAPH_PER_NODE = 8, 36, 60  # in memory; during contraction; per node
MULTILEVEL_PER_NODE, STREAMING_PER_NODE = 24, 12
TYPICAL_COARSE = 0.77  # share of arcs between clusters: 0.67 with communities, 0.94 for R-MAT
TYPICAL_MERGED = 0.33  # size of the next level: 0.28 to 0.45 of this one with communities
SOLVING_PER_NODE = 20  # temporary files: parts, proposals, scores
BLOCK_NBYTES = 64 << 20  # a decoded block of two million arcs with weights
TASK_NBYTES = 4 << 20  # of a task, besides its block
BYTES_PER_BLOCK_ARC = 40  # arcs before and after merging, weights, row starts


def smallest_task_memory(schema: GraphSchema) -> int:
    """Bytes that a task needs to build and use the adjacency."""
    num_arcs = 2 * schema.num_edges
    return TASK_NBYTES + BYTES_PER_BLOCK_ARC * min(max_arcs_of_block(num_arcs), num_arcs)


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, its library calls, its memory, and what `auto` does and why, in words."""

    method: str
    calls: tuple[Call, ...]
    need: int
    why: str


def needs(num_nodes: int, num_arcs: int, num_constraints: int, options: AssignOptions) -> dict[str, int]:
    """Memory of each method in bytes; ``"graph"`` is the graph in memory, with V-cycles if any."""
    cycles = options.runs_cycles or num_arcs <= LARGE_ARCS
    weights, wide = 8 * num_constraints * num_nodes, 8 * bool(options.edge_weight)  # sums of weights have 64 bits
    held = num_arcs * GRAPH_PER_ARC + num_nodes * GRAPH_PER_NODE + 2 * weights
    return {
        "graph": held + num_arcs * (CYCLE_PER_ARC + 4 * wide) * cycles,
        "metis": held + num_arcs * METIS_PER_ARC + num_nodes * METIS_PER_NODE + weights,
        "kaminpar": held + num_arcs * (KAMINPAR_PER_ARC + wide) + num_nodes * KAMINPAR_PER_NODE,
        "kaminpar, compressed": held + num_arcs * (COMPRESSED_PER_ARC + wide) + num_nodes * KAMINPAR_PER_NODE,
        "multilevel": num_nodes * MULTILEVEL_PER_NODE + weights + BLOCK_NBYTES,
        "fennel": num_nodes * STREAMING_PER_NODE + BLOCK_NBYTES,
    }


def coarse_arcs(memory: int) -> int:
    """Most arcs of a graph that needs no further coarsening."""
    return min(COARSE_ARCS, memory // COARSE_BYTES_PER_ARC)


def choose(num_nodes: int, num_arcs: int, num_constraints: int, options: AssignOptions, resources: Resources) -> Choice:
    """Choose how to partition a graph.

    Raises an `OptionError` if the method's library is not installed.
    """
    need = needs(num_nodes, num_arcs, num_constraints, options)
    method, why = options.method, ""
    threads = options.threads or (1 if num_arcs <= LARGE_ARCS else resources.workers)
    compress = need["kaminpar"] > resources.memory
    kaminpar = Call("kaminpar", options.seed, threads=threads, compress=compress)
    metis = Call("metis", options.seed, recursive=options.recursive, objtype=options.objtype)
    needed = {kaminpar: need["kaminpar, compressed" if compress else "kaminpar"], metis: need["metis"]}
    if method in ("metis", "kaminpar"):
        need_library(method)
        call = metis if method == "metis" else kaminpar
        return Choice(method, (call,), max(needed[call], need["graph"]), why)
    if method == "auto":
        calls = tuple(
            call
            for call in (metis, kaminpar)
            if (num_arcs <= MULTILEVEL_ARCS or options.effort == "high")
            and has_library(call.library)
            and max(needed[call], need["graph"]) <= resources.memory
        )
        if calls:
            most = max(need["graph"], *(needed[call] for call in calls))
            calls = _by_effort(calls, num_constraints, options.effort)
            names = " and ".join(dict.fromkeys(LIBRARY_NAMES[call.library] for call in calls))
            several = "several seeds of " * (options.effort == "high")
            together = " combined" if len(calls) > 1 else ""
            return Choice("auto", calls, most, f"auto picked {several}{names}{together}{_varies(calls[-1])}")
        lacking = f"{format_size(need['kaminpar, compressed'])} of memory, over {format_size(resources.memory)}"
        why = f"auto picked multilevel: KaMinPar needs {lacking}"
        if num_arcs > MULTILEVEL_ARCS and options.effort != "high":
            why = "auto picked multilevel: the graph has over 1 M edges"
    elif method == "fennel":
        return Choice(method, (), need["fennel"], why)
    calls = tuple(call for call in (metis, Call("kaminpar", options.seed)) if has_library(call.library))
    if not calls:
        need_library("kaminpar")
    return Choice("multilevel", _by_effort(calls, num_constraints, options.effort), need["multilevel"], why)


def _by_effort(calls: tuple[Call, ...], num_constraints: int, effort: str) -> tuple[Call, ...]:
    """Keep one call for little effort (METIS' with several constraints); repeat calls for much."""
    if effort == "fast":
        return calls[:1] if num_constraints > 1 else calls[-1:]
    seeds = HIGH_SEEDS if effort == "high" else 1
    return tuple(replace(call, seed=(call.seed + i) % 2**31) for i in range(seeds) for call in calls)


def _varies(call: Call) -> str:
    if call.threads == 1:
        return ""
    return f"; {call.threads} threads, so the result varies from run to run"


def expected_choice(schema: GraphSchema, options: AssignOptions, resources: Resources) -> Choice:
    """Choose as a run would, for a graph without parallel edges, self-loops or isolated nodes."""
    num_constraints = len(options.constraints)
    return choose(schema.num_nodes, 2 * schema.num_edges, num_constraints, options, resources)


def workspace_nbytes(schema: GraphSchema, options: AssignOptions, choice: Choice | None) -> int:
    """Estimate the peak size of temporary files."""
    return max(building_nbytes(schema, options.edge_weight), solving_nbytes(schema, options, choice))


def solving_nbytes(schema: GraphSchema, options: AssignOptions, choice: Choice | None) -> int:
    """Estimate the temporary files of a method: the adjacency, and its own graph."""
    nodes, arcs, item = schema.num_nodes, 2 * schema.num_edges, id_dtype(schema.num_nodes).itemsize
    weights = 8 * len(options.constraints)
    adjacency, made = adjacency_nbytes(schema, options.edge_weight), 0
    if choice is not None and choice.method == "multilevel":
        # arcs between clusters, and the next level, which is merged from them
        made = round(TYPICAL_COARSE * (24 if options.edge_weight else 2 * item + 4) * arcs + TYPICAL_MERGED * adjacency)
    elif choice is not None and choice.calls:
        nbytes = 16 if any(call.library == "metis" for call in choice.calls) else item + 8  # per exported arc
        made = 8 * nodes + nbytes * arcs
    return adjacency + made + (weights + SOLVING_PER_NODE) * nodes
