"""How many times as fast could more threads partition a graph? Without them: CPU seconds, and a simulated schedule.

Runs a command in this process, counts the CPU seconds of each piece of each `Map` of `partition-graph`, of what its one
thread does between them, and of libraries, and hands the pieces to 2 to 64 threads as the `Map` would. What else runs
on the machine changes little. Compiling kernels would count, so run a command once before. What the interpreter's lock
costs is not counted: some 40 microseconds of a piece's millisecond or two.

``python benchmarks/parallel_limit.py assign GRAPH OUT --num-parts 8 --overwrite --quiet``; the second table has what
the most threads wait for, by function.
"""

from __future__ import annotations

import heapq
import resource
import sys
import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

from harness import keep_lines, show

import daskgraphpart as dgp
from daskgraphpart.cli.main import group
from daskgraphpart.partitioner import solver
from daskgraphpart.partitioner.libraries import call as library_call
from daskgraphpart.partitioner.multilevel.side_by_side import Map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


THREADS = (2, 4, 8, 16, 32, 64)
SHOWN = 12  # functions that others wait for
BETWEEN = "one thread"


class Called(NamedTuple):
    """A call of a `Map`: the function, and CPU seconds since the call before and of each piece."""

    name: str
    before: float
    pieces: list[float]

    def span(self, threads: int) -> float:
        """Seconds that the pieces take, each given to the thread that is free first."""
        busy = [0.0] * min(threads, len(self.pieces) or 1)
        for piece in self.pieces:
            heapq.heapreplace(busy, busy[0] + piece)
        return max(busy)


def measured(calls: list[Called]) -> Callable[[Any, int], Map]:
    """Stand in for `by_threads`: call in turn, and note what each piece takes."""

    class Measured(Map):
        def __init__(self) -> None:
            self.last = time.thread_time()  # of the task's thread

        def __call__(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
            items = list(items)
            before, results, pieces = time.thread_time() - self.last, [], []
            for item in items:
                begin = time.thread_time()
                results.append(call(item))
                pieces.append(time.thread_time() - begin)
            calls.append(Called(getattr(call, "func", call).__qualname__.replace(".<locals>", ""), before, pieces))
            self.last = time.thread_time()
            return results

    return lambda *_: Measured()


def in_turn(pieces: list[float]) -> Callable[..., Any]:
    """Stand in for `run_library`, one process at a time, and note what each takes."""
    lock, run_library = threading.Lock(), library_call.run_library

    def run(*args: Any) -> Any:
        with lock:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            parts = run_library(*args)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            pieces.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return parts

    return run


def limits(calls: Sequence[Called]) -> dict[int, float]:
    """How many times as fast each number of threads could be as one."""
    between = sum(call.before for call in calls)
    total = between + sum(sum(call.pieces) for call in calls)
    return {threads: total / (between + sum(call.span(threads) for call in calls)) for threads in THREADS}


def lost(calls: Sequence[Called], threads: int) -> list[list[str]]:
    """Seconds in which threads wait, by function, most first: rows of a table."""
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * 5)
    for number, call in enumerate(calls):
        after = f"{BETWEEN}, after {calls[number - 1].name}" if number else BETWEEN
        for name, row in (
            (call.name, (1, len(call.pieces), sum(call.pieces), call.span(threads), sum(call.pieces) / threads)),
            (after, (1, 0, call.before, call.before, call.before / threads)),
        ):
            found[name] = [a + b for a, b in zip(found[name], row, strict=True)]
    most = sorted(found.items(), key=lambda pair: pair[1][4] - pair[1][3])[:SHOWN]
    return [
        [name, f"{count:.0f}", f"{pieces / count:.1f}", f"{cpu:.2f} s", f"{span:.2f} s", f"{span - least:.2f} s"]
        for name, (count, pieces, cpu, span, least) in most
    ]


def main() -> None:
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    calls: list[Called] = []
    libraries = Called("libraries", 0.0, [])
    with (
        mock.patch.object(solver, "by_threads", measured(calls)),
        mock.patch.object(library_call, "run_library", in_turn(libraries.pieces)),
    ):
        group.main(args=[*sys.argv[1:], "--workers", "2"], standalone_mode=False)
    found = {"threads": limits(calls), "with libraries": limits([*calls, libraries])}
    show(
        ["times as fast as one", *(f"{threads} threads" for threads in THREADS)],
        [[name, *(f"{times[threads]:.1f}" for threads in THREADS)] for name, times in found.items()],
    )
    show(
        ["function", "calls", "pieces", "CPU", f"with {THREADS[-1]} threads", "lost"],
        lost([*calls, libraries], THREADS[-1]),
    )
    size = {"num_edges": dgp.read_chunked(sys.argv[2]).schema.num_edges}
    keep_lines("parallel_limit", {"command": sys.argv[1:], **size}, found)


if __name__ == "__main__":
    main()
