"""What is to be run: passes, each one task over many units."""

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
    unit_hosts : sequence of str, optional
        Machine on which each unit has to run, by name or address; for tasks that use its own disk. Only a cluster of
        distributed can do that, and `Runner.check_hosts` has to come before.
    """

    name: str
    task: Callable[[UnitT, ConfigT], ResultT]
    units: Sequence[UnitT]
    config: ConfigT
    unit_nbytes: Sequence[int]
    result_types: tuple[type, ...] = ()
    is_repeatable: bool = True
    unit_hosts: Sequence[str] | None = None

    def __post_init__(self) -> None:
        assert len(self.units) == len(self.unit_nbytes), f"{self.name}: one size per unit"
        if self.unit_hosts is not None:
            assert len(self.units) == len(self.unit_hosts), f"{self.name}: one machine per unit"
            assert self.is_repeatable, f"{self.name}: a machine may lose its worker"

    @property
    def unit_num_rows(self) -> list[int]:
        """Rows (nodes, edges, rows of features) of each unit, for progress; all 0 if one does not tell them."""
        counts = [_num_rows(unit) for unit in self.units]
        return [0] * len(counts) if min(counts, default=0) < 0 else counts


def _num_rows(unit: Any) -> int:
    """What a unit says of its rows, or what its block or range does; -1 if nothing.

    Blocks of text are ranges of bytes, whose `num_rows` is -1 until they are counted; so a unit that names a file has
    to have a `num_rows`, and only of others `start` and `stop` are rows.
    """
    for name in ("num_rows", "num_edges"):
        count = getattr(unit, name, None)
        if isinstance(count, int):
            return count
    for name in ("block", "rows"):
        inner = getattr(unit, name, None)
        if inner is not None:
            return _num_rows(inner)
    if hasattr(unit, "path") or hasattr(unit, "table"):
        return -1
    first, stop = getattr(unit, "start", getattr(unit, "first", None)), getattr(unit, "stop", None)
    return stop - first if isinstance(first, int) and isinstance(stop, int) else -1
