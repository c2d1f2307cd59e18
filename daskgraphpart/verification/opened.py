"""Partitions opened once for all tasks of a run in a process: the config of a thousand parts is long."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `verify`.

    Parameters
    ----------
    config_path : str
        Partition config.
    scratch : str
        Directory for temporary files, which no other run has.
    """

    config_path: str
    scratch: str


@lru_cache(maxsize=1)
def opened(run: Run) -> PartitionedGraph:
    """Return the partitions of a run."""
    return open_partitions(run.config_path)
