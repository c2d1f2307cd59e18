"""Open data files of any format, and cut them into ranges of rows.

Each format's module has `open_edges`; those of npy and parquet also have `read_edges`, and `open_rows` and `read_rows`
for features. Lines of CSV have to be counted first: that module has `cut_lines`, which returns `read_csv.Lines`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import GraphPartError, InputFileError, MetadataError
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.schema import DataSpec, EdgeType

if TYPE_CHECKING:
    from daskgraphpart.graph.metadata import Files
    from daskgraphpart.source import FilePath


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


def cut_rows(files: Sequence[InputFile], max_rows: int) -> Iterator[tuple[InputFile, int, int]]:
    """Cut npy and parquet files into ranges of rows: whole row groups while they fit, pieces of larger ones."""
    for file in files:
        start = last = 0
        for end in file.row_group_ends or (file.num_rows or 0,):
            if end - start > max_rows and last > start:
                yield file, start, last
                start = last
            while end - start > max_rows:
                yield file, start, start + max_rows
                start += max_rows
            last = end
        if last > start:
            yield file, start, last


_MODULES = {"csv": "read_csv", "numpy": "read_npy", "parquet": "read_parquet"}
FORMATS: Mapping[str, Any] = LazyMapping(
    "format", tuple(_MODULES), lambda name: import_module(f"daskgraphpart.graph.{_MODULES[name]}")
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
    headers = [FORMATS[files.format].open_rows(path) for path in files.paths]
    # an empty file of lists has no length of its own
    first, first_dtype, known_shape = next((entry for entry in headers if entry[2] is not None), headers[0])
    first_shape = (0,) if known_shape is None else known_shape
    for file, dtype, row_shape in headers:
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
    return spec, tuple(file for file, *_ in headers)


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
    known_by = "num_nodes_per_type in metadata.json" if file else "the number of nodes, or rows of their features"
    raise error(
        f"ID of a {ntype!r} node out of range, in edges of type {edge_type.name!r}",
        file=file,
        place=f"row {first_row + row:,}",
        expected=f"an ID in [0, {count:,})" if count else "no edges, because this type has no nodes",
        found=f"{int(ids[row]):,}",
        hint=f"check {known_by}; IDs are type-wise and begin at 0",
    )
