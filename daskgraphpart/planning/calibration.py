"""How fast this machine is now: a small file is written and read, a kernel runs over a small array. Kept nowhere."""

from __future__ import annotations

import math
import os
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.owner_sort import group_positions, group_starts

if TYPE_CHECKING:
    from pathlib import Path

FILE_NBYTES, PIECES = 32 << 20, 8
KERNEL_ROWS = 1 << 20
KERNEL_SECONDS = 0.3
REFERENCE_KERNEL = 0.0007
"""Seconds of the kernel on the machine where the speeds of passes were measured."""
REFERENCE_LOAD = 4.5
"""Load average of that machine then, for each of its processors: it was shared."""


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
        How many times longer work takes than on the machine of reference: by a kernel, and by the load average.
    """

    write_rate: float
    read_rate: float
    cached_rate: float
    slowness: float


def calibrate(directory: Path) -> Calibration:
    """Measure for about a second.

    Parameters
    ----------
    directory : Path
        Where the small file is written, which is removed again: the nearest directory above that exists.
    """
    while not directory.is_dir():
        directory = directory.parent
    return Calibration(*_disk(directory), _kernel() / REFERENCE_KERNEL * _crowding())


def _crowding() -> float:
    """How much longer work takes because others are at work.

    The square root, because a load of the last minute is not that of the whole job.
    """
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return math.sqrt((1 + load) / (1 + REFERENCE_LOAD))


def _disk(directory: Path) -> tuple[float, float, float]:
    """Rates of writing, reading, and writing to the cache; those of a usual disk where nothing may be written."""
    content = np.random.default_rng(0).bytes(FILE_NBYTES // PIECES)
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            started = time.monotonic()
            for _ in range(PIECES):
                file.write(content)
            file.flush()
            cached = time.monotonic() - started
            os.fsync(file.fileno())
            written = time.monotonic() - started
            file.seek(0)
            started = time.monotonic()
            while file.read(len(content)):
                pass
            read = time.monotonic() - started
    except OSError:
        return 200e6, 1e9, 1e9
    return tuple(FILE_NBYTES / max(seconds, 1e-6) for seconds in (written, read, cached))  # type: ignore[return-value]


def _kernel() -> float:
    """Seconds of grouping some rows by owner: processor time, the fastest of many rounds.

    Who else is at work for half a second says little of the time of a whole job.
    """
    owners = (np.arange(KERNEL_ROWS) * 2654435761 % 251).astype(np.uint8)
    starts = group_starts(np.bincount(owners, minlength=256))[:-1]
    positions = np.empty(KERNEL_ROWS, np.int64)
    group_positions(owners[:1], starts.copy(), positions[:1])  # compiled, or loaded
    first, fastest = time.monotonic(), float("inf")
    while time.monotonic() - first < KERNEL_SECONDS:
        cursors, started = starts.copy(), time.thread_time()
        group_positions(owners, cursors, positions)
        fastest = min(fastest, time.thread_time() - started)
    return fastest
