"""Make dask graphs with readable keys; a mistake in the input is a value, so that it is not tried again or logged."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import dask

from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from dask.delayed import Delayed

    from daskgraphpart.engine.plan import Pass

Key: TypeAlias = tuple[str | int, ...]
Graph: TypeAlias = dict[Any, Any]


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
