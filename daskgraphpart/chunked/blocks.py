"""Cut input files into blocks, the unit of work of every pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.storage.paths import FilePath


@dataclass(frozen=True, slots=True)
class InputFile:
    """One data file of an edge type or a feature."""

    path: FilePath  # absolute path
    format: str  # ``"csv"``, ``"numpy"`` or ``"parquet"``
    delimiter: str  # of CSV files; one character
    num_rows: int | None  # None for CSV until scanned
    nbytes: int  # size in bytes
    # parquet only: end row of each row group, so that blocks can follow them
    row_group_ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one input file."""

    path: FilePath
    format: str
    delimiter: str
    # byte range for CSV, row range in the file for others; a CSV block owns the lines that begin in its range
    start: int
    stop: int
    first_row: int  # type-wise original ID of the first row; -1 in CSV not yet numbered
    num_rows: int  # likewise -1
    row_in_file: int  # row of the file at which the block begins, for messages; likewise -1


def cut_rows(files: Sequence[InputFile], max_rows: int) -> list[Block]:
    """Cut npy and parquet files into numbered blocks."""
    blocks, first_row = [], 0
    for file in files:
        assert file.num_rows is not None, "CSV files are cut by bytes"
        for start, stop in _row_ranges(file, max(1, max_rows)):
            blocks.append(
                Block(file.path, file.format, file.delimiter, start, stop, first_row + start, stop - start, start)
            )
        first_row += file.num_rows
    return blocks


def _row_ranges(file: InputFile, max_rows: int) -> Iterator[tuple[int, int]]:
    """Row ranges of a file: whole row groups while they fit, pieces of larger ones."""
    start = last = 0
    for end in file.row_group_ends or (file.num_rows or 0,):
        if end - start > max_rows and last > start:
            yield start, last
            start = last
        while end - start > max_rows:
            yield start, start + max_rows
            start += max_rows
        last = end
    if last > start:
        yield start, last


def clip_blocks(blocks: Sequence[Block], stretches: np.ndarray) -> Iterator[Block]:
    """Clip numbered blocks to ascending ranges of rows, int64 (n, 2)."""
    for block in blocks:
        first, end = block.first_row, block.first_row + block.num_rows
        low, high = np.searchsorted(stretches[:, 1], first, side="right"), np.searchsorted(stretches[:, 0], end)
        for start, stop in stretches[low:high].tolist():
            skipped, num_rows = max(0, start - first), min(stop, end) - max(start, first)
            begin = block.start + skipped
            yield replace(
                block, start=begin, stop=begin + num_rows, first_row=first + skipped, num_rows=num_rows,
                row_in_file=block.row_in_file + skipped,
            )  # fmt: skip


def cut_bytes(files: Sequence[InputFile], max_bytes: int) -> list[Block]:
    """Cut CSV files into blocks of at most `max_bytes` bytes, to be numbered later."""
    step = max(1, max_bytes)
    return [
        Block(file.path, file.format, file.delimiter, start, min(start + step, file.nbytes), -1, -1, -1)
        for file in files
        for start in range(0, file.nbytes, step)
    ]


def number_blocks(blocks: Sequence[Block], counts: Sequence[int]) -> list[Block]:
    """Number the blocks of one edge type from their row counts; drops empty ones."""
    numbered, first_row, row_in_file = [], 0, 0
    for block, count in zip(blocks, counts, strict=True):
        row_in_file = row_in_file if block.start else 0  # a file starts at 0, even if listed twice
        if count:
            numbered.append(replace(block, first_row=first_row, num_rows=count, row_in_file=row_in_file))
        first_row += count
        row_in_file += count
    return numbered
