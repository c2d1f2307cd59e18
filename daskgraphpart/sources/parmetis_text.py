"""Read lines of numbers between blanks, block by block, as ParMETIS' programs write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.blocks import Block, InputFile, cut_bytes
from daskgraphpart.chunked.read_csv import count_rows_before, read_lines
from daskgraphpart.errors import AssignmentError
from daskgraphpart.sources.parmetis_files import ParmetisFiles
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from daskgraphpart.sources.parmetis_files import PartFiles

TASK_NBYTES_PER_BYTE = 32
"""Memory of a task for a byte of text: text twice, columns and a copy of them (a number takes 2 bytes of text)."""
_BLANKS = re.compile(rb"[ \t\r]+")
_ODD_BLANKS = re.compile(rb"  |[\t\r]| \n|\n | \Z|\A ")
_ROW = re.compile(r"Row #(\d+): ?(.*)")

NumberedBlock = tuple[int, Block]
"""A number that goes with the file, such as its part, and lines of it."""


def cut_text(files: Iterable[tuple[int, Path]], task_memory: int) -> list[NumberedBlock]:
    """Cut numbered files into blocks that tasks of so much memory can read."""
    step = max(1, min(task_memory // TASK_NBYTES_PER_BYTE, 8 << 20))
    return [
        (number, block)
        for number, path in files
        for block in cut_bytes([InputFile(str(path), "text", " ", None, path.stat().st_size)], step)
    ]


def count_columns(paths: Iterable[Path]) -> int:
    """Count the columns of the first line that is not blank; 0 if there is none."""
    for path in paths:
        with attach_path_to_error(path), path.open("rb") as file:
            for line in file:
                if line.strip():
                    return len(line.split())
    return 0


def read_columns(
    block: Block, ids: Mapping[int, str], num_columns: int | None = None, dtype: np.dtype | None = None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Read columns of IDs, int64, by number and name, and the attributes behind them as rows, if a dtype is given.

    The number of columns in a line is that of the first line of the block, unless it is given.
    """
    import pyarrow as pa
    from pyarrow import csv

    content = read_lines(block.path, block.start, block.stop).tobytes()
    if _ODD_BLANKS.search(content):  # Arrow takes every single blank for the end of a column
        content = re.sub(rb" ?\n ?", b"\n", _BLANKS.sub(b" ", content)).strip(b" ")
    text = content.lstrip(b"\n")
    first = max(ids) + 1
    width = num_columns or max(len(text[: text.find(b"\n")].split()), first)
    attributes = range(first, width) if dtype is not None else range(0)
    parsed = np.dtype(np.float32) if dtype == np.float16 else dtype or np.dtype(np.int64)  # Arrow parses no float16
    if not text:
        return [np.empty(0, np.int64) for _ in ids], np.empty((0, len(attributes)), dtype)
    types = {str(i): pa.int64() for i in ids} | {str(i): pa.from_numpy_dtype(parsed) for i in attributes}
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=list(map(str, range(width))), use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[]),
        )
    except pa.ArrowInvalid as fault:
        message = str(fault).splitlines()[0]
        row, found = match.groups() if (match := _ROW.search(message)) else ("1", message)
        expected = f"{', '.join(ids.values())}{f', {len(attributes)} attributes of dtype {dtype}' if dtype else ''}"
        raise _line_fault(block, int(row) - 1, "line cannot be read", expected, found) from fault
    columns = [column.to_numpy() for column in table.columns]
    rows = np.stack(columns[len(ids) :], axis=1).astype(dtype, copy=False) if attributes else np.empty((0, 0))
    return columns[: len(ids)], rows


def check_range(block: Block, ids: np.ndarray, limits: int | np.ndarray, what: str) -> None:
    """Refuse IDs that are negative, or not below a limit."""
    bad = np.flatnonzero((ids < 0) | (ids >= limits))
    if bad.size:
        row = int(bad[0])
        limit = int(np.broadcast_to(limits, ids.shape)[row])
        raise _line_fault(block, row, f"{what} out of range", f"[0, {limit:,})", f"{ids[row]:,}")


def _line_fault(block: Block, row: int, what: str, expected: str, found: object) -> AssignmentError:
    """Build the error of a row of a block; lines are counted without blank ones."""
    place = f"line {count_rows_before(block) + row + 1:,}"
    return AssignmentError(what, file=block.path, place=place, expected=expected, found=found)


def read_nodes(
    block: Block, starts: np.ndarray, num_weights: int, num_columns: int | None = None, dtype: np.dtype | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Read lines `new_nid ntype weights... type_nid attributes...` of `pm_dglpart`.

    Return original homogeneous IDs, int64, and attributes as rows, if a dtype is given.
    """
    names = {1: "node type", 2 + num_weights: f"{num_weights} weights, ID in its node type"}
    (ntypes, type_nids), attributes = read_columns(block, names, num_columns, dtype)
    check_range(block, ntypes, starts.size - 1, "node type")
    check_range(block, type_nids, np.diff(starts)[ntypes], "ID in its node type")
    return starts[ntypes] + type_nids, attributes


def count_node_weights(parts: PartFiles, graph: str) -> int:
    """Count the weights in the lines of `pm_dglpart`: as given, or by the stats file, or else all columns but three."""
    if parts.num_node_weights is not None:
        return parts.num_node_weights
    stats = ParmetisFiles(parts.paths[0].parent, graph).text("stats")
    if not stats.is_file():
        return max(0, (count_columns(parts.paths) or 3) - 3)
    with attach_path_to_error(stats):
        text = stats.read_text(encoding="ascii", errors="replace")
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        what, expected = "not a stats file of ParMETIS", "num_nodes num_edges num_node_weights"
        raise AssignmentError(what, file=str(stats), expected=expected, found=repr(text[:60]))
    return int(words[2])
