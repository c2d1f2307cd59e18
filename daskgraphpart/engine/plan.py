"""Describe what is to be run: passes, each one task over many units."""

from __future__ import annotations

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
    unit_hosts: Sequence[str] | None = None  # machine on which each has to run, by name or address; on a cluster only
    # partition of a lazy collection for each unit; the task gets its value, computed in the same graph, or None
    partitions: Sequence[Any] | None = None
    unit_types: Sequence[str] | None = None  # node type or canonical edge type of each unit, for the keys of its tasks
    unit_num_rows: Sequence[int] | None = None  # nodes, edges or rows of features of each unit, for progress

    def __post_init__(self) -> None:
        for per_unit in (self.unit_nbytes, self.unit_hosts, self.partitions, self.unit_types, self.unit_num_rows):
            assert per_unit is None or len(per_unit) == len(self.units), f"{self.name}: one value per unit"
