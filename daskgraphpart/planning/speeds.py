"""How fast passes are: bytes that one worker moves in a second, measured on the machine of reference.

Bytes as progress counts them, over processor time, on graphs of ten million edges (`benchmarks/plan.py`); three
quarters of that, since workers wait for one another and share caches. A plan divides by how much slower the machine at
hand is, by how much it is shared, and by the workers that have something to do; the disk sets a limit of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.planning.calibration import Calibration
    from daskgraphpart.planning.rehearsal import Note

DEFAULT = 300e6
BYTES_PER_SECOND = {
    "assign-random": 300e6,
    "bucket-edges": 450e6,
    "build-graph": 500e6,
    "cluster-nodes": 390e6,
    "compress-graph": 400e6,
    "contract": 420e6,
    "count-owners": 100e6,
    "deal-out": 70e6,
    "export-graph": 900e6,
    "gather-rows": 500e6,
    "hash-files": 8000e6,
    "keep-ids": 200e6,
    "mark-halo": 700e6,
    "measure-cut": 800e6,
    "merge-arcs": 500e6,
    "merge-ends": 450e6,
    "number-clusters": 80e6,
    "place-rows": 2000e6,
    "refine-cut": 850e6,
    "relabel-nodes": 600e6,
    "resolve-ends": 250e6,
    "restore-balance": 850e6,
    "scan-edges": 700e6,
    "split-edges": 1200e6,
    "split-ends": 450e6,
    "split-nids": 75e6,
    "stage-rows": 500e6,
    "weigh-nodes": 800e6,
    "weigh-parts": 600e6,
    "write-nodes": 1200e6,
}
STREAMING = 500e6
START_SECONDS = 0.4
"""Of a job: libraries and compiled kernels are loaded by their first users."""
UNIT_SECONDS = 0.0005
"""Of a task beside its work."""
CACHED_SHARE = 0.25
"""Of the free memory: what is written fits into the page cache up to there."""


def seconds_of(note: Note, workers: int, speed: Calibration, written: int) -> float:
    """Estimate the wall time of a pass.

    Parameters
    ----------
    note : Note
        The pass.
    workers : int
        Tasks that run at one time.
    speed : Calibration
        The machine.
    written : int
        Bytes that the whole job writes, which decide whether the page cache takes them.
    """
    is_stream = note.name.startswith("stream ")
    rate = STREAMING if is_stream else BYTES_PER_SECOND.get(note.name, DEFAULT)
    at_once = 1 if is_stream else max(1, min(workers, note.num_units))
    moving = (note.moved / rate + note.num_units * UNIT_SECONDS) / at_once
    work = (moving if note.seconds is None else note.seconds) * speed.slowness * speed.crowding(at_once)
    is_cached = written < CACHED_SHARE * psutil.virtual_memory().available
    write_rate = speed.cached_rate if is_cached else speed.write_rate
    return max(work, note.bytes_written / write_rate + note.bytes_read / max(speed.read_rate, write_rate))


def total_seconds(of_passes: Sequence[float], speed: Calibration) -> float:
    """Wall time of a job, its start included."""
    return START_SECONDS * speed.slowness * speed.crowding(1) + sum(of_passes)
