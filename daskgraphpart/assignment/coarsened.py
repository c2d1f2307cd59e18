"""Partition a large graph without hubs: coarsened by passes over the blocks on disk, and then by a library.

Label propagation in two sweeps finds the communities of a graph, in a fraction of the time and memory that a library
takes. They are a small graph for the library, whose parts are brought back to the nodes and refined by sweeps over the
blocks. That is all there is to be done where the library cuts hardly less of this small graph than random owners would:
then nothing but the communities can be found. If it cuts much less, as in a mesh, good parts depend on finer clusters
than these, so that the library gets the graph as it is, like one that does not shrink.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.cluster_nodes import coarsen
from daskgraphpart.assignment.multilevel.initial import partition_level
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.assignment.multilevel.move_nodes import measure_cut, project
from daskgraphpart.assignment.multilevel.vcycle import improve, parts_everywhere, refine_blocks

if TYPE_CHECKING:
    from daskgraphpart.assignment.libraries.call import Candidate
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

CLUSTER_SHARE = 0.1  # of a part's limit: the most a cluster may weigh
CYCLES = 1  # V-cycles on the coarse graph, with all constraints
SWEEPS = 2  # of label propagation; further ones change little, and the library goes on where they end
MOST_LEFT = 0.4  # of the arcs: a graph that shrinks less has no communities to be found
NOTHING_ELSE = 0.8  # of the cut of random owners of the communities: they are all there is


def partition_coarsened(
    level: Level, limits: np.ndarray, calls: tuple[Candidate, Candidate], how: tuple[int, Region], runner: Runner
) -> object:
    """Partition a level.

    Parameters
    ----------
    level : Level
        The graph.
    limits : int64 array (constraints,)
        Most that a part may weigh.
    calls : Candidate and Candidate
        The call of a library for communities, and the one for a graph where these are not all.
    how : int and Region
        Number of parts, and the file that is filled with the part of each node, int32; limits may be exceeded, and
        isolated nodes may be of no part (-1).
    runner : Runner
        What does the work.

    Returns
    -------
    object
        What was taken, for the report.
    """
    num_parts, parts = how
    call, thorough = calls
    most = np.maximum((limits * CLUSTER_SHARE).astype(np.int64), 1)
    coarse, clusters = coarsen(level, most, (None, call.seed + 1, SWEEPS), level.file("coarse"), runner)
    is_taken = coarse.adjacency.num_arcs <= MOST_LEFT * level.adjacency.num_arcs
    if is_taken:
        coarse_parts = create_parts(coarse, "parts.npy")
        partition_level(coarse, num_parts, limits, (call,), (0, coarse_parts), runner)
        improve(coarse, coarse_parts, num_parts, limits, (CYCLES, call.seed), runner)
        by_chance = (1 - 1 / num_parts) * coarse.adjacency.total_weight / 2
        is_taken = measure_cut(coarse, coarse_parts, runner)[0] >= NOTHING_ELSE * by_chance
    if is_taken:
        parts_everywhere(parts, runner)
        project(clusters, coarse_parts, parts, runner)
    shutil.rmtree(coarse.directory, ignore_errors=True)
    if not is_taken:
        return partition_level(level, num_parts, limits, (thorough,), (0, parts), runner)
    if len(limits) == 1:  # else it is done with the balance of all constraints
        refine_blocks(level, parts, num_parts, limits, runner)
    return f"coarsened, then {call}"
