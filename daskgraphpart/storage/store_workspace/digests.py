"""Sizes and digests of objects, for the journal: what a killed run has left is compared before it is built on.

A digest is what S3 lists as the ETag of an object that it keeps as it is: the MD5 of its bytes or, of one sent in
parts, which may be one, of their MD5s. Only objects whose store lists something else are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5
from typing import TYPE_CHECKING, BinaryIO

from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.object_store import OBJECTS, open_store
from daskgraphpart.storage.upload import SEND_NBYTES

if TYPE_CHECKING:
    from upath import UPath


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
