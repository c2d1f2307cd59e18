"""Where does a command's time go, and what of it is serial? One row for each pass.

Runs a command in this process and counts, for each pass, CPU seconds, those of the thread that hands out work and those
of libraries' processes, waiting (seconds in which a worker had nothing to run), and bytes read and written.

The *serial share* is the CPU time of the handing-out thread over all CPU time. Unlike wall time, it does not depend on
what else runs on the machine. In `partition-graph`, the thread of its one task hands out the work.
Compiling kernels would count, so run a command once before.

``python benchmarks/ledger.py assign GRAPH OUT --num-parts 16 --overwrite --quiet``; ``--profile`` first lists the
functions of the thread that hands out work in `partition-graph`, by their own CPU time.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import resource
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from harness import keep_lines, show

import daskgraphpart as dgp
from daskgraphpart.cli.main import group
from daskgraphpart.engine.local import LocalScheduler
from daskgraphpart.partitioner import find_parts

if TYPE_CHECKING:
    from collections.abc import Callable

BETWEEN, PARTITION = "between passes", "partition-graph"
SHOWN = 20  # functions of a profile


@dataclass(slots=True)
class Used:
    """What something has taken so far, or took."""

    seconds: float = 0.0
    cpu: float = 0.0  # of this process and of ended children
    libraries: float = 0.0  # of that, ended children
    serial: float = 0.0  # of that, the thread that hands out work
    read: int = 0  # bytes, also from the page cache
    written: int = 0
    from_disk: int = 0
    to_disk: int = 0

    @classmethod
    def now(cls) -> Used:
        """Read the counters of the process and of the calling thread."""
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        libraries = children.ru_utime + children.ru_stime
        counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
        nbytes = (int(counters[name]) for name in ("rchar", "wchar", "read_bytes", "write_bytes"))
        return cls(time.monotonic(), time.process_time() + libraries, libraries, time.thread_time(), *nbytes)

    def __add__(self, other: Used) -> Used:
        return Used(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def __sub__(self, other: Used) -> Used:
        return Used(*(getattr(self, field.name) - getattr(other, field.name) for field in fields(self)))


class Ledger:
    """Counts each pass, and what happens between passes."""

    def __init__(self) -> None:
        self.rows: defaultdict[str, Used] = defaultdict(Used)
        self.last = Used.now()
        self.profile = cProfile.Profile(time.thread_time)

    def note(self, name: str) -> None:
        """Add what was used since the last call."""
        now = Used.now()
        self.rows[name] += now - self.last
        self.last = now

    def counted(self, compute: Callable[..., None]) -> Callable[..., None]:
        """Count each pass that a scheduler computes."""

        def call(scheduler: LocalScheduler, name: str, *rest: Any) -> None:
            self.note(BETWEEN)
            compute(scheduler, name, *rest)
            self.note(name)

        return call

    def partition_graph(self, *args: Any) -> str:
        """Run the pass's one task, whose thread hands out its work."""
        before = time.thread_time()
        taken: str = pipeline_partition_graph(*args)
        self.rows[PARTITION].serial += time.thread_time() - before
        return taken

    def profiled(self, *args: Any) -> str:
        """Run it under a profiler of the thread's CPU time."""
        taken: str = self.profile.runcall(self.partition_graph, *args)
        return taken


pipeline_partition_graph = find_parts.partition_graph


def main() -> None:
    arguments = sys.argv[1:]
    profile = "--profile" in arguments
    arguments = [word for word in arguments if word != "--profile"]
    ledger = Ledger()
    with ExitStack() as stack:
        compute = ledger.counted(LocalScheduler.compute)
        stack.enter_context(mock.patch.object(LocalScheduler, "compute", compute))
        task = ledger.profiled if profile else ledger.partition_graph
        stack.enter_context(mock.patch.object(find_parts, "partition_graph", task))
        group(arguments, standalone_mode=False)
    ledger.note(BETWEEN)
    if profile:
        pstats.Stats(ledger.profile).sort_stats("tottime").print_stats(SHOWN)
    show(
        ["pass", "CPU s", "serial s", "serial share", "libraries s", "wall s", "cores busy", "read", "written"],
        [row_of(name, used) for name, used in [*ledger.rows.items(), ("all", total(ledger))]],
    )
    rows = {
        name: {field.name: getattr(used, field.name) for field in fields(used)} for name, used in ledger.rows.items()
    }
    schema = dgp.read_chunked(arguments[1]).schema
    size = {"num_nodes": schema.num_nodes, "num_edges": schema.num_edges}
    keep_lines("ledger", {"command": arguments, "load": os.getloadavg()[0], **size}, rows)


def total(ledger: Ledger) -> Used:
    """Sum of all rows."""
    return sum(ledger.rows.values(), Used())


def row_of(name: str, used: Used) -> list[str]:
    """One line of the table."""
    share = used.serial / used.cpu if used.cpu else 0.0
    numbers = [f"{used.cpu:.2f}", f"{used.serial:.3f}", f"{100 * share:.1f} %", f"{used.libraries:.2f}"]
    busy = used.cpu / used.seconds if used.seconds else 0.0
    moved = [f"{nbytes / 1e9:.2f} GB" for nbytes in (used.read, used.written)]
    return [name, *numbers, f"{used.seconds:.2f}", f"{busy:.2f}", *moved]


if __name__ == "__main__":
    main()
