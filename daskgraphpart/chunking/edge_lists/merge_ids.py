"""Pass `merge-ids`: the keys of a bucket are sorted, each once, and every run learns the ranks of its own.

A bucket is a range of keys, so the new ID of a key is its rank in its bucket plus the keys of the buckets before.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import KeyFile, Keys, lower_bound, merge_keys, write_keys
from daskgraphpart.chunking.edge_lists.staged import bucket_path, ids_region
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_starts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Bucket:
    """A range of keys of one node type, and the file that they go to."""

    ntype: str
    index: int
    path: str


@dataclass(frozen=True, slots=True)
class MergeConfig:
    """What the units share.

    Parameters
    ----------
    runs : mapping of str to sequence of KeyFile
        By node type.
    bounds : mapping of str to Region
        As `cut_runs` makes them.
    batch_bytes : int
        Bytes of keys that are read before those that repeat are dropped.
    """

    runs: Mapping[str, Sequence[KeyFile]]
    bounds: Mapping[str, Region]
    batch_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class RunIds:
    """New IDs of the keys of a run.

    Parameters
    ----------
    ranks : Region
        Rank of each key in its bucket, int64.
    bounds : Region
        Where each bucket begins in each run of the node type.
    number : int
        Number of the run among those.
    firsts : int64 array (buckets,)
        New ID of the first key of each bucket.
    """

    ranks: Region
    bounds: Region
    number: int
    firsts: np.ndarray

    def read(self) -> np.ndarray:
        """New ID of every key, int64."""
        bounds = self.bounds.read(self.number, self.number + 1)[0]
        ids: np.ndarray = self.ranks.read() + np.repeat(self.firsts, np.diff(bounds))
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


def merge_runs(config: MergeConfig, directory: str, runner: Runner) -> dict[str, IdMap]:
    """Run the pass; buckets go into files in `directory`. The maps by node type."""
    num_buckets = {ntype: bounds.shape[1] - 1 for ntype, bounds in config.bounds.items()}
    units = [
        Bucket(ntype, bucket, bucket_path(directory, number, bucket))
        for number, ntype in enumerate(config.runs)
        for bucket in range(num_buckets[ntype])
    ]
    nbytes = {ntype: sum(run.nbytes for run in of_type) // num_buckets[ntype] for ntype, of_type in config.runs.items()}
    found = iter(runner.run(Pass("merge-ids", merge_ids, units, config, [nbytes[unit.ntype] for unit in units])))
    maps = {}
    for ntype, of_type in config.runs.items():
        buckets = tuple(itertools.islice(found, num_buckets[ntype]))
        firsts = group_starts(np.array([bucket.num_keys for bucket in buckets], np.int64))
        ids = {
            run.path: RunIds(ids_region(run), config.bounds[ntype], number, firsts[:-1])
            for number, run in enumerate(of_type)
        }
        maps[ntype] = IdMap(buckets, firsts, ids)
    return maps


def merge_ids(unit: Bucket, config: MergeConfig) -> KeyFile:
    """Merge one bucket."""
    batches: list[Keys] = []
    pending = 0
    for run, start, stop in _slices(unit, config):
        batches.append(run.read(start, stop))
        pending += run.nbytes * (stop - start) // run.num_keys
        if pending > config.batch_bytes:
            batches, pending = [merge_keys(batches)], 0
    merged = merge_keys(batches) if batches else np.empty(0, np.int64)
    del batches
    for run, start, stop in _slices(unit, config):
        ids_region(run).write(lower_bound(merged, run.read(start, stop)), start)
    return write_keys(unit.path, merged)


def _slices(unit: Bucket, config: MergeConfig) -> Iterator[tuple[KeyFile, int, int]]:
    """Slices ``[start, stop)`` of the runs that hold keys of a bucket."""
    bounds = config.bounds[unit.ntype]
    width = bounds.shape[1]
    flat = replace(bounds, shape=(bounds.num_rows * width,))
    for number, run in enumerate(config.runs[unit.ntype]):
        first = number * width + unit.index
        start, stop = flat.read(first, first + 2).tolist()
        if start < stop:
            yield run, start, stop
