"""Copies of files that are checked while they are made: the bytes pass through memory once, piece by piece.

The system could copy without them (`copy_file_range`), but then they would have to be read again for the checksum, over
the network from a shared file system.
"""

from __future__ import annotations

import os

from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.storage.checksums import PIECE_NBYTES, FileChecksum, hash_file
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import write_exactly


def copy_checked(source: str, target: str, expected: FileChecksum) -> None:
    """Copy a file, in the memory of one piece (4 MiB).

    Parameters
    ----------
    source : str
        The file.
    target : str
        New file; it is the caller who gives it a temporary name, and deletes it after an error.
    expected : FileChecksum
        Size and checksum of the file.

    Raises
    ------
    EnvironmentFaultError
        If the file is not as expected.
    OSError
        If it cannot be read or written; names the file.
    """
    import xxhash

    state, buffer, done = xxhash.xxh3_128(), memoryview(bytearray(PIECE_NBYTES)), 0
    fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        to = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            while count := _read(fd, buffer, done, source):
                state.update(buffer[:count])
                write_exactly(to, buffer[:count], done, target)
                done += count
        finally:
            with attach_path_to_error(target):
                os.close(to)  # network file systems tell of a full disk as late as here
    finally:
        os.close(fd)
    found = FileChecksum(done, state.hexdigest())
    if found != expected:
        raise EnvironmentFaultError(
            "a file has changed since it was written",
            file=source,
            expected=f"{expected.nbytes:,} bytes, checksum {expected.digest}",
            found=f"{found.nbytes:,} bytes, checksum {found.digest}",
            hint="somebody has changed it, or the disk failed; add --restart to start over",
        )


def is_copied(target: str, expected: FileChecksum) -> bool:
    """Whether a file is there and as expected; one of another size is not read."""
    try:
        return os.stat(target).st_size == expected.nbytes and hash_file(target) == expected
    except FileNotFoundError:
        return False


def _read(fd: int, buffer: memoryview, offset: int, path: str) -> int:
    with attach_path_to_error(path):
        return os.preadv(fd, [buffer], offset)
