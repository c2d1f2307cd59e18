"""Numbers and lengths of strings in pages of parquet, encoded as differences: looked at before pyarrow believes them.

In the encodings DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY a page begins with the lengths of its strings, of which
pyarrow believes the count, and in the latter also how long the beginnings are that strings share with the one before:
it takes memory for all of them first, whatever the page has. In DELTA_BINARY_PACKED, of integers, it believes the
number of widths. All that is inside the compressed page, so pages of these encodings are decompressed here once more.

Source: parquet-format 2.11, Encodings.md; where each part begins, as in parquet-cpp (decoder.cc of Arrow 22).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.chunked.thrift_compact import I32, CompactReader, ThriftEndError, ThriftError

if TYPE_CHECKING:
    from collections.abc import Iterable

DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY = 5, 6, 7
DELTA_ENCODINGS = (DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY)
RLE = 3
MOST_BLOCK = 1 << 16
"""Values of a block: writers make blocks of 128 to 2,048."""
MOST_VALUES = 1 << 22
"""Lengths that any page may have, however short; beyond, there must be a byte for each. pyarrow takes 4 bytes each."""
MOST_NBYTES = 1 << 26
"""Bytes that strings of any page may have, where they share beginnings; beyond, as many times its bytes as below."""
MOST_SHARING = 16
_AT_ONCE = 1 << 18  # lengths that are unpacked at the same time

_CODEC_NAMES = {"SNAPPY": "snappy", "GZIP": "gzip", "BROTLI": "brotli", "ZSTD": "zstd", "LZ4_RAW": "lz4_raw"}


class _Head(NamedTuple):
    """What stands in front of numbers that are encoded as differences: how many there are, and how they are packed."""

    total: int
    num_parts: int  # of a block
    part: int  # numbers in a part, which have the same width


def decompress(content: bytes, codec: str, nbytes: int) -> bytes:
    """Bytes of a page, of which it was looked at whether they can be so many.

    Raises
    ------
    ThriftError
        If they are not of the codec, or of one of which pyarrow guesses the frame.
    """
    from pyarrow import Codec

    if not content:
        return content  # no value but nulls
    if codec not in _CODEC_NAMES:
        raise ThriftError(f"differences that are compressed by {codec}", 0)
    try:
        return bytes(Codec(_CODEC_NAMES[codec]).decompress(content, nbytes, asbytes=True))
    except (OSError, ValueError) as fault:
        raise ThriftError(next(iter(str(fault).splitlines()), f"no {codec}"), 0) from None


def pass_levels(content: bytes, encodings: Iterable[int]) -> bytes:
    """Bytes behind the levels, in a page of version 1 that begins with levels of these encodings.

    Raises
    ------
    ThriftError
        If they are longer than the page, or of an encoding that was given up before there were differences.
    """
    at = 0
    for encoding in encodings:
        if encoding != RLE:
            raise ThriftError(f"levels of encoding {encoding}", at)
        at += 4 + int.from_bytes(content[at : at + 4], "little")
        if at > len(content):
            raise ThriftEndError("levels without end", at)
    return content[at:]


def check_delta(content: bytes, encoding: int, num_values: int) -> None:
    """Look at the head of numbers, or at the lengths of strings.

    Parameters
    ----------
    content : bytes
        What the page has behind its levels, decompressed.
    encoding : int
        One of `DELTA_ENCODINGS`.
    num_values : int
        Values of the page, with nulls.

    Raises
    ------
    ThriftError
        If there are more than values, or others than can be.
    """
    if not content:
        return
    reader = CompactReader(content)
    if encoding == DELTA_BINARY_PACKED:
        _read_head(reader, num_values)
        return
    most = min(num_values, max(MOST_VALUES, len(content)))
    if encoding == DELTA_LENGTH_BYTE_ARRAY:
        _read_head(reader, most)
        return
    shared = read_numbers(reader, content, most)
    own = read_numbers(reader, content, most)
    if len(shared) != len(own):
        raise ThriftError(f"{len(own):,} strings, and {len(shared):,} beginnings", reader.at)
    if not len(own):
        return
    whole = shared + own
    wrong = (shared < 0) | (own < 0) | (shared > np.concatenate([[0], whole[:-1]]))
    if wrong.any():
        i = int(wrong.argmax())
        raise ThriftError(f"string {i} of {own[i]:,} bytes that begins with {shared[i]:,} of the one before", reader.at)
    if own.sum() > len(content) - reader.at:
        raise ThriftError(f"strings of {own.sum():,} bytes in {len(content) - reader.at:,}", reader.at)
    if whole.sum() > max(MOST_NBYTES, MOST_SHARING * len(content)):
        raise ThriftError(f"strings of {whole.sum():,} bytes, in a page of {len(content):,}", reader.at)


def _read_head(reader: CompactReader, most: int) -> _Head:
    block, num_parts, count = reader.u32(), reader.u32(), reader.u32()
    is_block = 0 < block <= MOST_BLOCK and block % 128 == 0
    if not is_block or not num_parts or block % num_parts or block // num_parts % 32:
        raise ThriftError(f"blocks of {block:,} values in {num_parts:,} parts", reader.at)
    if count > most:
        raise ThriftError(f"{count:,} values where there are at most {most:,}", reader.at)
    return _Head(count, num_parts, block // num_parts)


def read_numbers(reader: CompactReader, content: bytes, most: int) -> np.ndarray:
    """Numbers of 32 bits that are encoded as differences.

    Parameters
    ----------
    reader : CompactReader
        Of `content`, at the first of them; afterwards behind the last.
    content : bytes
        What is read.
    most : int
        Numbers that there are at most.

    Returns
    -------
    int64 array (numbers,)

    Raises
    ------
    ThriftError
        If there are more, or fewer than there should be.
    """
    head = _read_head(reader, most)
    first = reader.i32(I32)
    starts, widths, least = _find_parts(reader, content, head)
    steps = np.repeat(np.array(least, np.int64).astype(np.uint32), head.part)
    _add_packed(steps, np.frombuffer(content, np.uint8), np.array(starts, np.int64), np.array(widths, np.int64))
    numbers = np.empty(head.total, np.uint32)
    if head.total:
        numbers[:1] = np.array([first]).astype(np.uint32)
        numbers[1:] = steps[: head.total - 1]
    return np.cumsum(numbers, dtype=np.uint32).view(np.int32).astype(np.int64)


def _find_parts(reader: CompactReader, content: bytes, head: _Head) -> tuple[list[int], list[int], list[int]]:
    """Where the parts begin, the bits of their numbers, and the least step in each."""
    starts: list[int] = []
    widths: list[int] = []
    least: list[int] = []
    remaining = head.total - 1
    while remaining > 0:
        step = reader.i32(I32)
        used = min(head.num_parts, -(-remaining // head.part))  # parts behind the last value are left out
        bits = content[reader.at : reader.at + used]
        at = reader.at + head.num_parts
        for width in bits:
            if width > 32:
                raise ThriftError(f"lengths of {width} bits", reader.at)
            starts.append(at)
            at += head.part * width // 8
        if at > len(content):
            raise ThriftEndError("lengths without end", reader.at)
        reader.at = at
        widths += bits
        least += [step] * used
        remaining -= used * head.part
    return starts, widths, least


def _add_packed(steps: np.ndarray, content: np.ndarray, starts: np.ndarray, widths: np.ndarray) -> None:
    """Add to the steps, part by part, the numbers that are packed at `starts`."""
    if not len(starts):
        return
    parts = steps.reshape(len(starts), -1)
    part = parts.shape[1]
    for width in range(1, 33):
        chosen = np.flatnonzero(widths == width)
        at_once = max(1, _AT_ONCE // part)
        for some in (chosen[i : i + at_once] for i in range(0, len(chosen), at_once)):
            packed = content[starts[some, None] + np.arange(part * width // 8)]
            bits = np.zeros((len(some), part, 32), np.uint8)
            bits[..., :width] = np.unpackbits(packed, axis=1, bitorder="little").reshape(len(some), part, width)
            parts[some] += np.packbits(bits, axis=2, bitorder="little").view("<u4")[..., 0]
