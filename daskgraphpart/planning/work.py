"""How long libraries and refinement in memory take: seconds per arc on the machine of reference, on a quiet one.

Unlike passes over blocks they do as much as the graph calls for: KaMinPar's `eco` took 0.6 to 4 microseconds per arc of
power laws that differ in size alone. Here are values in the middle, in the logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.planning.assumptions import HUBS_FROM

if TYPE_CHECKING:
    from daskgraphpart.assignment.libraries.call import Candidate

KAMINPAR = {"fast": 0.12e-6, "default": 0.25e-6, "eco": 1.3e-6, "strong": 3e-6}
METIS = 0.8e-6
LIBRARY_START = 0.3
"""Seconds until the process of a library has begun, whatever the graph."""
V_CYCLE = 0.18e-6
"""Of a V-cycle in memory by sweeps."""
REFINING = 0.3e-6
"""Of one by moves one by one, after a library."""
REPAIR = 0.1e-6
"""Of the repair of a library's result: from a sweep or two to several V-cycles."""
FROM_ONE_CONSTRAINT, WITH_HUBS = 2.0, 7.8
"""Times that, for what KaMinPar gave with one constraint where there are several: limits are approached in stages,
from two beginnings, which takes longer with hubs. METIS knows them all."""
SHARE_OF_CYCLES = 0.5
"""Of the V-cycles after the first that are done: they end when one gains little."""


def of_cycles(arcs: int, cycles: int) -> float:
    """Seconds of V-cycles of refinement in memory."""
    return V_CYCLE * arcs * cycles


def of_calls(calls: tuple[Candidate, ...], sizes: tuple[int, int, int], workers: int) -> float:
    """Wall time of calls that are given to workers in their order.

    Parameters
    ----------
    calls : tuple of Candidate
        The calls.
    sizes : int, int and int
        Arcs, constraints, and V-cycles after each call.
    workers : int
        Calls that are made at one time.
    """
    arcs, constraints, cycles = sizes
    refining = REFINING * arcs * (1 + SHARE_OF_CYCLES * (cycles - 1)) if cycles else 0.0
    stages = WITH_HUBS if arcs >= 2 * HUBS_FROM else FROM_ONE_CONSTRAINT
    ends = [0.0] * max(1, workers)
    for call in calls:
        is_metis = call.library == "metis"
        per_arc = METIS if is_metis else KAMINPAR[call.context] / call.threads
        times = stages if constraints > 1 and not is_metis else 1.0
        ends.sort()
        ends[0] += LIBRARY_START + per_arc * arcs + refining * times
    return max(ends)
