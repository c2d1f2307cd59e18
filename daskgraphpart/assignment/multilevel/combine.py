"""Partition within limits of several constraints: many beginnings on a coarse graph, the best of which are overlaid.

What a library finds with one constraint, or with several loosened ones, is far from the limits, and how much of its cut
is lost on the way there varies a lot. So many beginnings are tried, where that is cheap: on a coarse graph. The best
are refined on the finest graph and laid over one another. Clusters that stay inside the overlay keep every border that
one of them has found, and the next round, on the coarse graph of these clusters, finds which borders go together.

Sanders and Schulz, "Distributed Evolutionary Graph Partitioning" (ALENEX 2012; KaFFPaE), combine two partitions by
their overlay in this way.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.libraries.call import Candidate, has_library
from daskgraphpart.assignment.multilevel.cluster_nodes import SWEEPS, coarsen
from daskgraphpart.assignment.multilevel.in_memory import oscillate, refine_level
from daskgraphpart.assignment.multilevel.initial import read_csr, try_starts
from daskgraphpart.assignment.multilevel.level import Level, create_parts, writable
from daskgraphpart.assignment.multilevel.move_nodes import restrict
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.assignment.multilevel.initial import Result
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

ROUNDS, KEPT = 2, 3  # and how many partitions of a round the next is made from
ROUNDS_ALONE, KEPT_ALONE = 3, 4  # from one partition: the first round combines nothing, it makes what the others do
SEEDS = 3  # of each call
FEW_ARCS = 1_200_000  # of a graph of which other calls have been made, so that one seed is enough
MOST_WORK = 500_000  # arcs of a coarse graph, times how often something is tried
CLUSTER_SHARE = 0.02  # of a part's limit: the most a cluster may weigh
TOLERANCES = ((0.0, 0.5), (0.25, 0.5), (0.5, 1.0), (1.0, 1.0), (8.0, 1.0))
"""For METIS: of all constraints but the last, 0 for none loosened; and the share of its own that the last one has."""
OSCILLATIONS = 4
BYTES_PER_ARC, BYTES_PER_NODE = 14, 120  # of the finest graph, for each of two tasks


@dataclass(frozen=True, slots=True)
class FinishConfig:
    """What is done with the best of a round.

    Parameters
    ----------
    level, coarse : Level
        The graph, and the one of its clusters.
    clusters : Region
        Cluster of each node, -1 without neighbours.
    limits : tuple of int
        Most that a part may weigh, by constraint.
    num_parts : int
        Number of parts.
    salt : int
        Seed.
    """

    level: Level
    coarse: Level
    clusters: Region
    limits: tuple[int, ...]
    num_parts: int
    salt: int


def can_be_combined(level: Level, memory: int) -> bool:
    """Whether the memory suffices to refine two partitions of the graph at one time."""
    return 2 * (level.adjacency.num_arcs * BYTES_PER_ARC + level.num_nodes * BYTES_PER_NODE) <= memory


def combine(
    level: Level, num_parts: int, limits: np.ndarray, how: tuple[list[Region], Region, int], runner: Runner
) -> str:
    """Partition a level, beginning with partitions that need not be balanced.

    Parameters
    ----------
    level : Level
        The graph.
    num_parts : int
        Number of parts.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    how : list of Region, Region and int
        Parts of each node to begin with, int32; nodes without neighbours may have none (-1). The file that is filled,
        which may be one of them. And the seed.
    runner : Runner
        What does the work.

    Returns
    -------
    str
        What was done, for the report.
    """
    pool, parts, seed = how
    rounds, kept = rounds_from(len(pool))
    for number in range(rounds):
        salt = (seed + 1) * 1_000_003 + 977 * number
        coarse, clusters = _coarsen_within(level, limits, pool, salt, runner)
        starts = [create_parts(coarse, f"start-{i}.npy") for i in range(len(pool))]
        for each, start in zip(pool, starts, strict=True):
            restrict(clusters, each, start, runner)
        found = try_starts(coarse, num_parts, limits, [*_calls(coarse, seed), *starts], runner)
        config = FinishConfig(level, coarse, clusters, tuple(int(most) for most in limits), num_parts, salt)
        pool = _finish(found[:kept], config, number, runner)
        shutil.rmtree(coarse.directory, ignore_errors=True)
    writable(parts)[:] = pool[0].read()
    return f"combined in {rounds} rounds from many beginnings"


def rounds_from(num_partitions: int) -> tuple[int, int]:
    """Rounds, and how many partitions of each are kept, for so many to begin with."""
    return (ROUNDS, KEPT) if num_partitions > 1 else (ROUNDS_ALONE, KEPT_ALONE)


def _coarsen_within(
    level: Level, limits: np.ndarray, pool: Sequence[Region], salt: int, runner: Runner
) -> tuple[Level, Region]:
    """Contract clusters that no partition cuts."""
    borders = create_parts(level, "borders.npy")
    runner.run(Pass("overlay-parts", overlay_parts, [None], (tuple(pool), borders), [borders.nbytes]))
    most = np.maximum((limits * CLUSTER_SHARE).astype(np.int64), 1)
    return coarsen(level, most, (borders, salt, SWEEPS), level.file("combined"), runner)


def overlay_parts(_: None, config: tuple[tuple[Region, ...], Region]) -> None:
    """Task of the pass `overlay-parts`: number the sets of nodes that all partitions keep together."""
    pool, borders = config
    numbers = np.zeros(borders.num_rows, np.int64)
    for region in pool:
        parts = region.read()
        # numbered anew each time, so that numbers stay small
        numbers = np.unique(numbers * (int(parts.max(initial=0)) + 2) + parts + 1, return_inverse=True)[1]
    borders.write(numbers.astype(np.int32), 0)


def _calls(coarse: Level, seed: int) -> list[Candidate]:
    """Calls of a library on a coarse graph: METIS with each constraint in turn loosened more or less."""
    if not has_library("metis"):
        return [Candidate("kaminpar", seed + i, "eco") for i in range(SEEDS)]
    last = len(coarse.weights) - 1
    seeds = _times(SEEDS, coarse) if coarse.adjacency.total_weight > FEW_ARCS else 1
    return [
        Candidate("metis", seed + i, tightness=tight, focus=last if loose else -1, looseness=loose)
        for i in range(seeds)
        for loose, tight in TOLERANCES
    ]


def _finish(found: Sequence[Result], config: FinishConfig, number: int, runner: Runner) -> list[Region]:
    """Refine the best of a round on the finest graph, and return what comes of them, the best first."""
    level = config.level
    regions = [create_parts(level, f"combined-{number}-{i}.npy") for i in range(len(found))]
    units = [(result.path, region) for result, region in zip(found, regions, strict=True)]
    sizes = [level.adjacency.nbytes for _ in units]
    values = runner.run(Pass("refine-best", refine_best, units, config, sizes, is_repeatable=False))
    order = sorted(range(len(units)), key=lambda i: (values[i], i))
    return [regions[i] for i in order]


def refine_best(unit: tuple[str, Region], config: FinishConfig) -> tuple[float, int]:
    """Refine parts of the coarse graph, project them and refine them again; return the overload and the cut."""
    path, region = unit
    num_parts, limits = config.num_parts, np.array(config.limits, np.int64)
    with attach_path_to_error(path):
        coarse_parts = np.load(path, allow_pickle=False)
    graph = read_csr(config.coarse)
    coarse_parts = oscillate(graph, coarse_parts, num_parts, limits, _times(OSCILLATIONS, config.coarse), config.salt)
    graph, clusters = read_csr(config.level), config.clusters.read()
    parts = np.where(clusters >= 0, coarse_parts[clusters], -1).astype(np.int32)
    graph.deal_out_rest(parts, num_parts, limits)
    parts = refine_level(graph, parts, num_parts, limits)
    writable(region)[:] = parts
    return round(graph.overload(parts, limits, num_parts), 9), graph.cut(parts)


def _times(most: int, coarse: Level) -> int:
    """How often something is tried: seldom on a large graph."""
    return min(most, max(1, MOST_WORK // max(1, coarse.adjacency.num_arcs)))
