"""Partition a large graph with hubs: the cheapest of three ways that a look at the graph allows.

KaMinPar's `fast` context takes a quarter of the time of `eco` and tells what there is to be found. Where hubs know one
another, as in an R-MAT graph, filling the parts in the order of degree cuts far less than any library does, because
the core falls into one part; that is tried if there is one constraint. Where `fast` cuts hardly less than random
owners would, there is nothing to be found, and `eco` would only take its time. In all other graphs `eco` is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.initial import partition_level
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.assignment.multilevel.move_nodes import measure_cut
from daskgraphpart.assignment.multilevel.vcycle import balance
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from daskgraphpart.assignment.libraries.call import Candidate
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

CORE_GAIN = 0.8  # of the cut of `fast`: what the order of degree must come to
BY_DEGREE = "by-degree"
NOTHING_FOUND = 0.85  # of the cut of random owners: as good as nothing


def partition_skewed(
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
        The quick call of a library, and the thorough one.
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
    quick, thorough = calls
    partition_level(level, num_parts, limits, (quick,), (0, parts), runner)
    cut = _cut(level, parts, runner)
    if len(limits) == 1:
        filled = create_parts(level, "by-degree.npy")
        runner.run(Pass("fill-by-degree", fill_by_degree, [None], (level, filled, num_parts, int(limits[0])), [0]))
        overload = balance(level, filled, num_parts, limits, runner)
        if overload == 0.0 and _cut(level, filled, runner) <= CORE_GAIN * cut:
            Path(filled.path).replace(parts.path)
            return BY_DEGREE
    if cut >= NOTHING_FOUND * (1 - 1 / num_parts) * level.adjacency.total_weight / 2:
        return quick
    return partition_level(level, num_parts, limits, (thorough,), (0, parts), runner)


def _cut(level: Level, parts: Region, runner: Runner) -> int:
    return measure_cut(level, parts, runner)[0]


def fill_by_degree(_: None, config: tuple[Level, Region, int, int]) -> None:
    """Task of the pass `fill-by-degree`: parts in turn, nodes in the order of falling degree, up to a limit."""
    level, parts, num_parts, limit = config
    degrees = np.empty(level.num_nodes, np.int32)
    for block in level.adjacency.blocks:
        degrees[block.start : block.stop] = np.diff(block.indptr.read())
    order = np.argsort(-degrees, kind="stable")
    del degrees
    ends = np.cumsum(level.weights[0].read()[order])
    owners = np.empty(level.num_nodes, np.int32)
    owners[order] = np.minimum((ends - 1) // max(limit, 1), num_parts - 1).clip(0)
    parts.write(owners, 0)
