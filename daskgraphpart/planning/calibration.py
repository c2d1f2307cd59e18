"""How fast this machine is now: a small file is written and read, a kernel runs over a small array. Kept nowhere."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from daskgraphpart.kernels.owner_sort import group_positions, group_starts

_STAT = Path("/proc/stat")
FILE_NBYTES, PIECES = 32 << 20, 8
KERNEL_ROWS = 1 << 20
KERNEL_SECONDS = 0.3
REFERENCE_KERNEL = 0.0007
"""Seconds of the kernel on the machine where the speeds of passes were measured."""
SECONDS_BETWEEN_SAMPLES = 0.02


@dataclass(frozen=True, slots=True)
class Calibration:
    """Speeds of a machine.

    Parameters
    ----------
    write_rate, read_rate : float
        Bytes per second, of a small file in the workspace; writing includes that it reaches the disk.
    cached_rate : float
        Bytes per second of writing to the page cache, which takes what is small beside the memory.
    slowness : float
        How many times longer a kernel takes than on the machine of reference.
    others : float
        Threads of others that want a processor.
    processors : int
        Processors that this process may use.
    """

    write_rate: float
    read_rate: float
    cached_rate: float
    slowness: float
    others: float = 0.0
    processors: int = 1 << 20

    def crowding(self, at_once: int) -> float:
        """How much longer so many tasks at one time take because they share the processors with others."""
        alone = max(1.0, at_once / self.processors)
        return max(1.0, (self.others + at_once) / self.processors) / alone


def calibrate(directory: Path) -> Calibration:
    """Measure for about a second.

    Parameters
    ----------
    directory : Path
        Where the small file is written, which is removed again: the nearest directory above that exists.
    """
    while not directory.is_dir():
        directory = directory.parent
    seconds, others = _kernel()
    return Calibration(*_disk(directory), seconds / REFERENCE_KERNEL, others, len(os.sched_getaffinity(0)))


def _disk(directory: Path) -> tuple[float, float, float]:
    """Rates of writing, reading, and writing to the cache; those of a usual disk where nothing may be written."""
    content = np.random.default_rng(0).bytes(FILE_NBYTES // PIECES)
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            started, fastest = time.monotonic(), float("inf")
            for _ in range(PIECES):
                before = time.monotonic()
                file.write(content)
                file.flush()
                fastest = min(fastest, time.monotonic() - before)
            os.fsync(file.fileno())
            written = time.monotonic() - started
            file.seek(0)
            started = time.monotonic()
            while file.read(len(content)):
                pass
            read = time.monotonic() - started
    except OSError:
        return 200e6, 1e9, 1e9
    return tuple(FILE_NBYTES / max(seconds, 1e-6) for seconds in (written, read, PIECES * fastest))  # type: ignore[return-value]


def _kernel() -> tuple[float, float]:
    """Seconds of grouping some rows by owner, and how many others want a processor meanwhile.

    The seconds are processor time, the fastest of many rounds. Others count by the load average of the last minute, by
    who runs now, and by the share of a processor that the kernel got; the lowest is taken: what has ended does not
    matter, nor what runs for a moment, nor what has to wait for us.
    """
    owners = (np.arange(KERNEL_ROWS) * 2654435761 % 251).astype(np.uint8)
    starts = group_starts(np.bincount(owners, minlength=256))[:-1]
    positions = np.empty(KERNEL_ROWS, np.int64)
    group_positions(owners[:1], starts.copy(), positions[:1])  # compiled, or loaded
    first, sampled, fastest, used = time.monotonic(), 0.0, float("inf"), time.thread_time()
    running = []
    while (now := time.monotonic()) - first < KERNEL_SECONDS:
        cursors, started = starts.copy(), time.thread_time()
        group_positions(owners, cursors, positions)
        fastest = min(fastest, time.thread_time() - started)
        if now - sampled > SECONDS_BETWEEN_SAMPLES:
            running.append(_running())
            sampled = now
    share = (time.thread_time() - used) / (time.monotonic() - first)
    processors = len(os.sched_getaffinity(0))
    # who leaves one of several processors to us is not seen by the share
    waited_for = max(processors / max(share, 0.01) - 1, processors - 1)
    return fastest, min(os.getloadavg()[0], sum(running) / len(running), waited_for)


def _running() -> int:
    """Threads that want a processor, this one aside; a great number where the system does not tell."""
    try:
        lines = _STAT.read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith("procs_running")).split()[1]) - 1
    except (OSError, StopIteration, ValueError):
        return 1 << 20
