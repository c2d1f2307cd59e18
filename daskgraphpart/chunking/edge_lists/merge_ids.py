"""Pass `merge-ids`: the keys of a bucket are sorted, each once, and every run learns the ranks of its own.

A bucket is a range of keys, so the new ID of a key is its rank in its bucket plus the keys of the buckets before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import KeyFile, Keys, lower_bound, merge_keys, write_keys
from daskgraphpart.chunking.edge_lists.staged import bucket_path, ids_region
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Bucket:
    """A range of keys of one node type: slices ``[start, stop)`` of its runs."""

    path: str
    slices: tuple[tuple[KeyFile, int, int], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of its keys, where keys of a run are about equally long."""
        return sum(run.nbytes * (stop - start) // max(1, run.num_keys) for run, start, stop in self.slices)


@dataclass(frozen=True, slots=True, eq=False)
class RunIds:
    """New IDs of the keys of a run.

    Parameters
    ----------
    ranks : Region
        Rank of each key in its bucket, int64.
    bounds : int64 array (buckets + 1,)
        Where each bucket begins in the run.
    firsts : int64 array (buckets,)
        New ID of the first key of each bucket.
    """

    ranks: Region
    bounds: np.ndarray
    firsts: np.ndarray

    def read(self) -> np.ndarray:
        """New ID of every key, int64."""
        ids: np.ndarray = self.ranks.read() + np.repeat(self.firsts, np.diff(self.bounds))
        return ids


@dataclass(frozen=True, slots=True, eq=False)
class IdMap:
    """Keys of a node type in the order of their new IDs, and the new IDs of every run.

    Parameters
    ----------
    buckets : tuple of KeyFile
        Sorted keys, one bucket after the other.
    firsts : int64 array (buckets + 1,)
        New ID of the first key of each bucket, then the number of nodes.
    runs : mapping of str to RunIds
        By path of the run.
    """

    buckets: tuple[KeyFile, ...]
    firsts: np.ndarray
    runs: Mapping[str, RunIds]

    @property
    def num_nodes(self) -> int:
        """Number of different keys."""
        return int(self.firsts[-1])

    def key(self, new_id: int) -> Keys:
        """Key of a node, as the only one."""
        bucket = int(np.searchsorted(self.firsts, new_id, side="right")) - 1
        position = new_id - int(self.firsts[bucket])
        return self.buckets[bucket].read(position, position + 1)


def merge_runs(
    runs: Mapping[str, Sequence[KeyFile]],
    bounds: Mapping[str, np.ndarray],
    directory: str,
    batch_bytes: int,
    runner: Runner,
) -> dict[str, IdMap]:
    """Run the pass.

    Parameters
    ----------
    runs : mapping of str to sequence of KeyFile
        By node type.
    bounds : mapping of str to int64 array (runs, buckets + 1)
        As `cut_runs` finds them.
    directory : str
        Of the buckets.
    batch_bytes : int
        Bytes of keys that are read before those that repeat are dropped.
    runner : Runner
        What does the work.

    Returns
    -------
    dict of str to IdMap
        By node type.
    """
    units = [
        Bucket(bucket_path(directory, number, bucket), _slices(runs[ntype], bounds[ntype], bucket))
        for number, ntype in enumerate(runs)
        for bucket in range(bounds[ntype].shape[1] - 1)
    ]
    found = iter(runner.run(Pass("merge-ids", merge_ids, units, batch_bytes, [unit.nbytes for unit in units])))
    maps = {}
    for ntype, of_type in runs.items():
        buckets = tuple(next(found) for _ in range(bounds[ntype].shape[1] - 1))
        firsts = group_starts(np.array([bucket.num_keys for bucket in buckets], np.int64))
        ids = {
            run.path: RunIds(ids_region(run), row, firsts[:-1]) for run, row in zip(of_type, bounds[ntype], strict=True)
        }
        maps[ntype] = IdMap(buckets, firsts, ids)
    return maps


def merge_ids(unit: Bucket, batch_bytes: int) -> KeyFile:
    """Merge one bucket."""
    batches: list[Keys] = []
    pending = 0
    for run, start, stop in unit.slices:
        batches.append(run.read(start, stop))
        pending += run.nbytes * (stop - start) // max(1, run.num_keys)
        if pending > batch_bytes:
            batches, pending = [merge_keys(batches)], 0
    merged = merge_keys(batches) if batches else np.empty(0, np.int64)
    del batches
    for run, start, stop in unit.slices:
        ids_region(run).write(lower_bound(merged, run.read(start, stop)), start)
    return write_keys(unit.path, merged)


def _slices(runs: Sequence[KeyFile], bounds: np.ndarray, bucket: int) -> tuple[tuple[KeyFile, int, int], ...]:
    starts, stops = bounds[:, bucket], bounds[:, bucket + 1]
    return tuple((runs[i], int(starts[i]), int(stops[i])) for i in np.flatnonzero(stops > starts).tolist())
