"""Checksums of files: XXH3 with 128 bits, the one of `xxhsum -H2`.

Files are read in pieces, so that the memory is that of one piece.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from daskgraphpart.remote.url import Url
from daskgraphpart.storage.atomic import naming

ALGORITHM = "xxh3-128"
PIECE_NBYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class FileChecksum:
    """Size in bytes and checksum, 32 hexadecimal digits, of a file."""

    nbytes: int
    digest: str


def hash_file(path: str, _: None = None) -> FileChecksum:
    """Read a file and return its size and checksum; the task of passes that hash files."""
    import xxhash

    if isinstance(path, Url):
        return _hash_remote(path)
    state, buffer, done = xxhash.xxh3_128(), memoryview(bytearray(PIECE_NBYTES)), 0
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with naming(path):
            while count := os.preadv(fd, [buffer], done):
                state.update(buffer[:count])
                done += count
    finally:
        os.close(fd)
    return FileChecksum(done, state.hexdigest())


def _hash_remote(url: Url) -> FileChecksum:
    import xxhash

    from daskgraphpart.remote.store import read_range, size_of

    state, size = xxhash.xxh3_128(), size_of(url)
    for start in range(0, size, PIECE_NBYTES):
        state.update(read_range(url, start, min(start + PIECE_NBYTES, size)))
    return FileChecksum(size, state.hexdigest())


def hash_bytes(content: bytes) -> FileChecksum:
    """Size and checksum of a file with this content."""
    import xxhash

    return FileChecksum(len(content), xxhash.xxh3_128(content).hexdigest())
