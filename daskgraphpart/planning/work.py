"""How long libraries and refinement in memory take: seconds per arc on the machine of reference, on a quiet one.

Unlike passes over blocks they do as much as the graph calls for: KaMinPar's `eco` took 0.6 to 4 microseconds per arc of
power laws that differ in size alone. Here are values in the middle, in the logarithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daskgraphpart.assignment.libraries.call import Candidate

KAMINPAR = {"fast": 0.12e-6, "default": 0.25e-6, "eco": 1.3e-6, "strong": 3e-6}
METIS = 0.8e-6
LIBRARY_START = 0.3
"""Seconds until the process of a library has begun, whatever the graph."""
V_CYCLE = 0.3e-6
"""Of a V-cycle in memory."""
REPAIR = 0.1e-6
"""Of the repair of a library's result: from a sweep or two to several V-cycles."""
FROM_ONE_CONSTRAINT = 7.8
"""Times a V-cycle, for what KaMinPar gave with one constraint where there are several: limits are approached in stages,
from two beginnings. METIS knows them all."""


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
    refining = of_cycles(arcs, cycles)
    ends = [0.0] * max(1, workers)
    for call in calls:
        is_metis = call.library == "metis"
        per_arc = METIS if is_metis else KAMINPAR[call.context] / call.threads
        times = FROM_ONE_CONSTRAINT if constraints > 1 and not is_metis else 1.0
        ends.sort()
        ends[0] += LIBRARY_START + per_arc * arcs + refining * times
    return max(ends)
