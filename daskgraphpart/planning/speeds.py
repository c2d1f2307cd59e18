"""How fast passes are: bytes that one worker moves in a second, measured on the machine of reference.

Bytes as progress counts them, on graphs of ten million edges (`benchmarks/plan.py`). A plan divides by how much slower
the machine at hand is, and by the workers that have something to do; the disk sets a limit of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.planning.calibration import Calibration
    from daskgraphpart.planning.rehearsal import Note

DEFAULT = 200e6
BYTES_PER_SECOND = {
    "assign-random": 200e6,
    "bucket-edges": 180e6,
    "build-graph": 180e6,
    "cluster-nodes": 150e6,
    "compress-graph": 200e6,
    "contract": 75e6,
    "deal-out": 120e6,
    "export-graph": 220e6,
    "gather-rows": 250e6,
    "hash-files": 4000e6,
    "keep-ids": 100e6,
    "mark-halo": 300e6,
    "measure-cut": 350e6,
    "merge-arcs": 75e6,
    "merge-ends": 180e6,
    "number-clusters": 30e6,
    "place-rows": 240e6,
    "refine-cut": 280e6,
    "relabel-nodes": 300e6,
    "resolve-ends": 100e6,
    "restore-balance": 270e6,
    "scan-edges": 130e6,
    "split-edges": 220e6,
    "split-ends": 180e6,
    "split-nids": 32e6,
    "stage-rows": 150e6,
    "write-nodes": 500e6,
}
STREAMING = 220e6
START_SECONDS = 1.0
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
