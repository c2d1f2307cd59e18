"""Check what DuckDB does not about packed text: a complete last frame of zstd, and checksums of gzip."""

from __future__ import annotations

import gzip
import os
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from daskgraphpart.errors import InputFileError
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_FRAME, _SKIPPABLE = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_DICTIONARY_NBYTES, _SIZE_NBYTES = (0, 1, 2, 4), (0, 2, 4, 8)
_RLE, _RESERVED = 1, 3


def check_gzip(content: str, path: str) -> None:
    """Unpack a file; refuse it if truncated or damaged; `path` is for messages."""
    with _opened(content, "gzip", path) as file, gzip.open(file) as unpacked:
        while unpacked.read(1 << 20):
            pass


def check_zstd(content: str, path: str) -> None:
    """Walk the block headers (RFC 8878) without unpacking; refuse a truncated file."""
    with _opened(content, "zstd", path) as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            magic = _bytes(file, 4)
            if magic[1:] == _SKIPPABLE and magic[0] >> 4 == 5:
                file.seek(int.from_bytes(_bytes(file, 4), "little"), os.SEEK_CUR)
            elif magic == _FRAME:
                _skip_frame(file)
            else:
                raise EOFError(f"no frame at byte {file.tell() - 4:,}")
        if file.tell() > size:
            raise EOFError(f"{size:,} bytes, not {file.tell():,}")


@contextmanager
def _opened(content: str, packing: str, path: str) -> Iterator[BinaryIO]:
    try:
        with attach_path_to_error(path), open(content, "rb") as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as fault:
        what, hint = "damaged or truncated", "copy or download the file again"
        raise InputFileError(what, file=path, expected=f"a whole {packing} file", found=fault, hint=hint) from fault


def _skip_frame(file: BinaryIO) -> None:
    descriptor = _bytes(file, 1)[0]
    is_single, has_checksum = descriptor >> 5 & 1, descriptor >> 2 & 1
    header_nbytes = 1 - is_single + _DICTIONARY_NBYTES[descriptor & 3] + _SIZE_NBYTES[descriptor >> 6]
    file.seek(header_nbytes + (is_single and descriptor >> 6 == 0), os.SEEK_CUR)
    is_last = False
    while not is_last:
        block = int.from_bytes(_bytes(file, 3), "little")
        is_last, kind = bool(block & 1), block >> 1 & 3
        if kind == _RESERVED:
            raise EOFError(f"no block at byte {file.tell() - 3:,}")
        file.seek(1 if kind == _RLE else block >> 3, os.SEEK_CUR)
    file.seek(4 * has_checksum, os.SEEK_CUR)


def _bytes(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    if len(found) < count:
        raise EOFError(f"the file ends before byte {file.tell() + count - len(found):,}")
    return found
