"""Edges of tables that need no database: dense IDs in plain text, parquet columns, or arrays.

The pass `scan-tables` counts them and finds their largest and smallest IDs. Anything not plain, or possibly wrong, goes
to the database, which names the line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.graph.read_csv import Lines, read_lines
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.graph.rows import ArrayRows, EdgeEnds, JoinedRows
from daskgraphpart.graph.sources import INT64, FileRows, LineEdges
from daskgraphpart.kernels.parse_ints import parse_edges
from daskgraphpart.readers.tables.describe.columns import MAX_ID
from daskgraphpart.readers.tables.describe.text_file import TextFile
from daskgraphpart.readers.tables.read_options import COLONS
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.column_file import ColumnFile
    from daskgraphpart.readers.tables.describe.description import Description, Table
    from daskgraphpart.source import Block, Edges, Source

MAX_BLOCK_BYTES, MIN_BLOCK_BYTES, BYTES_PER_TEXT_BYTE = 2 << 20, 1 << 16, 24
MAX_LINE_BYTES = 24  # of most lines, when joining blocks
ROWS_PER_UNIT = 1 << 18
PLAIN_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


@dataclass(frozen=True, slots=True)
class TableLines(Lines):
    """Lines of a table of text, and how to read them; `content` has them, unpacked."""

    content: str
    columns: tuple[int, int]
    num_fields: int

    def read_plain(self) -> Edges | None:
        """Read the IDs of sources and destinations, int64 (edges,); None if a line is not plain."""
        content = read_lines(self.content, self.start, self.stop)
        ends = np.empty((2, content.size // 4 + 1), np.int64)  # two digits, a delimiter, a newline
        columns = min(self.columns), max(self.columns)
        rows, fault, _ = parse_edges(content, ord(self.delimiter), columns, self.num_fields, *ends)
        src, dst = ends if columns == self.columns else ends[::-1]
        return None if fault else (src[:rows], dst[:rows])

    def read(self, num_rows: int, row_in_file: int) -> Edges:
        """Read sources and destinations of counted lines."""
        ends = self.read_plain()
        if ends is None or ends[0].size != num_rows:
            what, expected = "file has changed since its lines were counted", f"{num_rows:,} edges"
            lines = "other lines" if ends is None else f"{ends[0].size:,}"
            raise InputFileError(what, file=self.path, place=f"byte {self.start:,}", expected=expected, found=lines)
        return ends


@dataclass(frozen=True, eq=False)
class TextEdges(LineEdges):
    """Edges in counted lines of tables."""

    def blocks(self, max_rows: int, stretches: np.ndarray | None = None) -> list[Block[Any]]:
        """Join ranges of one file up to `max_rows`, and about as much text."""
        lines, counts = list[Any](), list[int]()
        for of, count in zip(self.lines, self.counts, strict=True):
            last = lines[-1] if lines else None
            if (
                last is not None
                and last.content == of.content
                and last.stop == of.start
                and counts[-1] + count <= max_rows
                and of.stop - last.start <= MAX_LINE_BYTES * max_rows
            ):
                lines[-1] = replace(last, stop=of.stop)
                counts[-1] += count
            else:
                lines.append(of)
                counts.append(count)
        return LineEdges(self.files, tuple(lines), tuple(counts)).blocks(max_rows)


@dataclass(frozen=True, slots=True, eq=False)
class PlainEdges:
    """Edges that need no database, and the largest and smallest ID of each end; -1 and 0 if empty."""

    source: Source
    limits: tuple[tuple[int, int], tuple[int, int]]

    @property
    def num_rows(self) -> int:
        """Number of edges."""
        return self.source.shape[0]


def scan_plain_edges(described: Description, runner: Runner) -> dict[str, PlainEdges]:
    """Find the edge tables that need no database, by name, and scan them."""
    by_table = {}
    for table in described.of_edges:
        if not described.options.map_ids and not table.features and not any(map(described.lists, table.ends)):
            plain = _scan(table, runner)
            if plain is not None and _is_in_range(plain, [described.num_nodes[end] for end in table.ends]):
                by_table[table.name] = plain
    return by_table


def _is_in_range(plain: PlainEdges, num_nodes: Sequence[int | None]) -> bool:
    limits = zip(plain.limits, num_nodes, strict=True)
    return all(least >= 0 and most <= MAX_ID and (count is None or most < count) for (most, least), count in limits)


def _scan(table: Table, runner: Runner) -> PlainEdges | None:
    """Scan a table; None if it is not plain."""
    files = table.files
    if all(isinstance(file, TextFile) for file in files):
        return _scan_text(table, [file for file in files if isinstance(file, TextFile)], runner)
    rows = [None if isinstance(file, TextFile) else _columns_of(file) for file in files]
    sources = [source for source in rows if source is not None]
    if len(sources) < len(files):
        return None
    source: Source = sources[0] if len(sources) == 1 else JoinedRows(tuple(sources))
    limits = _run(table, [(block.num_rows * 16, block.load) for block in source.blocks(ROWS_PER_UNIT)], runner)
    return None if limits is None else PlainEdges(source, _limits(limits))


def _columns_of(file: ColumnFile) -> Source | None:
    """Two integer columns of parquet, or arrays, as edges."""
    columns = file.columns[:2]
    if any(column.position is None or str(column.dtype) not in PLAIN_DTYPES for column in columns):
        return None
    if file.arrays:
        are_ends = len(file.arrays) == 2 and all(isinstance(array, np.ndarray) for array in file.arrays)
        return EdgeEnds(*map(ArrayRows, file.arrays)) if are_ends else None
    names = tuple(column.name for column in columns)
    if names[0] == names[1]:
        return None
    header = read_parquet_header(file.content)
    if any(str(header.schema.field(name).type) not in PLAIN_DTYPES for name in names):
        return None
    nbytes = os.path.getsize(file.content)
    rows = InputFile(file.content, "parquet", " ", header.num_rows, nbytes, header.row_group_ends)
    return FileRows((rows,), DataSpec("edges", INT64, (2,)), names)


def _scan_text(table: Table, files: Sequence[TextFile], runner: Runner) -> PlainEdges | None:
    """Count lines of text, and find the range of IDs."""
    step = min(MAX_BLOCK_BYTES, max(MIN_BLOCK_BYTES, runner.resources.task_memory // BYTES_PER_TEXT_BYTE))
    lines: list[TableLines] = []
    for file in files:
        of_file = _blocks_of(file, step)
        if of_file is None:
            return None
        lines += of_file
    by_unit = _run(table, [(of.stop - of.start, of.read_plain) for of in lines], runner)
    if by_unit is None:
        return None
    counts = [num_rows for num_rows, *_ in by_unit]
    of_text = [InputFile(f.path, "text", f.rows.delimiter, None, os.path.getsize(f.content)) for f in files]
    return PlainEdges(TextEdges(tuple(of_text), tuple(lines), tuple(counts)), _limits(by_unit))


def _blocks_of(file: TextFile, step: int) -> list[TableLines] | None:
    """Cut a text file into blocks; None if packed, a matrix, between colons, or of changing form."""
    rows, size = file.rows, os.path.getsize(file.content)
    src, dst = (column.position for column in file.columns[:2])
    is_plain = rows.packing == "none" and rows.delimiter != COLONS and file.num_entries is None and src != dst
    if not is_plain or src is None or dst is None or not _begins_a_line(rows.content, rows.first_byte):
        return None
    return [
        TableLines(rows.path, rows.delimiter, begin, min(begin + step, size), rows.content, (src, dst), file.num_fields)
        for begin in range(rows.first_byte, size, step)
    ]


def _begins_a_line(path: str, byte: int) -> bool:
    with open(path, "rb") as file:
        file.seek(max(0, byte - 1))
        return byte == 0 or file.read(1) == b"\n"


def _run(table: Table, units: Sequence[tuple[int, Callable[..., Any]]], runner: Runner) -> list[tuple[int, ...]] | None:
    """Run the pass; None if anything is not plain."""
    priced = [Unit(read, nbytes, key=table.of_type) for nbytes, read in units]
    try:
        by_unit = runner.run(Pass("scan-tables", scan_table, priced, None))
    except InputFileError:  # the database names the line
        return None
    plain = [of_unit for of_unit in by_unit if of_unit is not None]
    return plain if len(plain) == len(by_unit) else None


def scan_table(read: Callable[..., Any], _: None) -> tuple[int, ...] | None:
    """Return the number of edges, and the largest and smallest ID of each end; None if not plain."""
    ends = read()
    if ends is None:
        return None
    src, dst = ends if isinstance(ends, tuple) else ends.T
    if not src.size:
        return 0, -1, 0, -1, 0
    return src.size, int(src.max()), int(src.min()), int(dst.max()), int(dst.min())


def _limits(by_unit: Sequence[tuple[int, ...]]) -> tuple[tuple[int, int], tuple[int, int]]:
    some = [of_unit for of_unit in by_unit if of_unit[0]] or [(0, -1, 0, -1, 0)]
    return (
        (max(unit[1] for unit in some), min(unit[2] for unit in some)),
        (max(unit[3] for unit in some), min(unit[4] for unit in some)),
    )
