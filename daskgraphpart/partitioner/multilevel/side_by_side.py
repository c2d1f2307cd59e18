"""Make calls in turn, or by the threads of a pool: a `Map`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np


class Map:
    """Calls a function with each item, perhaps side by side; this one, one after the other."""

    is_shared = False
    """Whether workers share calls."""
    number = 0
    """Of the latest shared call, if workers share calls."""

    def __call__(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return the results in the items' order; calls may change arrays of this process."""
        return [call(item) for item in items]

    def share(self, call: Callable[[Any], Any], items: Iterable[Any], marks: np.ndarray | None = None) -> Iterable[Any]:
        """Return the same of calls that change nothing but set `marks`, bool (nodes,), so that workers may share them.

        Results are arrays, numbers, words, None, blocks and tuples of these.
        """
        del marks
        return self(call, items)

    def alone(self, call: Callable[[Map], Any]) -> Any:
        """Make one call, on one worker, with a map that it shares with none."""
        return call(self)


in_turn = Map()


class ByThreads(Map):
    """Makes calls in so many threads of a pool, each of which takes the next item when it has done one."""

    def __init__(self, pool: ThreadPoolExecutor, threads: int) -> None:
        self._pool, self._threads = pool, threads

    def __call__(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return the results in the items' order."""
        items = list(items)
        results: list[Any] = [None] * len(items)
        numbers = iter(range(len(items)))

        def take() -> None:
            for number in numbers:
                results[number] = call(items[number])

        for future in [self._pool.submit(take) for _ in range(min(self._threads, len(items)))]:
            future.result()
        return results


def by_threads(pool: ThreadPoolExecutor, threads: int) -> Map:
    """Return a map by so many threads of a pool."""
    return ByThreads(pool, threads) if threads > 1 else in_turn
