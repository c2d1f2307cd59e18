"""Describe passes, each one task over many units, and make dask graphs of them, with readable keys.

A mistake in the input is a value in these graphs, so that it is not tried again or logged.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import dask

from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from dask.delayed import Delayed

Key: TypeAlias = tuple[str | int, ...]
Graph: TypeAlias = dict[Any, Any]
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


class Call:
    """A function bound to its last arguments, opaque to dask, which would search those of a partial for collections."""

    __slots__ = ("arguments", "task")

    def __init__(self, task: Callable[..., Any], *arguments: Any) -> None:
        self.task, self.arguments = task, arguments

    def __call__(self, *partitions: Any) -> Any:
        """Return what the function returns, or the error of ours that it or the task of a partition has raised."""
        for value in partitions:
            if isinstance(value, GraphPartError):
                return value
        try:
            return self.task(*partitions, *self.arguments)
        except GraphPartError as fault:
            return fault


def delay(key: Key, call: Callable[..., Any], partitions: Sequence[Delayed] = ()) -> Delayed:
    """Make the task of that key, which calls with the values of partitions."""
    return dask.delayed(call, traverse=False)(*partitions, dask_key_name=key)


def build_graph(pass_: Pass[Any, Any, Any], results: Container[int], token: str) -> tuple[Graph, list[Key]]:
    """Make the dask graph of the units of a pass that have no results, and of their partitions; and the units' keys.

    Keys are like ``("bucket-edges-1a2b3c4d", "author:writes:paper", 17)``. The graph is one dict: to merge the
    graphs of thousands of `Delayed`s takes dask far longer than to run them.
    """
    numbers: dict[tuple[str, ...], Iterator[int]] = defaultdict(count)  # within each type
    keys: list[Key] = []
    layers: Graph = {}
    for i, unit in enumerate(pass_.units):
        of_type = () if pass_.unit_types is None else (pass_.unit_types[i],)
        key = (f"{pass_.name}-{token}", *of_type, next(numbers[of_type]))
        if i not in results:
            partition = None if pass_.partitions is None else pass_.partitions[i]
            none = () if partition is not None or pass_.partitions is None else (None,)
            call = Call(pass_.task, *none, unit, pass_.config)
            layers.update(delay(key, call, () if partition is None else (partition,)).dask.layers)
            keys.append(key)
    graph: Graph = {}
    for layer in layers.values():
        graph.update(layer)
    return graph, keys
