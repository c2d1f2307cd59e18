"""Gather what one task writes at offsets of files into a single object, and know objects by their digests.

The journal has sizes and digests: what a killed run has left is compared before it is built on. A digest is what S3
lists as the ETag of an object that it keeps as it is: the MD5 of its bytes or, of one sent in parts, which may be one,
of their MD5s. Only objects whose store lists something else are read.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import md5
from typing import TYPE_CHECKING, BinaryIO

from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.object_store import OBJECTS, open_store
from daskgraphpart.storage.upload import SEND_NBYTES

if TYPE_CHECKING:
    from upath import UPath

    from daskgraphpart.storage.store import Writes

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


@dataclass(frozen=True, slots=True)
class Written:
    """An object as a task wrote it: its size, and the digest of its bytes."""

    nbytes: int
    digest: str

    def as_one_part(self) -> Written:
        """Return the same of an object that was sent as an upload of one part, as those of outputs are."""
        if "-" in self.digest:
            return self
        return replace(self, digest=f"{md5(bytes.fromhex(self.digest), usedforsecurity=False).hexdigest()}-1")

    def __str__(self) -> str:
        return f"{self.nbytes:,} bytes, MD5 {self.digest}"


def in_parts(contents: Iterable[bytes]) -> Iterator[bytes]:
    """Cut contents into the parts in which they are sent."""
    part = bytearray()
    for content in contents:
        part += content
        while len(part) >= SEND_NBYTES:
            yield bytes(part[:SEND_NBYTES])
            del part[:SEND_NBYTES]
    if part:
        yield bytes(part)


class Digest:
    """Size and digest of parts, one after another."""

    def __init__(self) -> None:
        self._nbytes, self._parts = 0, list[bytes]()

    def add(self, part: bytes) -> bytes:
        """Add a part, and return it."""
        self._nbytes += len(part)
        self._parts.append(md5(part, usedforsecurity=False).digest())
        return part

    def written(self) -> Written:
        """Return them."""
        if len(self._parts) == 1:
            return Written(self._nbytes, self._parts[0].hex())
        of_parts = md5(b"".join(self._parts), usedforsecurity=False).hexdigest()
        return Written(self._nbytes, f"{of_parts}-{len(self._parts)}" if self._parts else of_parts)


def digest_file(file: BinaryIO) -> Written:
    """Read a file, and return its size and digest."""
    digest = Digest()
    while part := file.read(SEND_NBYTES):
        digest.add(part)
    return digest.written()


def check_written(path: UPath, expected: Written) -> None:
    """Read an object; `ResumeError` if it is not what a killed run wrote."""
    with OBJECTS.open(path) as file:
        there = digest_file(file)
    if there != expected:
        what, hint = "an unfinished run wrote this file, and it has changed since", "add --restart to start over"
        raise ResumeError(what, file=path, expected=str(expected), found=str(there), hint=hint)


def not_as_listed(directories: Sequence[UPath], written: Mapping[UPath, Written]) -> list[tuple[UPath, Written]]:
    """Return objects that a store lists below these directories otherwise than they were written."""
    listed: dict[str, Written] = {}
    for directory in directories:
        with open_store(directory) as fs:
            for name, info in fs.find(directory.path, detail=True).items():
                listed[name] = Written(info["size"], str(info.get("ETag")).strip('"'))

    def is_as_listed(path: UPath, expected: Written) -> bool:
        return listed.get(path.path, expected) in (expected, expected.as_one_part())

    return [(path, expected) for path, expected in written.items() if not is_as_listed(path, expected)]
