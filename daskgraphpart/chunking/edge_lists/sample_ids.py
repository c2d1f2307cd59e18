"""Pass `sample-ids`: keys at even distances, in bytes, of all runs of a node type; they tell where buckets begin.

Buckets only bound memory: a new ID is the rank of a key among all, whatever the buckets are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import Keys, concatenate_keys, take_keys, unique_keys
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.engine.runner import Runner

SAMPLES_PER_BUCKET = 256
"""With so many a bucket is seldom more than a quarter larger than wanted."""


@dataclass(frozen=True, slots=True)
class SampleUnit:
    """A run and how many bytes the runs of its node type before it have."""

    ntype: str
    run: KeyFile
    bytes_before: int


def choose_bucket_starts(
    runs: Mapping[str, Sequence[KeyFile]], bucket_bytes: int, runner: Runner
) -> dict[str, Keys | None]:
    """Choose keys at which buckets begin.

    Parameters
    ----------
    runs : mapping of str to sequence of KeyFile
        By node type.
    bucket_bytes : int
        Bytes that the keys of a bucket should have in all runs together.
    runner : Runner
        Runs the pass.

    Returns
    -------
    dict of str to Keys or None
        For each node type the first key of every bucket but the first, ascending; None if there is but one.
    """
    large = {ntype: of_type for ntype, of_type in runs.items() if sum(run.nbytes for run in of_type) > bucket_bytes}
    units = []
    for ntype, of_type in large.items():
        before = np.cumsum([0, *(run.nbytes for run in of_type)])
        units += [SampleUnit(ntype, run, int(start)) for run, start in zip(of_type, before, strict=False)]
    stride = max(1, bucket_bytes // SAMPLES_PER_BUCKET)
    samples = runner.run(Pass("sample-ids", sample_ids, units, stride, [unit.run.nbytes for unit in units]))
    starts: dict[str, Keys | None] = dict.fromkeys(runs)
    for ntype in large:
        found = [keys for unit, keys in zip(units, samples, strict=True) if unit.ntype == ntype and len(keys)]
        starts[ntype] = _every(SAMPLES_PER_BUCKET, concatenate_keys(found)) if found else None
    return starts


def sample_ids(unit: SampleUnit, stride: int) -> Keys:
    """Keys of one run that hold the bytes whose number is a multiple of `stride`."""
    starts = unit.run.entry_starts() + unit.bytes_before
    first, last = -(-unit.bytes_before // stride), -(-int(starts[-1]) // stride)
    wanted = np.arange(first, last, dtype=np.int64) * stride
    keys = unit.run.read()
    return take_keys(keys, np.searchsorted(starts, wanted, side="right") - 1)


def _every(count: int, samples: Keys) -> Keys | None:
    """Keys with about so many samples between them."""
    keys, inverse = unique_keys(samples)
    ends = np.cumsum(np.bincount(inverse, minlength=len(keys)))
    marks = ends // count
    chosen = np.flatnonzero(np.diff(marks, prepend=0) > 0)
    return take_keys(keys, chosen) if chosen.size else None
