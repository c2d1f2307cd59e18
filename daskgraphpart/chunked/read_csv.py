"""Read blocks of CSV files: two columns of integers, any delimiter, no header; ignores further columns."""

from __future__ import annotations

import re

import numpy as np

from daskgraphpart.chunked.formats import Block, InputFile
from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.region import Region

_HEAD = re.compile(rb"\s*([+-]?\d[^\0]*)?")  # start of a line of integers; nothing compressed or in UTF-16
NEWLINE = 10
BYTES_PER_LOOK = 1 << 12
LONGEST_LINE = 1 << 24
FAULTS = {
    1: "not two integers",
    2: "the second column is missing",
    3: "integer too large",
}


def open_edges(path: str, delimiter: str) -> tuple[InputFile, dict[str, np.dtype]]:
    """Open a file that starts with an integer, so without header or compression."""
    with attach_path_to_error(path), open_for_reading(path) as file:
        head = file.read(16)
    if not _HEAD.fullmatch(head):
        raise InputFileError(
            "not a CSV file of edges",
            file=path,
            place="row 0",
            expected="lines of integers as ASCII text, without header, quotes or byte-order mark",
            found=repr(head)[1:],
            hint="decompress it, remove its header, or correct its format in metadata.json",
        )
    return InputFile(path, "csv", delimiter, None, file_size(path)), {}


def read_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Parse the lines of a block: sources and destinations, int64."""
    from daskgraphpart.kernels.parse_ints import parse_edges  # opening files needs no numba

    content = read_lines(block.path, block.start, block.stop)
    src, dst = np.empty(block.num_rows, np.int64), np.empty(block.num_rows, np.int64)
    rows, fault, offset = (int(found) for found in parse_edges(content, ord(block.delimiter), src, dst))
    if fault:
        line = content[max(0, offset) :][:200].tobytes().split(b"\n")[0].decode(errors="replace").strip()
        raise InputFileError(
            FAULTS[fault],
            file=block.path,
            place=f"row {block.row_in_file + rows:,}",
            expected=f"two integers separated by {block.delimiter!r}, the delimiter that metadata.json declares",
            found=repr(line[:60]),
            hint="a file of edges is ASCII text without header, quotes and floats",
        )
    if rows != block.num_rows:
        expected = f"{block.num_rows:,} rows in bytes {block.start:,} to {block.stop:,}"
        what = "file has changed since its lines were counted"
        raise InputFileError(what, file=block.path, expected=expected, found=f"{rows:,}")
    return src, dst


def count_rows(block: Block) -> int:
    """Count a block's rows: non-blank lines that begin in its byte range."""
    from daskgraphpart.kernels.parse_ints import count_lines

    return int(count_lines(read_lines(block.path, block.start, block.stop)))


def read_lines(path: str, start: int, stop: int) -> np.ndarray:
    """Read the lines that begin in ``[start, stop)``, uint8: at byte 0 or after a newline."""
    try:
        size = file_size(path)
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path, hint="was it removed while it was in use?") from fault
    region = Region(path, 0, np.dtype(np.uint8), (size,))
    begin = _line_begin(region, start)
    return region.read(begin, max(begin, _line_begin(region, stop)))


def _line_begin(region: Region, offset: int) -> int:
    """First byte at or after `offset` where a line begins, or the file's size."""
    if offset <= 0 or offset >= region.num_rows:
        return min(max(offset, 0), region.num_rows)
    for position in range(offset - 1, region.num_rows, BYTES_PER_LOOK):
        piece = region.read(position, min(position + BYTES_PER_LOOK, region.num_rows))
        found = np.flatnonzero(piece == NEWLINE)
        if found.size:
            return position + int(found[0]) + 1
        if position - offset > LONGEST_LINE:
            expected = "lines of two integers"
            raise InputFileError("line without end", file=region.path, place=f"byte {offset:,}", expected=expected)
    return region.num_rows
