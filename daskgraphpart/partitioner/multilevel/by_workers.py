"""Let the workers of a cluster share calls: a `Map` for a program that each of them runs.

All run the same program and hold the same arrays. Where it shares calls, a round of tasks begins: each makes its share
of the calls, and writes the results to a file. Before the next round, every worker reads the files of all and goes on.
So a worker that is new runs the program from its beginning, reads what was found, and knows the same as the others.
"""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from daskgraphpart.engine.journal import from_json, to_json
from daskgraphpart.partitioner.adjacency.csr_blocks import CsrBlock
from daskgraphpart.partitioner.multilevel.side_by_side import Map, by_threads
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.region import Region, id_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PATIENCE_S = 600.0
"""Seconds without a task after which a program gives up its memory: its client may have been killed."""
ALIGNMENT = 8  # bytes
MARKS_AT_ONCE = 1 << 16
_programs: dict[tuple[str, int], SharedProgram] = {}
_finding = Lock()


class Asked(NamedTuple):
    """Calls that a program shares, with marks, and their bits when the round began."""

    call: Callable[[Any], Any]
    items: list[Any]
    marks: np.ndarray | None
    known: np.ndarray | None

    def new_marks(self) -> tuple[np.ndarray, ...]:
        """Return the places and values of bytes of eight marks that changed in this round."""
        if self.marks is None or self.known is None:
            return ()
        changed = np.packbits(self.marks) ^ self.known
        places = np.flatnonzero(changed)
        return places.astype(id_dtype(changed.size)), changed[places]


NOTHING = Asked(id, [], None, None)


class SharedProgram(Map):
    """The program as this process runs it, in a thread that waits between rounds; files begin with `path`."""

    is_shared = True

    def __init__(self, program: Callable[[Map], str], path: str, shares: int, threads: int) -> None:
        self.number, self.result = -1, ""
        self._path, self._shares = path, shares
        self._pool = ThreadPoolExecutor(threads)
        self._threads = by_threads(self._pool, threads)
        self._may_go, self._has_stopped, self._moving = Semaphore(0), Semaphore(0), Lock()
        self._is_over = False
        self._fault: BaseException | None = None
        self._asked = NOTHING
        Thread(target=self._run, args=(program,), daemon=True).start()

    @classmethod
    def find(cls, program: Callable[[Map], str], path: str, shares: int, threads: int, number: int) -> SharedProgram:
        """Find the program in this process, or begin it if there is none, or only one that is further."""
        with _finding:
            known = _programs.get((path, shares))
            if known is None or known.number > number or known._fault is not None:
                for key in [key for key, other in _programs.items() if other._is_over]:
                    del _programs[key]
                known = _programs[path, shares] = cls(program, path, shares, threads)
            return known

    def compute(self, share: int, number: int) -> str | None:
        """Make a share of the calls of a round, or return what the program returns if it ended before."""
        with self._moving:
            while self.number < number and not self._is_over:
                self._may_go.release()
                self._has_stopped.acquire()
            if self._fault is not None:
                raise self._fault
            if self._is_over:
                return self.result
            items = self._asked.items
            first, last = (len(items) * n // self._shares for n in (share, share + 1))
            results = self._threads(self._asked.call, items[first:last])
            _write(f"{self._path}{number}-{share}", (self._asked.new_marks(), *results))
            return None

    def __call__(self, call: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Make all calls in this process."""
        return self._threads(call, items)

    def share(self, call: Callable[[Any], Any], items: Iterable[Any], marks: np.ndarray | None = None) -> Iterator[Any]:
        """Wait until tasks have made the calls; their results are read while they are used."""
        self._asked = Asked(call, list(items), marks, None if marks is None else np.packbits(marks))
        self.number += 1
        self._has_stopped.release()
        self._wait()
        self._asked = NOTHING
        return self._results(self.number, marks)

    def alone(self, call: Callable[[Map], Any]) -> Any:
        """Make one call, on one worker, with the threads of its process."""
        (result,) = self.share(lambda _: call(self._threads), [None])
        return result

    def _run(self, program: Callable[[Map], str]) -> None:
        try:
            self._wait()
            self.result = program(self)
        except BaseException as fault:  # tasks raise it
            self._fault = fault
        self._is_over = True
        self._pool.shutdown(wait=False)
        self._has_stopped.release()

    def _wait(self) -> None:
        if not self._may_go.acquire(timeout=PATIENCE_S):
            raise TimeoutError("no task came")

    def _results(self, number: int, marks: np.ndarray | None) -> Iterator[Any]:
        for share in range(self._shares):
            new, *results = _read(f"{self._path}{number}-{share}")
            if marks is not None:
                _set_marks(marks, *new)
            yield from results


def _set_marks(marks: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    for first in range(0, places.size, MARKS_AT_ONCE):
        some = slice(first, first + MARKS_AT_ONCE)
        rows, bits = np.nonzero(np.unpackbits(values[some, None], axis=1))
        marks[places[some][rows].astype(np.int64) * 8 + bits] = True


def _write(path: str, results: tuple[Any, ...]) -> None:
    """Write results: the length of their form as JSON, the form, and the bytes of arrays."""
    arrays: list[np.ndarray] = []
    form = json.dumps(to_json(results, arrays)).encode()
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for content in (np.array([len(form)]), np.frombuffer(form, np.uint8), *arrays):
            file.write(np.ascontiguousarray(content).data)
            file.write(bytes(-content.nbytes % ALIGNMENT))


def _read(path: str) -> tuple[Any, ...]:
    content, done = Region(path, 0, np.dtype(np.uint8), (file_size(path),)).read(), 0

    def take(dtype: str, shape: list[int]) -> np.ndarray:
        nonlocal done
        begin, nbytes = done, np.dtype(dtype).itemsize * math.prod(shape)
        done += nbytes + -nbytes % ALIGNMENT
        return content[begin : begin + nbytes].view(dtype).reshape(shape)

    (length,) = take("<i8", [1]).tolist()
    results: tuple[Any, ...] = from_json(json.loads(take("|u1", [length]).tobytes()), (CsrBlock,), take)
    return results
