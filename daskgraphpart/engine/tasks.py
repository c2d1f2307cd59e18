"""Make dask tasks with readable keys; a mistake in the input is a value, so that it is not tried again or logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask

from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dask.delayed import Delayed


def delay(key: tuple[str | int, ...], call: Callable[..., Any], partitions: Sequence[Delayed] = ()) -> Delayed:
    """Make the task of that key, which calls with the values of partitions."""
    return dask.delayed(call, traverse=False)(*partitions, dask_key_name=key)


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
