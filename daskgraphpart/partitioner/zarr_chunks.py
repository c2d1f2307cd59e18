"""Compare the size that each chunk file of a zarr array claims with that of a chunk, before any is unpacked."""

from __future__ import annotations

import bz2
import lzma
import math
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable

_METADATA = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")
_SLACK_NBYTES = 1 << 16  # headers, and rows that do not shrink
_MOST_FILTERED = 8  # most that filters shrink an element: int64 to int8
_STREAMS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zlib": lambda: zlib.decompressobj(15),
    "bz2": bz2.BZ2Decompressor,
    "lzma": lzma.LZMADecompressor,
}


def check_chunk_files(array: Any, path: str | Path) -> None:
    """Refuse chunk files that would become larger than a chunk; `array` is that of zarr, opened, in the directory."""
    shape = getattr(array, "shards", None) or array.chunks
    limit = math.prod(shape) * array.dtype.itemsize * (_MOST_FILTERED if array.filters else 1)
    packings = [type(codec).__name__.lower().removesuffix("codec") for codec in array.compressors or ()]
    packing = packings[0] if len(packings) == 1 and shape == array.chunks else ""
    for file in Path(path).rglob("*"):
        if file.name in _METADATA or not file.is_file():
            continue
        size = os.path.getsize(file)
        claimed = size - _SLACK_NBYTES if size > limit + _SLACK_NBYTES else _claimed(file, packing, limit)
        if claimed > limit:
            what, hint = "a chunk of a zarr array is larger than its metadata say", "write the array again"
            expected, claim = f"at most {limit:,} bytes", f"{claimed:,} or more"
            place = f"chunk {file.relative_to(path)}"
            raise InputFileError(what, file=str(path), place=place, expected=expected, found=claim, hint=hint)


def _claimed(file: Path, packing: str, limit: int) -> int:
    """Return the bytes that a chunk unpacks to, as its header tells, or else at most a byte above the limit."""
    with file.open("rb") as opened:
        if packing in _STREAMS:
            unpacker = _STREAMS[packing]()
            try:
                return len(unpacker.decompress(opened.read(), limit + 1))
            except (OSError, EOFError, zlib.error, lzma.LZMAError):
                return 0  # whoever reads it says that it is damaged
        head = opened.read(18)
    if packing == "blosc":
        return int.from_bytes(head[4:8], "little")
    if packing == "lz4":
        return int.from_bytes(head[:4], "little")
    return _claimed_by_zstd(head) if packing == "zstd" else 0


def _claimed_by_zstd(head: bytes) -> int:
    """Return the size of the content that the header of a frame tells (RFC 8878); 0 if it tells none."""
    if len(head) < 6 or head[:4] != b"\x28\xb5\x2f\xfd":
        return 0
    is_single, kind = head[4] >> 5 & 1, head[4] >> 6
    nbytes = (is_single, 2, 4, 8)[kind]
    start = 5 + (1 - is_single) + (0, 1, 2, 4)[head[4] & 3]
    return int.from_bytes(head[start : start + nbytes], "little") + (256 if nbytes == 2 else 0)
