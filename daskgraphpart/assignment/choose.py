"""What each method needs, and what `auto` picks.

The figures are measured peaks: KaMinPar 16 bytes per arc (8 with compression) beside 60 per node, METIS about 85 bytes
per arc. Where several calls may run side by side room for two is asked for, whatever the number of workers, so that
this changes nothing of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.adjacency.merge_arcs import BLOCKS, LEAST_BLOCK_ARCS, MOST_BLOCK_ARCS
from daskgraphpart.assignment.libraries.call import Candidate, has_library, need_library
from daskgraphpart.assignment.multilevel.in_memory import BYTES_PER_ARC, BYTES_PER_NODE
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from daskgraphpart.assignment.multilevel.level import Level
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import GraphSchema

SMALL_ARCS, MEDIUM_ARCS, LARGE_ARCS, COARSENED_ARCS = 1_200_000, 6_000_000, 20_000_000, 30_000_000
TINY_ARCS = 100_000  # up to which nothing is won by combining, and processes take most of the time
KAMINPAR_PER_ARC, COMPRESSED_PER_ARC, KAMINPAR_PER_NODE = 18, 11, 80
METIS_PER_ARC, METIS_PER_NODE = 88, 60
STREAMING_PER_NODE, MULTILEVEL_PER_NODE = 12, 32
BLOCK_NBYTES = 64 << 20  # one block of two million arcs with its weights, decoded


TASK_NBYTES = 4 << 20  # of a task beside its block
BYTES_PER_BLOCK_ARC = 40  # arcs before and after merging, weights, row starts


def smallest_task_memory(schema: GraphSchema) -> int:
    """Bytes that one task takes while the adjacency is built and worked on."""
    arcs = min(MOST_BLOCK_ARCS, max(LEAST_BLOCK_ARCS, 2 * schema.num_edges // BLOCKS))
    return TASK_NBYTES + BYTES_PER_BLOCK_ARC * min(arcs, 2 * schema.num_edges)


@dataclass(frozen=True, slots=True)
class Choice:
    """A method with its calls.

    Parameters
    ----------
    method : str
        ``"kaminpar"``, ``"metis"``, ``"multilevel"``, ``"fennel"``, ``"ldg"``, ``"portfolio"``, ``"combined"``,
        ``"skewed"`` or ``"coarsened"``.
    candidates : tuple of Candidate
        Calls of libraries, of which the best is taken.
    cycles : int
        V-cycles of refinement in memory after each call; 0 leaves the result as it is.
    need : int
        Bytes that the method takes.
    why : str
        For the user.
    """

    method: str
    candidates: tuple[Candidate, ...]
    cycles: int
    need: int
    why: str


def needs(level: Level) -> dict[str, int]:
    """Bytes that each method takes for a graph."""
    arcs, nodes = level.adjacency.num_arcs, level.num_nodes
    weights = 8 * len(level.weights) * nodes
    return {
        "kaminpar": arcs * KAMINPAR_PER_ARC + nodes * KAMINPAR_PER_NODE,
        "kaminpar, compressed": arcs * COMPRESSED_PER_ARC + nodes * KAMINPAR_PER_NODE,
        "metis": arcs * METIS_PER_ARC + nodes * METIS_PER_NODE + weights,
        "refinement": arcs * BYTES_PER_ARC + nodes * BYTES_PER_NODE + 2 * weights,
        "multilevel": nodes * (MULTILEVEL_PER_NODE - 8) + weights + BLOCK_NBYTES,
        "streaming": nodes * STREAMING_PER_NODE + BLOCK_NBYTES,
    }


def choose(level: Level, num_parts: int, options: AssignOptions, resources: Resources) -> Choice:
    """Choose how a graph is partitioned.

    Raises
    ------
    OptionError
        If the library of a method that was asked for is not installed.
    """
    need = needs(level)
    if options.method == "auto":
        return _choose_auto(level, num_parts, options, resources)
    if options.method == "metis":
        need_library("metis")
        call = _metis(options, 0.5 if len(level.weights) > 1 else 1.0)
        return Choice("metis", (call,), 0, need["metis"], "asked for")
    if options.method == "kaminpar":
        need_library("kaminpar")
        return _kaminpar(level, options, resources, "asked for")
    if options.method == "multilevel":
        return Choice("multilevel", coarse_candidates(options), 2, need["multilevel"], "asked for")
    return Choice(options.method, (), 0, need["streaming"], "asked for")


def _choose_auto(level: Level, num_parts: int, options: AssignOptions, resources: Resources) -> Choice:
    arcs, need = level.adjacency.num_arcs, needs(level)
    size = f"{format_count(arcs // 2)} edges"
    side_by_side = 2 * (max(need["metis"], need["kaminpar"]) + need["refinement"])
    if arcs <= MEDIUM_ARCS and side_by_side <= resources.memory and (has_library("kaminpar") or has_library("metis")):
        calls = tuple(c for c in _portfolio(level, num_parts, options) if has_library(c.library))
        why = f"{size} are few: {len(calls)} calls of KaMinPar and METIS are refined, and the best is taken"
        if len(level.weights) == 1 or arcs <= TINY_ARCS:
            return Choice("portfolio", calls, 6 if len(level.weights) > 1 else 3, side_by_side, why)
        # on a larger graph it is after they have been combined that they are refined
        cycles = 0 if arcs > SMALL_ARCS else 6
        why = f"{size} are few: {len(calls)} calls of KaMinPar and METIS are combined"
        return Choice("combined", calls, cycles, side_by_side, why)
    hubs = level.adjacency.is_skewed and arcs <= LARGE_ARCS and len(level.weights) > 1
    if hubs and has_library("metis") and need["metis"] <= resources.memory:
        why = "the graph has hubs, and METIS knows all constraints from the start"
        return Choice("metis", (_metis(options, 0.5),), 0, need["metis"], why)
    if has_library("kaminpar"):
        for compressed in (True,) if arcs > LARGE_ARCS else (False, True):
            name = "kaminpar, compressed" if compressed else "kaminpar"
            if need[name] <= resources.memory:
                fits = f"{name} needs {format_size(need[name])} of {format_size(resources.memory)}"
                return _kaminpar(level, options, resources, fits)
    why = f"KaMinPar would need {format_size(need['kaminpar, compressed'])} of {format_size(resources.memory)}"
    return Choice("multilevel", coarse_candidates(options), 2, need["multilevel"], why)


def _portfolio(level: Level, num_parts: int, options: AssignOptions) -> list[Candidate]:
    seed, arcs = options.seed, level.adjacency.num_arcs
    calls = [Candidate("kaminpar", seed, "eco"), Candidate("metis", seed, objtype=options.objtype)]
    if arcs > SMALL_ARCS and len(level.weights) > 1:
        return calls
    if len(level.weights) > 1:
        calls.append(Candidate("metis", seed, tightness=0.3))
        calls += focused_calls(level, seed)
    calls.append(Candidate("kaminpar", seed + 1, "eco"))
    if arcs <= SMALL_ARCS:
        calls += [Candidate("kaminpar", seed + 2, "eco"), Candidate("metis", seed + 1, recursive=num_parts <= 8)]
    if arcs * num_parts <= 40 * SMALL_ARCS:
        calls.append(Candidate("kaminpar", seed, "strong"))
    return calls


def focused_calls(level: Level, seed: int) -> list[Candidate]:
    """METIS with the last constraint kept and the others loosened: a start from which all are approached together."""
    last = len(level.weights) - 1
    return [
        Candidate("metis", seed, tightness=tight, focus=last, looseness=loose)
        for loose, tight in ((0.25, 0.5), (0.5, 1.0), (1.0, 1.0), (0.5, 0.3))
    ]


def coarse_candidates(options: AssignOptions) -> tuple[Candidate, ...]:
    """Calls on the coarsest graph of the multilevel method."""
    calls = (
        Candidate("kaminpar", options.seed, "eco"),
        Candidate("metis", options.seed, tightness=0.5),
        Candidate("kaminpar", options.seed + 1, "eco"),
        Candidate("metis", options.seed + 1),
    )
    found = tuple(call for call in calls if has_library(call.library))
    if not found:
        need_library("kaminpar")
    return found


def _metis(options: AssignOptions, tightness: float) -> Candidate:
    return Candidate("metis", options.seed, recursive=options.recursive, objtype=options.objtype, tightness=tightness)


def _kaminpar(level: Level, options: AssignOptions, resources: Resources, why: str) -> Choice:
    need = needs(level)
    compressed = need["kaminpar"] > resources.memory
    threads = options.threads or (1 if level.adjacency.num_arcs <= LARGE_ARCS else resources.workers)
    if threads > 1:
        why += f"; with {threads} threads the result varies from run to run, --threads 1 makes it repeatable"
    method, contexts = _contexts(level) if options.method == "auto" else ("kaminpar", ("default",))
    if options.method == "auto":
        # compression takes a twentieth more time, and half of the memory off
        compressed = compressed or level.adjacency.num_arcs > LARGE_ARCS
    calls = tuple(Candidate("kaminpar", options.seed, c, threads, compressed) for c in contexts)
    return Choice(method, calls, 0, need["kaminpar, compressed" if compressed else "kaminpar"], why)


def _contexts(level: Level) -> tuple[str, tuple[str, ...]]:
    """How `auto` calls KaMinPar on a graph that is not small: the method, and the contexts it takes."""
    graph = level.adjacency
    # hubs make the default context cut up to 10 % more than METIS, and meshes a little more
    if graph.is_skewed:
        return "skewed", ("fast", "eco")
    if graph.is_even:
        return "kaminpar", ("eco",)
    if graph.num_arcs > COARSENED_ARCS:
        return "coarsened", ("default", "eco")
    # on others the fast one cuts far less than METIS
    return "kaminpar", ("fast" if graph.num_arcs > LARGE_ARCS else "default",)
