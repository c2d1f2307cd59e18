"""Read and write lines of numbers between blanks, block by block, as ParMETIS' programs have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.errors import AssignmentError
from daskgraphpart.sources.parmetis_files import ParmetisFiles
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from daskgraphpart.sources.parmetis_files import PartFiles

TASK_NBYTES_PER_BYTE = 32
"""Memory of a task for a byte of text: text twice, columns and a copy of them (a number takes 2 bytes of text)."""
_BLANKS = re.compile(rb"[ \t\r]+")
_ODD_BLANKS = re.compile(rb"  |[\t\r]| \n|\n | \Z|\A ")
_ROW = re.compile(r"Row #(\d+): ?(.*)")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """The lines of a file that begin in a range of bytes."""

    path: str
    start: int
    stop: int

    @property
    def nbytes(self) -> int:
        """Length of the range."""
        return self.stop - self.start


NumberedBlock = tuple[int, TextBlock]
"""A number that goes with the file, such as its part, and lines of it."""


def cut_text(files: Iterable[tuple[int, Path]], task_memory: int) -> list[NumberedBlock]:
    """Cut numbered files into blocks that tasks of so much memory can read."""
    step = max(1, min(task_memory // TASK_NBYTES_PER_BYTE, 8 << 20))
    sizes = [(number, path, path.stat().st_size) for number, path in files]
    return [
        (number, TextBlock(str(path), start, min(start + step, size)))
        for number, path, size in sizes
        for start in range(0, size, step)
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
    block: TextBlock, columns: Sequence[int], layout: str, num_columns: int | None = None, dtype: np.dtype | None = None
) -> np.ndarray:
    """Read some columns, by number, of a block of lines; array (columns, rows), int64 unless a dtype is given."""
    import pyarrow as pa
    from pyarrow import csv

    dtype = np.dtype(np.int64) if dtype is None else dtype
    content = read_lines(block.path, block.start, block.stop).tobytes()
    if _ODD_BLANKS.search(content):  # Arrow takes every single blank for the end of a column
        content = re.sub(rb" ?\n ?", b"\n", _BLANKS.sub(b" ", content)).strip(b" ")
    text = content.lstrip(b"\n")
    if not text:
        return np.empty((len(columns), 0), dtype)
    width = num_columns or max(len(text[: text.find(b"\n")].split()), max(columns) + 1)
    names = [str(number) for number in range(width)]
    wanted = [names[number] for number in columns]
    parsed = np.dtype(np.float32) if dtype == np.float16 else dtype  # which Arrow does not parse
    convert = csv.ConvertOptions(
        column_types=dict.fromkeys(wanted, pa.from_numpy_dtype(parsed)), include_columns=wanted, null_values=[]
    )
    reading = csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1)
    parsing = csv.ParseOptions(delimiter=" ", quote_char=False)
    try:
        table = csv.read_csv(pa.BufferReader(text), reading, parsing, convert)
    except pa.ArrowInvalid as fault:
        row = _ROW.search(message := str(fault).splitlines()[0])
        raise line_fault(
            block, int(row[1]) - 1 if row else 0, "line cannot be read", layout, row[2] if row else message
        ) from fault
    return np.stack([column.to_numpy() for column in table.columns]).astype(dtype, copy=False)


def read_node_ids(block: TextBlock, starts: np.ndarray, num_weights: int) -> np.ndarray:
    """Read lines `new_nid ntype weights... type_nid attributes...` of `pm_dglpart`: original homogeneous IDs, int64."""
    layout = f"new node ID, node type, {num_weights} weights, ID in its type"
    new_nids, ntypes, type_nids = read_columns(block, (0, 1, 2 + num_weights), layout)
    check_range(block, new_nids, int(starts[-1]), "new node ID")
    check_range(block, ntypes, starts.size - 1, "node type")
    check_range(block, type_nids, np.diff(starts)[ntypes], "ID in its node type")
    nodes: np.ndarray = starts[ntypes] + type_nids
    return nodes


def count_node_weights(parts: PartFiles, graph: str) -> int:
    """Count the weights in the lines of `pm_dglpart`: as given, or by the stats file, or else all columns but three."""
    if parts.num_node_weights is not None:
        return parts.num_node_weights
    stats = ParmetisFiles(parts.paths[0].parent, graph).stats
    if not stats.is_file():
        return max(0, (count_columns(parts.paths) or 3) - 3)
    with attach_path_to_error(stats):
        text = stats.read_text(encoding="ascii", errors="replace")
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() for word in words):
        raise AssignmentError(
            "not a stats file of ParMETIS",
            file=str(stats),
            expected="num_nodes num_edges num_node_weights",
            found=repr(text[:60]),
        )
    return int(words[2])


def check_range(block: TextBlock, ids: np.ndarray, limits: int | np.ndarray, what: str) -> None:
    """Refuse IDs that are negative, or not below a limit."""
    bad = np.flatnonzero((ids < 0) | (ids >= limits))
    if bad.size:
        row = int(bad[0])
        limit = int(np.broadcast_to(limits, ids.shape)[row])
        raise line_fault(block, row, f"{what} out of range", f"[0, {limit:,})", f"{ids[row]:,}")


def line_fault(block: TextBlock, row: int, what: str, expected: str, found: object) -> AssignmentError:
    """Build the error of a row of a block; only then are the lines of the file before it counted."""
    step = max(1 << 20, block.nbytes)
    before = sum(
        int(np.count_nonzero(read_lines(block.path, start, min(start + step, block.start)) == ord("\n")))
        for start in range(0, block.start, step)
    )
    lines = read_lines(block.path, block.start, block.stop).tobytes().split(b"\n")
    rows = [number for number, line in enumerate(lines) if line.strip()]
    place = f"line {before + rows[row] + 1:,}"
    return AssignmentError(what, file=block.path, place=place, expected=expected, found=found)


def write_lines(path: str, columns: Sequence[np.ndarray]) -> None:
    """Write rows of integers: a space between columns, a newline behind each row."""
    import pyarrow as pa
    from pyarrow import csv

    # measured: 150 MB/s on one core, without the GIL
    table = pa.table({str(number): np.ascontiguousarray(column) for number, column in enumerate(columns)})
    with attach_path_to_error(path), open(path, "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))
