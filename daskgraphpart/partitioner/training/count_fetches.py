"""Count which nodes of other parts a part's trainers fetch in sampled batches, and choose those fetched most.

A batch fetches each of its nodes once. Memory: `SLOT_NBYTES` per node counted at once, and 80 bytes per chosen one.
Nodes for which there is no room wait for another round, which samples the same batches again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.kernels.hashing import stream_key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daskgraphpart.partitioner.training.training import Budget

    BatchesOf: TypeAlias = Callable[[np.uint64], Iterator[tuple[np.ndarray, np.uint64]]]
    """Seeds and keys of batches, by a key: the same each time."""

SLOT_NBYTES = 128
"""Of a node while counts are merged: the ID, the count, as many new IDs, what sorts them, and both merged."""
FEWEST_MERGED = 1 << 14
"""New IDs that wait for a merge at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Batches:
    """Seeds of a part's trainer by batch: a function of number and key, and what to sample of them."""

    seeds_of: Callable[[int, np.uint64], np.ndarray]
    numbers: range
    epochs: int

    def __call__(self, key: np.uint64) -> Iterator[tuple[np.ndarray, np.uint64]]:
        """Seeds and keys of all batches, in order."""
        for epoch in range(self.epochs):
            of_epoch = stream_key_of(key, epoch)
            for number in self.numbers:
                yield self.seeds_of(number, of_epoch), stream_key_of(of_epoch, number + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Fetches:
    """What a part's batches fetch: nodes of other parts by seeds and key, types of such nodes, and the end of IDs."""

    foreign_of: Callable[[np.ndarray, np.uint64], np.ndarray]
    types_of: Callable[[np.ndarray], np.ndarray]
    stop: int


def most_fetched(
    fetches: Fetches, batches: BatchesOf, key: np.uint64, budget: Budget, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Homogeneous IDs of foreign nodes, most fetched first, and how often they were, int64 each.

    Equal ones are in the order of IDs. Holds `memory` bytes, and 80 for each that is chosen.
    """
    ids, counts = np.empty((2, 0), np.int64)
    first, num_chosen = 0, 0
    while first < fetches.stop:
        counter = FetchCounts(first, fetches.stop, max(1, memory // SLOT_NBYTES))
        for seeds, of_batch in batches(key):
            foreign = fetches.foreign_of(seeds, of_batch)
            counter.add(foreign[budget.weights[fetches.types_of(foreign)] > 0])
        counter.merge()
        ids, counts = np.append(ids, counter.ids), np.append(counts, counter.counts)
        order = np.lexsort((ids, -counts))
        weights = np.cumsum(budget.weights[fetches.types_of(ids[order])])
        num_chosen = int(np.searchsorted(weights, budget.total, side="right"))
        # the first that does not fit stays until the end: no lighter one may come in its place
        ids, counts, first = ids[order[: num_chosen + 1]], counts[order[: num_chosen + 1]], counter.stop
    return ids[:num_chosen], counts[:num_chosen]


class FetchCounts:
    """How often IDs in ``[first, stop)`` were added; of more than `room` of them the highest go, and `stop` falls."""

    def __init__(self, first: int, stop: int, room: int) -> None:
        self.first, self.stop, self.room = first, stop, room
        self.ids, self.counts = np.empty((2, 0), np.int64)
        self._waiting: list[np.ndarray] = []
        self._num_waiting = 0

    def add(self, ids: np.ndarray) -> None:
        """Count IDs."""
        self._waiting.append(ids[(ids >= self.first) & (ids < self.stop)])
        self._num_waiting += self._waiting[-1].size
        if self._num_waiting > min(self.room, max(self.ids.size, FEWEST_MERGED)):
            self.merge()

    def merge(self) -> None:
        """Count the IDs that wait."""
        waiting = np.concatenate([np.empty(0, np.int64), *self._waiting])
        self._waiting, self._num_waiting = [], 0
        new, times = np.unique(waiting, return_counts=True)
        del waiting
        places = np.searchsorted(self.ids, new)
        is_known = np.append(self.ids, -1)[places] == new
        self.counts[places[is_known]] += times[is_known]
        new, times, places = new[~is_known], times[~is_known], places[~is_known]
        ids, counts = np.insert(self.ids, places, new), np.insert(self.counts, places, times)
        if ids.size > self.room:
            self.stop = int(ids[self.room])
        self.ids, self.counts = ids[: self.room], counts[: self.room]
