"""Describe what is to be run: passes, each one task over many units."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UnitT = TypeVar("UnitT")
ConfigT = TypeVar("ConfigT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Pass(Generic[UnitT, ConfigT, ResultT]):
    """One sweep over the data: independent tasks that may run again, after they were killed half way as well."""

    name: str  # name in progress bars, logs and the dask dashboard; the name of the module as well
    # module-level, picklable function of a unit and the config, or of a partition, a unit and the config. It returns
    # counts
    task: Callable[..., ResultT]
    units: Sequence[UnitT]  # what the task is called with
    config: ConfigT  # what all calls share: paths, numbers, dtypes
    unit_nbytes: Sequence[int]  # bytes each unit moves, for progress
    # dataclasses that results are made of, for the journal; plain values, tuples and arrays need none
    result_types: tuple[type, ...] = ()
    # machine on which each unit has to run, by name or address; only on a cluster, after `ClusterScheduler.check_hosts`
    unit_hosts: Sequence[str] | None = None
    # partition of a lazy collection for each unit; the task gets its value, computed in the same graph, or None
    partitions: Sequence[Any] | None = None
    unit_types: Sequence[str] | None = None  # node type or canonical edge type of each unit, for the keys of its tasks

    def __post_init__(self) -> None:
        for per_unit in (self.unit_nbytes, self.unit_hosts, self.partitions, self.unit_types):
            assert per_unit is None or len(per_unit) == len(self.units), f"{self.name}: one value per unit"

    def keys(self, token: str) -> list[tuple[str | int, ...]]:
        """Keys of the tasks: ``("bucket-edges-1a2b3c4d", "author:writes:paper", 17)``, numbered within their type."""
        prefix, seen = f"{self.name}-{token}", Counter[str]()
        if self.unit_types is None:
            return [(prefix, i) for i in range(len(self.units))]
        keys: list[tuple[str | int, ...]] = []
        for of_type in self.unit_types:
            keys.append((prefix, of_type, seen[of_type]))
            seen[of_type] += 1
        return keys

    @property
    def unit_num_rows(self) -> list[int]:
        """Rows (nodes, edges, rows of features) of each unit, for progress; all 0 if one does not tell them."""
        counts = [_num_rows(unit) for unit in self.units]
        return [0] * len(counts) if min(counts, default=0) < 0 else counts


def _num_rows(unit: Any) -> int:
    """Rows that a unit says it has, or its block, or its range; -1 if it does not."""
    for name in ("num_rows", "num_edges"):
        count = getattr(unit, name, None)
        if isinstance(count, int):
            return count
    for name in ("block", "rows"):
        inner = getattr(unit, name, None)
        if inner is not None:
            return _num_rows(inner)
    first, stop = getattr(unit, "start", getattr(unit, "first", None)), getattr(unit, "stop", None)
    is_file = hasattr(unit, "path") or hasattr(unit, "table")  # its range may be of bytes
    return stop - first if isinstance(first, int) and isinstance(stop, int) and not is_file else -1
