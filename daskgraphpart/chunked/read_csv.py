"""Read blocks of CSV files: two columns of integers and any delimiter, no header; further columns are ignored."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.errors import InputFileError, InputFileNotFoundError
from daskgraphpart.kernels.parse_ints import count_lines, parse_edges
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.region import Region

NEWLINE = 10
BYTES_PER_LOOK = 1 << 12
LONGEST_LINE = 1 << 24
_WORD = re.compile(r"[^\W\d]")  # as names of columns begin
_FLOAT = re.compile(r"\d\.|\.\d|\d[eE][-+\d]|\b(nan|inf)", re.IGNORECASE)
FAULTS = {
    1: "not two integers",
    2: "the second column is missing",
    3: "integer too large",
}


def refuse_first_lines(path: str, delimiter: str) -> None:
    """Refuse a file among whose first lines is one that is not two integers."""
    content = read_lines(path, 0, BYTES_PER_LOOK)
    rows = int(count_lines(content))
    read_csv_edges(Block(path, "csv", delimiter, 0, BYTES_PER_LOOK, 0, rows, 0))


def read_csv_edges(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Parse the lines of a block."""
    content = read_lines(block.path, block.start, block.stop)
    src, dst = np.empty(block.num_rows, np.int64), np.empty(block.num_rows, np.int64)
    rows, fault, offset = parse_edges(content, ord(block.delimiter), src, dst)
    if fault:
        raise _explain(block, content, int(rows), int(fault), int(offset))
    if rows != block.num_rows:
        raise InputFileError(
            "file has changed since its lines were counted",
            file=block.path,
            expected=f"{block.num_rows:,} rows in bytes {block.start:,} to {block.stop:,}",
            found=f"{rows:,}",
        )
    return src, dst


def count_rows(block: Block) -> int:
    """Count the rows of a block: the non-blank lines that begin in its range of bytes."""
    return int(count_lines(read_lines(block.path, block.start, block.stop)))


def count_rows_before(block: Block) -> int:
    """Count the rows of the file that come before a block; holds as much of the file at a time as the block does."""
    step = max(1, block.stop - block.start)
    starts = range(0, block.start, step)
    return sum(count_rows(replace(block, start=start, stop=min(start + step, block.start))) for start in starts)


def read_lines(path: str, start: int, stop: int) -> np.ndarray:
    """Read the lines that begin in ``[start, stop)``, uint8: a line begins at byte 0 or after a newline."""
    try:
        size = file_size(path)
    except FileNotFoundError as fault:
        raise InputFileNotFoundError("no such file", file=path, hint="was it removed while it was in use?") from fault
    begin = _line_begin(path, start, size)
    end = _line_begin(path, stop, size)
    return Region(path, 0, np.dtype(np.uint8), (size,)).read(begin, max(begin, end))


def _line_begin(path: str, offset: int, size: int) -> int:
    """First byte at or after `offset` where a line begins; the size of the file if there is none."""
    if offset <= 0:
        return 0
    region = Region(path, 0, np.dtype(np.uint8), (size,))
    position, look = offset - 1, BYTES_PER_LOOK
    while position < size:
        piece = region.read(position, min(position + look, size))
        found = np.flatnonzero(piece == NEWLINE)
        if found.size:
            return position + int(found[0]) + 1
        position += piece.size
        if position - offset > LONGEST_LINE:
            raise InputFileError(
                "line without end",
                file=path,
                place=f"byte {offset:,}",
                expected="lines of two integers",
                hint="is it text?",
            )
    return size


def _explain(block: Block, content: np.ndarray, row: int, fault: int, offset: int) -> InputFileError:
    text = content[max(0, offset) :][:200].tobytes().split(b"\n")[0].decode(errors="replace").strip()
    row_in_file = block.row_in_file + row
    hint = None
    others = [c for c in (",", "\t", ";", "|", " ") if c != block.delimiter and c in text]
    if not text.isascii():
        hint = "is it ASCII text?"
    elif '"' in text or "'" in text:
        hint = "remove the quotes"
    elif row_in_file == 0 and _WORD.match(text) and not text.lower().startswith("nan"):
        hint = "it looks like a header; remove that line"
    elif others and text.split(others[0])[0].strip().lstrip("+-").isdigit():
        hint = f"the metadata declares the delimiter {block.delimiter!r}, the line has {others[0]!r}"
    elif _FLOAT.search(text):
        hint = "IDs must be integers, not floats"
    return InputFileError(
        FAULTS[fault],
        file=block.path,
        place=f"row {row_in_file:,}",
        expected=f"two integers separated by {block.delimiter!r}",
        found=repr(text[:60]),
        hint=hint,
    )
