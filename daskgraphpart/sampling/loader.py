"""Batches in order, made ahead by threads: the same for the same seed, with any number of threads."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.sampling.sampler import stream_key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from daskgraphpart.sampling.seeds import Seeds
    from daskgraphpart.sampling.source import Source


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How to batch seeds, and how to make batches."""

    batch_size: int = 1
    shuffle: bool = False
    drop_last: bool = False
    num_workers: int = 0  # threads that make batches ahead; with 0, batches are made on demand
    prefetch_factor: int = 2  # batches ahead per thread
    seed: int = 0
    transform: Callable[[Any], Any] | None = None  # applied to each batch, in its thread

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("num_workers", 0), ("prefetch_factor", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise OptionError(
                    "not a whole number, or too small", place=name, expected=f"{least} or more", found=value
                )


class Loader:
    """Batches of a partitioned graph: an iterable, with each iteration another epoch.

    Epoch e has the same batches in every loader with the same seed and options. Set `epoch` to continue with another
    one.

    Attributes
    ----------
    epoch : int
        Number of the next epoch; random numbers depend on it.
    """

    def __init__(
        self,
        source: Source,
        seeds: Seeds,
        options: BatchOptions,
        make: Callable[[np.ndarray, np.ndarray, np.uint64], Any],
    ) -> None:
        self.epoch = 0
        self._source, self._seeds, self._options, self._make = source, seeds, options, make

    def __len__(self) -> int:
        """Batches per epoch."""
        full, rest = divmod(self._seeds.count, self._options.batch_size)
        return full + (rest > 0 and not self._options.drop_last)

    def __iter__(self) -> Iterator[Any]:
        """Begin the next epoch."""
        self._source.check_unchanged()
        epoch, self.epoch = self.epoch, self.epoch + 1
        return self._batches(stream_key_of(stream_key(self._options.seed, "sampling"), epoch))

    def _batches(self, key: np.uint64) -> Iterator[Any]:
        numbers, threads = range(len(self)), self._options.num_workers
        if not threads:
            for number in numbers:
                yield self._batch(number, key)
            return
        ahead: deque[Any] = deque()
        with ThreadPoolExecutor(threads, "daskgraphpart-loader") as pool:
            try:
                for number in numbers:
                    ahead.append(pool.submit(self._batch, number, key))
                    if len(ahead) > threads * self._options.prefetch_factor:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for batch in ahead:
                    batch.cancel()

    def _batch(self, number: int, key: np.uint64) -> Any:
        options = self._options
        numbers, ids = self._seeds.batch(number, options.batch_size, key if options.shuffle else None)
        made = self._make(numbers, ids, stream_key_of(key, number + 1))
        return made if options.transform is None else options.transform(made)

    def __repr__(self) -> str:
        return f"<Loader: {len(self):,} batches of {self._options.batch_size:,} of {self._seeds.count:,} seeds>"
