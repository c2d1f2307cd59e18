"""Checksums of files: XXH3 with 128 bits, as by `xxhsum -H2`.

Reads files in pieces, to bound memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import open_for_reading

if TYPE_CHECKING:
    from daskgraphpart.source import FilePath

ALGORITHM = "xxh3-128"
PIECE_NBYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """A file's size in bytes and checksum, 32 hexadecimal digits; if it was sent to a store, its version there."""

    nbytes: int
    digest: str
    version: str = ""


def hash_file(path: FilePath, _: None = None) -> FileChecksum:
    """Return a file's size and checksum; the task of passes that hash files."""
    import xxhash

    state, done = xxhash.xxh3_128(), 0
    for content in read_pieces(path):
        state.update(content)
        done += len(content)
    return FileChecksum(done, state.hexdigest())


def read_pieces(path: FilePath) -> Iterator[bytes]:
    """Read a file from front to back."""
    with attach_path_to_error(path), open_for_reading(path) as file:
        while content := file.read(PIECE_NBYTES):
            yield content


class HashingWriter:
    """Writes to a file, and hashes what it writes; `version` is what a store tells of an output's file in the end."""

    def __init__(self, file: Any) -> None:
        import xxhash

        self._file, self._state, self._nbytes, self.version = file, xxhash.xxh3_128(), 0, ""

    def write(self, content: Any) -> None:
        """Write some bytes."""
        self._file.write(content)
        self._state.update(content)
        self._nbytes += memoryview(content).nbytes

    @property
    def checksum(self) -> FileChecksum:
        """Size and checksum of what was written."""
        return FileChecksum(self._nbytes, self._state.hexdigest(), self.version)


def hash_bytes(content: bytes) -> FileChecksum:
    """Size and checksum of content."""
    import xxhash

    return FileChecksum(len(content), xxhash.xxh3_128(content).hexdigest())
