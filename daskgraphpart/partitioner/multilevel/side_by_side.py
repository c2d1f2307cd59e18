"""Make calls in turn, or by the threads of a pool: a `Map`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Map = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
"""Calls a function with each item, perhaps side by side; returns the results in the items' order."""


def in_turn(call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Make calls one after the other."""
    return [call(item) for item in items]


def by_threads(pool: ThreadPoolExecutor, threads: int) -> Map:
    """Make calls in so many threads of a pool, each of which takes the next item when it has done one."""

    def each(call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        items = list(items)
        results: list[Any] = [None] * len(items)
        numbers = iter(range(len(items)))

        def take() -> None:
            for number in numbers:
                results[number] = call(items[number])

        for future in [pool.submit(take) for _ in range(min(threads, len(items)))]:
            future.result()
        return results

    return each
