"""What each method needs, and what `auto` picks: closed formulas in nodes, arcs and options.

Neither depends on the memory or the workers of a job, so that these change no byte. Constants of memory are measured
peaks of whole processes; METIS' are for R-MAT of 50 million edges, which it hardly coarsens.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from daskgraphpart.errors import OptionError
from daskgraphpart.method import find_method
from daskgraphpart.partitioner.adjacency.adjacency_sizes import adjacency_nbytes, max_arcs_of_block
from daskgraphpart.partitioner.assign_options import METHODS, find_weights
from daskgraphpart.partitioner.owner_parts import ROWS_PER_UNIT
from daskgraphpart.partitioner.training.training import read_training
from daskgraphpart.storage.region import id_dtype

if TYPE_CHECKING:
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.training.expect_samples import Weights
    from daskgraphpart.schema import GraphSchema

MOST_EDGES_OF_SEVERAL = 1 << 23  # of a graph that is partitioned in several ways
LIBRARY_NAMES = {"metis": "METIS", "kaminpar": "KaMinPar"}
PACKAGES = {"metis": "pymetis", "kaminpar": "kaminpar"}
HIGH_SEEDS = 4
COARSE_ARCS, WHOLE_ARCS = 1 << 20, 1 << 22  # edges have two arcs: the second is two million edges
"""Most arcs of a graph that `auto` gives METIS, and KaMinPar, whole; larger ones are coarsened to the first.

Between the two, METIS is given the coarse graph, and parts of both are combined: always where starts compete, or else
if KaMinPar's cannot be brought within the limits. They cut 0.99 to 1.02 of what they do with METIS' of the whole, in a
third of its memory.
"""
DENSE = 3  # times as many arcs may a coarse graph have that has few nodes per part; KaMinPar is given it
# most arcs of a graph that KaMinPar is given whole if over half lie between clusters: 0.6 to 0.8 of citations,
# communities, relations; 0.02 to 0.5 of meshes, web pages, histories, whose coarse graphs are partitioned better
UNCLUSTERED_ARCS = 2 * WHOLE_ARCS
LARGE_ARCS = 1 << 25  # beyond, there is no V-cycle
SHARED_ARCS = 1 << 24  # up to so many, one worker of a cluster takes a graph
COARSE_PER_ARC = 100  # METIS, of a graph of at most `COARSE_ARCS`
METIS_PER_ARC, METIS_PER_NODE = 135, 200
KAMINPAR_PER_ARC, KAMINPAR_PER_NODE = 18, 80
GRAPH_PER_ARC, CYCLE_PER_ARC, GRAPH_PER_NODE = 8, 36, 60  # in memory; during contraction; per node
MULTILEVEL_PER_NODE, STREAMING_PER_NODE = 24, 12
SHARED_PER_NODE = 12  # in each process of a cluster
TYPICAL_COARSE = 0.77  # share of arcs between clusters: 0.67 with communities, 0.94 for R-MAT
TYPICAL_MERGED = 0.65  # size of the next level: 0.65 of this one with 2 to 5 M edges in communities, less of more
MOST_TRIES = 4  # to balance work as it is sampled
WEIGHT_NBYTES, PART_NBYTES = 8, 4  # of a weight in a file, at most; and of a part
SOLVING_PER_NODE = 20  # temporary files: parts, proposals, scores
BLOCK_PER_ARC = 32  # a decoded block with weights
TASK_NBYTES = 4 << 20  # of a task, besides its block
BYTES_PER_BLOCK_ARC = 40  # arcs before and after merging, weights, row starts


def smallest_task_memory(schema: GraphSchema, options: AssignOptions) -> int:
    """Bytes that a task needs to build and use the adjacency, and to sample a batch of training, if any."""
    num_arcs = 2 * schema.num_edges
    building = BYTES_PER_BLOCK_ARC * min(max_arcs_of_block(num_arcs), num_arcs)
    sampling = read_training(options, schema).batch_nbytes(schema) if options.fanouts else 0
    return TASK_NBYTES + max(building, sampling)


@dataclass(frozen=True, slots=True)
class Call:
    """One way to call a library.

    KaMinPar takes `threads` (with several, results vary from run to run); METIS takes `recursive` and `objtype`.
    """

    library: str
    seed: int = 0
    threads: int = 1
    recursive: bool = False
    objtype: str = "cut"

    def __str__(self) -> str:
        if self.library == "metis":
            return f"metis ({'recursive' if self.recursive else 'k-way'}, {self.objtype}, seed {self.seed})"
        return f"kaminpar (default, {self.threads} thread{'s' * (self.threads > 1)}, seed {self.seed})"


def has_library(library: str) -> bool:
    """Whether a library is installed."""
    return importlib.util.find_spec(PACKAGES[library]) is not None


def need_library(library: str) -> None:
    """Raise an `OptionError` with the package to install if a library is missing."""
    if not has_library(library):
        raise OptionError(
            f"{PACKAGES[library]} is not installed",
            option="method",
            hint=f"run pip install {PACKAGES[library]}, or use --method multilevel, fennel or random",
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A method, its calls of libraries for the whole graph and a coarse one, its memory, and what `auto` does."""

    method: str
    whole: tuple[Call, ...]
    coarse: tuple[Call, ...]
    need: int
    why: str
    unclustered: Call | None = None  # for the whole graph instead of a coarse one, if most arcs lie between clusters


def needs(num_nodes: int, num_arcs: int, num_constraints: int, options: AssignOptions) -> dict[str, int]:
    """Memory of each method in bytes; ``"graph"`` is the graph in memory, with V-cycles if any.

    ``"shared"`` is that of each process of a cluster which share the work.
    """
    cycles = options.runs_cycles or num_arcs <= LARGE_ARCS
    weights, wide = 8 * num_constraints * num_nodes, 8 * options.has_weights  # sums of weights have 64 bits
    held = num_arcs * GRAPH_PER_ARC + num_nodes * GRAPH_PER_NODE + 2 * weights
    is_small, block = num_arcs <= COARSE_ARCS, block_nbytes(num_arcs)
    metis = held + num_arcs * (COARSE_PER_ARC if is_small else METIS_PER_ARC) + num_nodes * METIS_PER_NODE + weights
    cycle = CYCLE_PER_ARC + 4 * wide
    coarse = max(COARSE_ARCS * (COARSE_PER_ARC + wide), min(num_arcs, DENSE * COARSE_ARCS) * (GRAPH_PER_ARC + cycle))
    return {
        "graph": held + num_arcs * cycle * cycles,
        "metis": metis,
        "kaminpar": held + num_arcs * (KAMINPAR_PER_ARC + wide) + num_nodes * KAMINPAR_PER_NODE,
        "multilevel": num_nodes * MULTILEVEL_PER_NODE + weights + max(block, metis if is_small else coarse),
        "fennel": num_nodes * STREAMING_PER_NODE + block,
        "shared": num_nodes * SHARED_PER_NODE + max(block, coarse),
    }


def block_nbytes(num_arcs: int) -> int:
    """Bytes of a decoded block of a graph."""
    return BLOCK_PER_ARC * min(num_arcs, max_arcs_of_block(num_arcs))


def choose(
    num_nodes: int, num_arcs: int, num_constraints: int, options: AssignOptions, planned_arcs: int | None = None
) -> Choice:
    """Choose how to partition a graph; memory was planned for as many arcs, or more, before parallel edges were merged.

    Raises an `OptionError` if the method's library is not installed.
    """
    need, method = needs(num_nodes, num_arcs, num_constraints, options), str(options.method)
    objtype = "vol" if options.objtype == "vol" else "cut"  # of weighted edges, if rows are to be few
    metis = Call("metis", options.seed, recursive=options.recursive, objtype=objtype)
    kaminpar = Call("kaminpar", options.seed, threads=options.threads or 1)
    if method in LIBRARY_NAMES:
        need_library(method)
        call = metis if method == "metis" else kaminpar
        return Choice(method, (call,), (), max(need[method], need["graph"]), "")
    if method == "fennel":
        return Choice(method, (), (), need["fennel"], "")
    installed = tuple(call for call in (metis, kaminpar) if has_library(call.library))
    if not installed:
        need_library("kaminpar")
    calls = _by_effort(installed, num_constraints, options.effort)
    largest = {"metis": COARSE_ARCS, "kaminpar": WHOLE_ARCS}
    takes_any = options.effort == "high"
    whole = tuple(call for call in calls if method == "auto" and (takes_any or num_arcs <= largest[call.library]))
    coarse = tuple(replace(call, threads=1) for call in calls if call not in whole)
    most = max([need["multilevel"]] * bool(coarse) + [max(need[call.library], need["graph"]) for call in whole])
    if not whole:
        if options.effort == "normal":  # luck at a coarse level is worth up to a fifth of the cut
            (again,) = _by_effort(installed, num_constraints, "low")
            coarse = (*coarse, replace(again, seed=(again.seed + 1) % 2**31, threads=1))
        why = f"auto picked multilevel: the graph has over {'2' if num_arcs > WHOLE_ARCS else '0.5'} M edges"
        if method != "auto":
            return Choice("multilevel", (), coarse, most, "")
        alone = next((call for call in coarse if call.library == "kaminpar"), None)
        if alone is None or options.effort != "normal" or max(num_arcs, planned_arcs or 0) > UNCLUSTERED_ARCS:
            return Choice("multilevel", (), coarse, most, why)
        most = max(most, need["kaminpar"], need["graph"] * options.runs_cycles)
        return Choice("multilevel", (), coarse, most, f"{why}; KaMinPar, if most of them lie between clusters", alone)
    libraries = " and ".join(dict.fromkeys(LIBRARY_NAMES[call.library] for call in calls))
    libraries = f"{'several seeds of ' * takes_any}{libraries}{' combined' * (len(calls) > 1)}"
    if coarse and not starts_compete(num_arcs):
        libraries = "KaMinPar, and METIS if that misses a limit"
    threads = max(call.threads for call in whole)
    varies = f"; {threads} threads, so the result varies from run to run" * (threads > 1)
    return Choice("auto", whole, coarse, most, f"auto picked {libraries}{varies}")


def starts_compete(num_arcs: int) -> bool:
    """Whether a graph is small enough for several starts, of which the best goes on."""
    return num_arcs <= 2 * COARSE_ARCS


def _by_effort(calls: tuple[Call, ...], num_constraints: int, effort: str) -> tuple[Call, ...]:
    """Keep one call for little effort (METIS' with several constraints); repeat calls for much."""
    if effort == "low":
        return calls[:1] if num_constraints > 1 else calls[-1:]
    seeds = HIGH_SEEDS if effort == "high" else 1
    return tuple(replace(call, seed=(call.seed + i) % 2**31) for i in range(seeds) for call in calls)


def expected_choice(schema: GraphSchema, options: AssignOptions) -> Choice:
    """Choose as a run would, for a graph without parallel edges, self-loops or isolated nodes."""
    return choose(schema.num_nodes, 2 * schema.num_edges, len(options.constraints), options)


def can_share(num_nodes: int, num_arcs: int, num_constraints: int, options: AssignOptions) -> bool:
    """Whether workers of a cluster share the work: on a large graph, if no library takes it whole."""
    if num_arcs <= SHARED_ARCS:
        return False
    if not options.is_named or options.extend is not None:
        return True
    if options.method not in METHODS or options.method in LIBRARY_NAMES:
        return False
    return not choose(num_nodes, num_arcs, num_constraints, options).whole


def method_memory(schema: GraphSchema, num_parts: int | None, options: AssignOptions, processes: int = 1) -> int:
    """Bytes that finding the owners takes at most, in one of some processes; none for one part, or without edges."""
    is_one = num_parts == options.num_trainers_per_machine == 1
    if options.counts_nodes:
        return find_method(options).memory(min(schema.num_nodes, ROWS_PER_UNIT), 0, 0)
    if is_one or not schema.num_edges:
        return 0
    sizes = schema.num_nodes, 2 * schema.num_edges, len(options.constraints)
    is_named, need = options.extend is None and options.is_named, needs(*sizes, options)
    if options.keeps_owners and not is_named:
        return 0
    if processes > 1 and can_share(*sizes, options):
        return need["shared"]
    if is_named:
        return find_method(options).memory(*sizes)
    if options.refine and sizes[1] <= COARSE_ARCS:
        return need["graph"]
    return need["multilevel" if options.refine or options.extend is not None else "fennel"]


def workspace_nbytes(schema: GraphSchema, options: AssignOptions, choice: Choice | None, num_ways: int) -> int:
    """Estimate the peak size of temporary files, of which those of other ways to partition stay until one is chosen."""
    in_edges = read_training(options, schema).in_edges_nbytes(schema) if options.fanouts else 0
    weights = 0
    if options.edge_weight:
        weighted = find_weights(schema, options.edge_weight)
        weights = sum(schema.edge_type(etype).num_edges for etype in weighted) * WEIGHT_NBYTES
    runs = (6 if options.has_weights else 4) * id_dtype(schema.num_nodes).itemsize * schema.num_edges
    building = adjacency_nbytes(schema, has_weights=options.has_weights) + weights + runs
    balanced = MOST_TRIES * (WEIGHT_NBYTES * (len(options.constraints) + 1) + PART_NBYTES) * schema.num_nodes
    of_others = (num_ways - 1) * _lasting_nbytes(schema, options) + num_ways * balanced * (num_ways > 1)
    return in_edges + of_others + max(building, solving_nbytes(schema, options, choice))


def _lasting_nbytes(schema: GraphSchema, options: AssignOptions) -> int:
    """Estimate the adjacency, weights of nodes, and their parts."""
    adjacency = adjacency_nbytes(schema, has_weights=options.has_weights)
    return adjacency + (8 * len(options.constraints) + SOLVING_PER_NODE) * schema.num_nodes


def solving_nbytes(schema: GraphSchema, options: AssignOptions, choice: Choice | None) -> int:
    """Estimate the temporary files of a method: the adjacency, and its own graph."""
    nodes, arcs, item = schema.num_nodes, 2 * schema.num_edges, id_dtype(schema.num_nodes).itemsize
    adjacency, exported, levels = adjacency_nbytes(schema, has_weights=options.has_weights), 0, 0
    if choice is not None and choice.whole:
        nbytes = 16 if any(call.library == "metis" for call in choice.whole) else item + 8  # per exported arc
        exported = 8 * nodes + nbytes * arcs
    if choice is not None and choice.coarse:
        # arcs between clusters, and the next level, which is merged from them
        row = 24 if options.has_weights else 2 * item + 4
        levels = round(TYPICAL_COARSE * row * arcs + TYPICAL_MERGED * adjacency)
    return max(exported, levels) + _lasting_nbytes(schema, options)


class Way(NamedTuple):
    """One of the ways to partition: its options, and the weights of edges in place of those in the options."""

    options: AssignOptions
    weights: Weights | None


def list_ways(options: AssignOptions, num_edges: int, num_parts: int) -> list[Way]:
    """List what to try: for fewest rows, several ways on a small graph, of which none is best on all."""
    if options.objtype != "fetch":
        return [Way(options, None)]
    is_free = options.is_named and options.extend is None and num_parts * options.num_trainers_per_machine > 1
    if not is_free or num_edges > MOST_EDGES_OF_SEVERAL:
        return [Way(options, "rows")]
    return [Way(replace(options, objtype="cut"), "edges"), Way(options, "samples"), Way(options, "rows")]
