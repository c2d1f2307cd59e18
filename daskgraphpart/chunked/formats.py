"""Open data files of any format, cut them into blocks, the unit of work of every pass, and read these.

Each format's module has `open_edges` and `read_edges` and, except CSV, `open_rows` and `read_rows` for features.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from daskgraphpart.errors import GraphPartError, InputFileError, MetadataError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import DataSpec, EdgeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from daskgraphpart.chunked.metadata import Files
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

    def read_edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Read sources and destinations, int64."""
        edges: tuple[np.ndarray, np.ndarray] = FORMATS[self.format].read_edges(self)
        return edges


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


def blocks_between(blocks: Sequence[Block], start: int, stop: int) -> Sequence[Block]:
    """Select the numbered blocks that have rows in ``[start, stop)``."""
    begin = bisect_right(blocks, start, key=_first_row) - 1
    return blocks[max(0, begin) : bisect_left(blocks, stop, key=_first_row)]


def _first_row(block: Block) -> int:
    return block.first_row


def clip_blocks(blocks: Sequence[Block], stretches: Iterable[tuple[int, int]]) -> Iterator[Block]:
    """Clip numbered blocks of npy and parquet files to ascending ranges of rows."""
    for start, stop in stretches:
        for block in blocks_between(blocks, start, stop):
            skipped, end = max(0, start - block.first_row), min(block.num_rows, stop - block.first_row)
            if skipped < end:
                yield replace(
                    block, start=block.start + skipped, stop=block.start + end, first_row=block.first_row + skipped,
                    num_rows=end - skipped, row_in_file=block.row_in_file + skipped,
                )  # fmt: skip


def cut_bytes(files: Sequence[InputFile], max_bytes: int) -> list[Block]:
    """Cut CSV files into blocks of at most `max_bytes` bytes, to be numbered later."""
    step = max(1, max_bytes)
    return [
        Block(file.path, file.format, file.delimiter, start, min(start + step, file.nbytes), -1, -1, -1)
        for file in files
        for start in range(0, file.nbytes, step)
    ]


BlockT = TypeVar("BlockT", bound=Block)


def number_blocks(blocks: Sequence[BlockT], counts: Sequence[int]) -> list[BlockT]:
    """Number the blocks of one edge type from their row counts; drops empty ones."""
    numbered, first_row, row_in_file = [], 0, 0
    for block, count in zip(blocks, counts, strict=True):
        row_in_file = row_in_file if block.start else 0  # a file starts at 0, even if listed twice
        if count:
            numbered.append(replace(block, first_row=first_row, num_rows=count, row_in_file=row_in_file))
        first_row += count
        row_in_file += count
    return numbered


_MODULES = {"csv": "read_csv", "numpy": "read_npy", "parquet": "read_parquet"}
FORMATS: Mapping[str, Any] = LazyMapping(
    "format", tuple(_MODULES), lambda name: import_module(f"daskgraphpart.chunked.{_MODULES[name]}")
)
"""Modules by format, imported when they are used."""
EDGE_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


def edge_file(path: str, files: Files) -> InputFile:
    """Open one file of edges."""
    opened: tuple[InputFile, dict[str, np.dtype]] = FORMATS[files.format].open_edges(path, files.delimiter)
    for place, dtype in opened[1].items():
        if dtype.name not in EDGE_DTYPES:
            what, expected = "node IDs of edges are not integers", ", ".join(EDGE_DTYPES)
            raise InputFileError(what, file=path, place=place or None, expected=expected, found=str(dtype))
    return opened[0]


def feature_files(name: str, files: Files) -> tuple[DataSpec, tuple[InputFile, ...]]:
    """Open one feature's files, at least one; dtype and row shape must agree."""
    found = [FORMATS[files.format].open_rows(path) for path in files.paths]
    # an empty file of lists has no length of its own
    first, first_dtype, known_shape = next((entry for entry in found if entry[2] is not None), found[0])
    first_shape = (0,) if known_shape is None else known_shape
    for file, dtype, row_shape in found:
        if dtype != first_dtype or row_shape not in (None, first_shape):
            raise InputFileError(
                f"files of feature {name!r} differ in dtype or shape",
                file=file.path,
                expected=f"{first_dtype.name} rows of shape {first_shape}, as in {os.path.basename(first.path)}",
                found=f"{dtype.name} rows of shape {first_shape if row_shape is None else row_shape}",
            )
    try:
        is_scalar = first_shape == () or (files.is_flat and files.format == "parquet" and first_shape == (1,))
        spec = DataSpec(name, first_dtype, () if is_scalar else first_shape)
    except MetadataError as error:
        raise error.restated(InputFileError, file=first.path) from None
    return spec, tuple(file for file, *_ in found)


def read_rows(block: Block, spec: DataSpec) -> np.ndarray:
    """Read a block of a feature: array (rows, *row shape) in the spec's dtype, C-contiguous."""
    rows: np.ndarray = FORMATS[block.format].read_rows(block, spec)
    return rows


def check_ends(
    src: np.ndarray,
    dst: np.ndarray,
    edge_type: EdgeType,
    num_src: int,
    num_dst: int,
    *,
    file: Any,
    first_row: int,
    error: type[GraphPartError] = InputFileError,
) -> None:
    """Refuse edges that end outside their node type; messages count rows from `first_row`."""
    ends = ((src, num_src, edge_type.src), (dst, num_dst, edge_type.dst))
    if all(not ids.size or (ids.min() >= 0 and ids.max() < count) for ids, count, _ in ends):
        return
    is_bad = np.stack([(ids < 0) | (ids >= count) for ids, count, _ in ends], axis=1)
    row, end = divmod(int(is_bad.argmax()), 2)
    ids, count, ntype = ends[end]
    raise error(
        f"ID of a {ntype!r} node out of range, in edges of type {edge_type.name!r}",
        file=file,
        place=f"row {first_row + row:,}",
        expected=f"an ID in [0, {count:,})" if count else "no edges, because this type has no nodes",
        found=f"{int(ids[row]):,}",
        hint="check num_nodes_per_type in metadata.json; IDs are type-wise and begin at 0",
    )
