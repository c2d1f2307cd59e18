"""Gather what one task writes at offsets of files into a single object."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from daskgraphpart.storage.store import Writes
    from daskgraphpart.storage.store_workspace.digests import Written

HELD_NBYTES = 8 << 20
"""Bytes of writes in memory; more go to the worker's own disk."""

_running = threading.local()


class Spool:
    """The writes of one task."""

    def __init__(self, directory: str) -> None:
        self._file = tempfile.SpooledTemporaryFile(HELD_NBYTES, dir=directory)  # noqa: SIM115  # closed by `spooling`
        self._directory = directory
        self._places: dict[str, list[list[int]]] = {}
        self.nbytes = 0
        self.others: list[Writes] = []  # whole files, and what passes within a step wrote

    def write(self, name: str, offset: int, content: memoryview) -> None:
        """Write to a file at an offset."""
        if len(content):
            with attach_path_to_error(self._directory):
                self._file.write(content)
            self._places.setdefault(name, []).append([self.nbytes, offset, len(content)])
            self.nbytes += len(content)

    def contents(self) -> Iterator[bytes]:
        """Read all writes by file and offset, as `writes` has them."""
        for _, places in sorted(self._places.items()):
            for position, _, nbytes in sorted(places, key=_by_offset):
                self._file.seek(position)
                yield self._file.read(nbytes)

    def writes(self, name: str, written: Written) -> Writes:
        """Describe `contents` in an object of that name; neighbours are one stretch."""
        by_file: dict[str, list[list[int]]] = {}
        position = 0
        for file, places in sorted(self._places.items()):
            stretches = by_file[file] = list[list[int]]()
            for _, offset, nbytes in sorted(places, key=_by_offset):
                if stretches and stretches[-1][1] + stretches[-1][2] == offset:
                    stretches[-1][2] += nbytes
                else:
                    stretches.append([position, offset, nbytes])
                position += nbytes
        return describe(name, by_file, written)

    def close(self) -> None:
        """Drop everything."""
        self._file.close()


def describe(name: str, by_file: dict[str, list[list[int]]], written: Written) -> Writes:
    """Describe an object: stretches of files by name, or none if it is a whole file; and what its bytes are."""
    return [name, by_file, written.nbytes, written.digest]


def _by_offset(place: list[int]) -> tuple[int, int]:
    return place[1], place[0]


@contextmanager
def spooling(directory: str) -> Iterator[Spool]:
    """Gather the writes of a task in this thread."""
    spool, of_step = Spool(directory), running_spool()
    _running.spool = spool
    try:
        yield spool
    finally:
        _running.spool = of_step
        spool.close()


def running_spool() -> Spool | None:
    """Return the spool of the task or step that this thread runs, if any."""
    return getattr(_running, "spool", None)
