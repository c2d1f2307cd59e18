"""Read lines of CSV files: two columns of integers, any delimiter, no header; ignores further columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from daskgraphpart.source import Edges, FilePath

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


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a CSV file that begin in a range of bytes."""

    path: FilePath
    delimiter: str
    start: int
    stop: int

    def count(self) -> int:
        """Count the lines that are not blank."""
        from daskgraphpart.kernels.parse_ints import count_lines  # opening files needs no numba

        return int(count_lines(read_lines(self.path, self.start, self.stop)))

    def read(self, num_rows: int, row_in_file: int) -> Edges:
        """Parse so many lines: sources and destinations, int64; messages count from the first's row in the file."""
        from daskgraphpart.kernels.parse_ints import parse_edges

        content = read_lines(self.path, self.start, self.stop)
        src, dst = np.empty(num_rows, np.int64), np.empty(num_rows, np.int64)
        rows, fault, offset = (int(number) for number in parse_edges(content, ord(self.delimiter), (0, 1), 0, src, dst))
        if fault:
            line = content[max(0, offset) :][:200].tobytes().split(b"\n")[0].decode(errors="replace").strip()
            raise InputFileError(
                FAULTS[fault],
                file=self.path,
                place=f"row {row_in_file + rows:,}",
                expected=f"two integers separated by {self.delimiter!r}, the delimiter that metadata.json declares",
                found=repr(line[:60]),
                hint="a file of edges is ASCII text without header, quotes and floats",
            )
        if rows != num_rows:
            expected = f"{num_rows:,} rows in bytes {self.start:,} to {self.stop:,}"
            what = "file has changed since its lines were counted"
            raise InputFileError(what, file=self.path, expected=expected, found=f"{rows:,}")
        return src, dst


def cut_lines(files: Sequence[InputFile], max_bytes: int) -> list[Lines]:
    """Cut CSV files into ranges of at most `max_bytes` bytes."""
    step = max(1, max_bytes)
    return [
        Lines(file.path, file.delimiter, start, min(start + step, file.nbytes))
        for file in files
        for start in range(0, file.nbytes, step)
    ]


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
        newlines = np.flatnonzero(piece == NEWLINE)
        if newlines.size:
            return position + int(newlines[0]) + 1
        if position - offset > LONGEST_LINE:
            expected = "lines of two integers"
            raise InputFileError("line without end", file=region.path, place=f"byte {offset:,}", expected=expected)
    return region.num_rows
