"""Are the sizes that the pages of a parquet file claim possible? Asked before pyarrow believes them.

pyarrow takes as much memory as the header of a page says, up to 2 GiB, before it looks whether the page has so much: a
hostile or damaged file of a kilobyte would take 2 GiB for seconds. A page cannot be longer than its column chunk,
cannot become longer than its codec allows, and its values do not need more bytes than their type has.

What the header does not say, how many numbers or lengths are in a compressed page, is looked at in `parquet_delta`.

Source: parquet-format 2.11, `PageHeader` in parquet.thrift; which pages are read, as in parquet-cpp (column_reader.cc
of Arrow 22).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from daskgraphpart.chunked.parquet_delta import (
    DELTA_BINARY_PACKED,
    DELTA_ENCODINGS,
    check_delta,
    decompress,
    pass_levels,
)
from daskgraphpart.chunked.parquet_footer import (
    CODEC,
    CODECS,
    DICTIONARY_HEADER_NBYTES,
    NBYTES,
    NUM_VALUES,
    START,
    Footer,
    Leaf,
    unreadable,
)
from daskgraphpart.chunked.thrift_compact import I32, TRUE, CompactReader, ThriftEndError, ThriftError
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

EXPANSIONS = {
    "UNCOMPRESSED": 1,
    "SNAPPY": 22,
    "GZIP": 1_032,
    "BROTLI": 1 << 15,
    "LZ4": 255,
    "ZSTD": 1 << 15,
    "LZ4_RAW": 255,
}
"""Bytes that one compressed byte becomes at most: a copy of 64 bytes in 3 (Snappy), of 258 bytes in 2 bits (Deflate), a
byte of length (LZ4), a block of 128 KiB in 4 bytes (Zstandard). Brotli has no limit: see `BROTLI_NBYTES`."""
BROTLI_NBYTES = 1 << 26
"""Bytes that any page of Brotli may become, however short: its blocks of 16 MiB take some bytes."""
SLACK = 1 << 16
"""Bytes of a page that are neither values nor levels: heads of blocks, and blocks that are filled up."""
HEADER_NBYTES = (1 << 7, 1 << 12, 1 << 16, 1 << 20, 1 << 24)
"""Bytes in which the header of a page is looked for, one after the other; pyarrow's limit is the last, too."""

DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3
_STRUCTS = {5: DATA_PAGE, 7: DICTIONARY_PAGE, 8: DATA_PAGE_V2}
_WANTED = {
    DATA_PAGE: {1: I32, 2: I32, 3: I32, 4: I32},
    DICTIONARY_PAGE: {1: I32},
    DATA_PAGE_V2: {1: I32, 4: I32, 5: I32, 6: I32, 7: TRUE},
}
"""Number of values; encoding of values, of levels; of version 2 encoding, bytes of levels, whether it is compressed."""


class Page(NamedTuple):
    """What the header of a page says.

    Parameters
    ----------
    kind : int
        Data, dictionary or something else.
    uncompressed, compressed : int
        Bytes without the header.
    num_values : int
        Values, with nulls; 0 of other pages.
    levels_nbytes : int
        Bytes at the front that are never compressed.
    header_nbytes : int
        Bytes of the header.
    encoding : int
        Of the values; -1 for other pages.
    is_compressed : bool
        Whether values are compressed, if the column has a codec.
    level_encodings : tuple of int
        Of levels of repetition and of definition.
    """

    kind: int
    uncompressed: int
    compressed: int
    num_values: int
    levels_nbytes: int
    header_nbytes: int
    encoding: int
    is_compressed: bool
    level_encodings: tuple[int, int]


def check_pages(path: str, fd: int, footer: Footer, groups: Iterable[int], leaves: Iterable[int]) -> None:
    """Look at the headers of all pages that will be read, once.

    Parameters
    ----------
    path : str
        The file, for messages.
    fd : int
        The file, opened.
    footer : Footer
        Its footer, where is noted what has been looked at.
    groups, leaves : iterable of int
        Row groups and leaves that will be read.

    Raises
    ------
    InputFileError
        If a header is none, or claims what cannot be.
    """
    numbers = list(leaves)
    for group in groups:
        for leaf in numbers:
            if not footer.is_checked[group, leaf]:
                _check_chunk(path, fd, footer, group, leaf)
                footer.is_checked[group, leaf] = True


def _check_chunk(path: str, fd: int, footer: Footer, group: int, number: int) -> None:
    leaf, chunk = footer.leaves[number], footer.chunks[group, number].tolist()
    codec, position, remaining = CODECS[chunk[CODEC]], chunk[START], chunk[NUM_VALUES]
    place = f"row group {group}, column {leaf.path.decode(errors='replace')!r}"
    if codec not in EXPANSIONS:
        raise InputFileError("parquet file of a codec that cannot be read", file=path, place=place, found=codec)
    stop = min(position + chunk[NBYTES] + DICTIONARY_HEADER_NBYTES, footer.nbytes)
    while remaining > 0 and position < stop:
        try:
            page = read_page_header(fd, position, stop)
        except ThriftError as fault:
            raise unreadable(path, f"byte {position:,}, {place}", "the header of a page", fault) from None
        wrong = _fault(page, stop - position - page.header_nbytes, codec, leaf, chunk[NUM_VALUES])
        if wrong:
            raise InputFileError(
                "impossible size of a page in a parquet file",
                file=path,
                place=f"byte {position:,}, {place}",
                expected=wrong,
                found=f"{page.num_values:,} values in {page.compressed:,} bytes that become {page.uncompressed:,}",
                hint="it may be truncated; write it again",
            )
        if page.encoding in DELTA_ENCODINGS:
            try:
                _check_delta(fd, position, page, codec, leaf)
            except ThriftError as fault:
                raise unreadable(
                    path, f"byte {position:,}, {place}", "numbers or lengths, as differences", fault
                ) from None
        position += page.header_nbytes + page.compressed
        if page.kind != DICTIONARY_PAGE:
            remaining -= page.num_values


def _check_delta(fd: int, position: int, page: Page, codec: str, leaf: Leaf) -> None:
    """Look into a page at `position`, whose header was looked at; there are few of these encodings."""
    if codec == "LZ4" and page.encoding == DELTA_BINARY_PACKED:
        return  # pyarrow guesses how it is framed; it takes no more than 128 MiB of addresses, and touches few of them
    content = _read(fd, page.compressed, position + page.header_nbytes)
    front, values = content[: page.levels_nbytes], content[page.levels_nbytes :]
    if page.is_compressed and codec != "UNCOMPRESSED":
        values = decompress(values, codec, page.uncompressed - len(front))
    if page.kind == DATA_PAGE:
        has_levels = not leaf.is_flat, not leaf.is_required
        values = pass_levels(values, [e for e, has in zip(page.level_encodings, has_levels, strict=True) if has])
    check_delta(values, page.encoding, page.num_values)


def read_page_header(fd: int, position: int, stop: int) -> Page:
    """Read the header of a page, whose column chunk ends before a byte.

    Raises
    ------
    ThriftError
        If there is none.
    """
    for nbytes in HEADER_NBYTES:
        content = _read(fd, min(nbytes, stop - position), position)
        try:
            return _parse(CompactReader(content))
        except ThriftEndError:
            if len(content) < nbytes:
                raise
    raise ThriftError(f"a header of more than {HEADER_NBYTES[-1]:,} bytes", 0)


def _read(fd: int, nbytes: int, position: int) -> bytes:
    """Read so many bytes; fewer only where the file ends, though the system may give fewer at once."""
    content = os.pread(fd, nbytes, position)
    while len(content) < nbytes and (more := os.pread(fd, nbytes - len(content), position + len(content))):
        content += more
    return content


def _parse(reader: CompactReader) -> Page:
    sizes = {1: -1, 2: -1, 3: -1}
    structs: dict[int, dict[int, int]] = {}
    for number, kind in reader.fields():
        if number in sizes:
            sizes[number] = reader.i32(kind)
        elif number in _STRUCTS:
            structs[_STRUCTS[number]] = reader.integers(kind, _WANTED[_STRUCTS[number]])
        else:
            reader.skip(kind)
    page_kind = sizes[1]
    values = structs.get(page_kind, {})
    if page_kind in _STRUCTS.values() and 1 not in values:
        raise ThriftError(f"no number of values, in a page of kind {page_kind}", reader.at)
    levels = values.get(5, 0), values.get(6, 0)
    levels_nbytes = sum(levels) if min(levels) >= 0 else -1
    encoding = values.get({DATA_PAGE: 2, DATA_PAGE_V2: 4}.get(page_kind, 0), -1)
    of_levels = values.get(4, -1), values.get(3, -1)
    sizes_and_values = sizes[2], sizes[3], values.get(1, 0), levels_nbytes
    return Page(page_kind, *sizes_and_values, reader.at, encoding, bool(values.get(7, 1)), of_levels)


def _fault(page: Page, room: int, codec: str, leaf: Leaf, num_values: int) -> str | None:
    """What is expected instead of what the header says; None if it can be."""
    if not 0 <= page.compressed <= room:
        return f"at most {room:,} bytes"
    if page.kind not in _STRUCTS.values():
        return None  # it is passed over
    if not 0 <= page.levels_nbytes <= min(page.compressed, page.uncompressed):
        return "levels that lie in the page"
    if codec == "UNCOMPRESSED":
        if page.uncompressed != page.compressed:
            return f"{page.compressed:,} bytes, uncompressed"
    else:
        most = (page.compressed - page.levels_nbytes) * EXPANSIONS[codec] + page.levels_nbytes
        most = max(most, BROTLI_NBYTES) if codec == "BROTLI" else most
        if leaf.width is not None:
            most = min(most, page.num_values * (2 * max(leaf.width, 8) + 16) + SLACK)
        if page.uncompressed > most:
            return f"at most {most:,} bytes, uncompressed by {codec}"
    most_values = page.uncompressed // (leaf.width or 4) if page.kind == DICTIONARY_PAGE else num_values
    if not 0 <= page.num_values <= most_values:
        return f"at most {most_values:,} values"
    return None
