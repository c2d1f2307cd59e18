"""What is to be run: passes, each one task over many units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

UnitT = TypeVar("UnitT")
ConfigT = TypeVar("ConfigT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Pass(Generic[UnitT, ConfigT, ResultT]):
    """One sweep over the data: independent tasks, idempotent unless `is_repeatable` says otherwise.

    Parameters
    ----------
    name : str
        Name in progress bars, logs and the dask dashboard; the name of the module as well.
    task : callable
        Module-level, picklable function of a unit and the config. It takes paths and numbers and returns counts.
    units : sequence
        What the task is called with.
    config : object
        What all calls share: paths, numbers, dtypes.
    unit_nbytes : sequence of int
        Bytes each unit moves, for progress.
    result_types : tuple of type
        Dataclasses that results are made of, for the journal; plain values, tuples and arrays need none.
    is_repeatable : bool
        Whether a task may run again after it was killed half way. One that changes in place what it reads may not: it
        belongs inside a `Runner.step`, and no scheduler may give it to a second worker.
    """

    name: str
    task: Callable[[UnitT, ConfigT], ResultT]
    units: Sequence[UnitT]
    config: ConfigT
    unit_nbytes: Sequence[int]
    result_types: tuple[type, ...] = ()
    is_repeatable: bool = True

    def __post_init__(self) -> None:
        assert len(self.units) == len(self.unit_nbytes), f"{self.name}: one size per unit"
