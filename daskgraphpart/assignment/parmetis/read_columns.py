"""Read chosen columns of integers from blocks of text that ParMETIS has written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.errors import AssignmentError
from daskgraphpart.kernels.parse_columns import TOO_MANY_COLUMNS, parse_columns
from daskgraphpart.kernels.parse_ints import MISSING_COLUMN, NOT_INTEGERS, TOO_LARGE, count_lines
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

FAULTS = {
    NOT_INTEGERS: "not an integer",
    MISSING_COLUMN: "columns are missing",
    TOO_LARGE: "integer too large",
    TOO_MANY_COLUMNS: "too many columns",
}


@dataclass(frozen=True, slots=True)
class TextBlock:
    """The lines of a file that begin in a range of bytes."""

    path: str
    start: int
    stop: int


def cut_text(paths: Iterable[Path], block_bytes: int) -> list[list[TextBlock]]:
    """Cut files into blocks; a list for each file, empty for empty files."""
    step = max(1, block_bytes)
    return [
        [TextBlock(str(path), start, min(start + step, size)) for start in range(0, size, step)]
        for path, size in ((path, path.stat().st_size) for path in paths)
    ]


def read_columns(block: TextBlock, columns: Sequence[int], layout: str, *, exactly: bool) -> np.ndarray:
    """Read some columns of a block.

    Parameters
    ----------
    block : TextBlock
        What is read.
    columns : sequence of int
        Numbers of the columns, from 0, ascending.
    layout : str
        What a line looks like, for messages.
    exactly : bool
        Whether no column may follow the last of these.

    Returns
    -------
    int64 array (columns, rows)

    Raises
    ------
    AssignmentError
        With the line of the first that has a fault.
    """
    content = read_lines(block.path, block.start, block.stop)
    values = np.empty((len(columns), count_lines(content)), np.int64)
    chosen = np.array(columns, np.int64)
    row, fault, offset = parse_columns(content, chosen, chosen[-1] + 1 if exactly else 0, values)
    if fault:
        text = content[offset:][:200].tobytes().split(b"\n")[0].decode(errors="replace").strip()
        raise line_fault(block, int(row), FAULTS[int(fault)], layout, repr(text[:60]))
    return values


def line_fault(block: TextBlock, row: int, what: str, expected: str, found: object) -> AssignmentError:
    """Make the error for a row of a block; only then the lines of the file before it are counted."""
    return AssignmentError(
        what, file=block.path, place=f"line {_line_number(block, row):,}", expected=expected, found=found
    )


def _line_number(block: TextBlock, row: int) -> int:
    """Line of the file, from 1, of a row of a block; blank lines are lines but not rows."""
    step = max(1 << 20, block.stop - block.start)
    before = sum(
        int(np.count_nonzero(read_lines(block.path, start, min(start + step, block.start)) == ord("\n")))
        for start in range(0, block.start, step)
    )
    content = read_lines(block.path, block.start, block.stop)
    ends = np.append(np.flatnonzero(content == ord("\n")), content.size)
    visible = np.concatenate([[0], np.cumsum(content > ord(" "))])
    begins = np.concatenate([[0], ends[:-1] + 1])
    rows = np.flatnonzero(visible[ends] > visible[np.minimum(begins, content.size)])
    return before + int(rows[row]) + 1


def count_columns(path: Path) -> int:
    """Count the columns of the first line that is not blank; 0 if there is none."""
    with attach_path_to_error(path), path.open("rb") as file:
        for line in file:
            if line.strip():
                return len(line.split())
    return 0
