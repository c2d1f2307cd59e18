"""Rows wherever they are: in memory, in files, or staged by tasks; read a range at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from daskgraphpart.chunked.blocks import Block, InputFile
from daskgraphpart.chunked.formats import read_rows
from daskgraphpart.chunked.metadata import MAX_ROWS
from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.schema import DataSpec, GraphSchema, NodeType, parse_edge_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Rows(Protocol):
    """A feature, one end of edges, or edges as rows of two IDs; a `Region` is one."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""

    def read(self, start: int, stop: int) -> np.ndarray:
        """Read rows ``[start, stop)``."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadRows:
    """Rows that a function reads, and the files that they are in, if any; dask takes functions to other processes."""

    dtype: np.dtype
    shape: tuple[int, ...]
    read: Callable[[int, int], np.ndarray]
    paths: tuple[str, ...] = ()


def array_rows(array: Any, what: str = "an array") -> ReadRows:
    """Rows of an array in memory, of a memory map, or of anything that is sliced like one."""
    refuse_gaps(array, what)
    paths = (str(array.filename),) if isinstance(array, np.memmap) and array.filename else ()
    return ReadRows(np.dtype(array.dtype), tuple(array.shape), lambda start, stop: np.asarray(array[start:stop]), paths)


def refuse_gaps(values: Any, what: str) -> None:
    """Refuse values that an array of numpy cannot lack: masked ones, and missing ones of pandas' integers and bools."""
    dtype = None if hasattr(values, "dask") else getattr(values, "dtype", None)
    is_nullable = hasattr(values, "isna") and not isinstance(dtype, np.dtype)
    if isinstance(values, np.ma.MaskedArray):
        kind, count, hint = "masked", int(np.sum(np.ma.getmaskarray(values))), "array.filled(VALUE) fills them"
    elif is_nullable and getattr(dtype, "kind", "") in ("b", "i", "u"):
        kind, count, hint = "missing", int(values.isna().sum()), "fillna(VALUE) puts a value there"
    else:
        return
    if count:
        found = f"{count:,} of {np.size(values):,} that are {kind}"
        raise OptionError(f"{what}: values are {kind}", expected="a value everywhere", found=found, hint=hint)


def feature_rows(spec: DataSpec, files: Sequence[InputFile]) -> ReadRows:
    """Rows of a feature in npy or parquet files, one file after another."""

    def rows_of(file: InputFile) -> ReadRows:
        def read(start: int, stop: int) -> np.ndarray:
            block = Block(file.path, file.format, file.delimiter, start, stop, start, stop - start, start)
            return read_rows(block, spec)

        return ReadRows(spec.dtype, (file.num_rows or 0, *spec.row_shape), read, (file.path,))

    return joined_rows([rows_of(file) for file in files])


def joined_rows(parts: Sequence[Rows]) -> ReadRows:
    """Rows of several sources one after another, in the dtype that holds all of them."""
    dtype, row_shape = np.result_type(*(part.dtype for part in parts)), parts[0].shape[1:]

    def read(start: int, stop: int) -> np.ndarray:
        rows, first = np.empty((stop - start, *row_shape), dtype), 0
        for part in parts:
            low, high = max(start, first), min(stop, first + part.shape[0])
            if low < high:
                rows[low - start : high - start] = part.read(low - first, high - first)
            first += part.shape[0]
        return rows

    paths = tuple(path for part in parts for path in getattr(part, "paths", ()))
    return ReadRows(dtype, (sum(part.shape[0] for part in parts), *row_shape), read, paths)


def mapped_rows(
    rows: Rows, function: Callable[[np.ndarray, int], np.ndarray], dtype: np.dtype | None = None
) -> ReadRows:
    """Rows that a function makes of others and of the number of the first; theirs have the same shape."""
    paths = getattr(rows, "paths", ())
    return ReadRows(dtype or rows.dtype, rows.shape, lambda start, stop: function(rows.read(start, stop), start), paths)


def sliced_rows(rows: Rows, first: int, end: int) -> ReadRows:
    """Rows ``[first, end)`` of some."""
    shape = end - first, *rows.shape[1:]
    return ReadRows(rows.dtype, shape, lambda start, stop: rows.read(first + start, first + stop))


def kept_rows(rows: Rows, numbers: Rows) -> ReadRows:
    """Those of some rows that have the numbers, which rise."""

    def read(start: int, stop: int) -> np.ndarray:
        kept, done = numbers.read(start, stop), 0
        found = np.empty((len(kept), *rows.shape[1:]), rows.dtype)
        while done < len(kept):  # in ranges that have no more rows than are wanted, however few of them are kept
            low = int(kept[done])
            end = int(np.searchsorted(kept, low + len(kept)))
            found[done:end] = rows.read(low, int(kept[end - 1]) + 1)[kept[done:end] - low]
            done = end
        return found

    return ReadRows(rows.dtype, (numbers.shape[0], *rows.shape[1:]), read)


def edge_rows(src: Rows, dst: Rows) -> ReadRows:
    """Edges as rows of two int64: the IDs of source and destination."""

    def read(start: int, stop: int) -> np.ndarray:
        return np.stack([src.read(start, stop), dst.read(start, stop)], axis=1, dtype=np.int64, casting="unsafe")

    return ReadRows(np.dtype(np.int64), (src.shape[0], 2), read)


def schema_of(
    name: str,
    num_nodes: Mapping[str, int | None],
    num_edges: Mapping[str, int],
    data: Mapping[str, Mapping[str, Any]],
) -> GraphSchema:
    """Describe a graph by its counts and by the arrays or rows of its features, by any type and name.

    A number of nodes that is None is that of the rows of a feature, and `MAX_ROWS` if there is none.
    """
    counts = {
        ntype: next((rows.shape[0] for rows in data.get(ntype, {}).values()), MAX_ROWS) if count is None else int(count)
        for ntype, count in num_nodes.items()
    }
    specs = {
        type_name: tuple(_spec_of(type_name, feature, rows, count) for feature, rows in data.get(type_name, {}).items())
        for type_name, count in {**counts, **num_edges}.items()
    }
    return GraphSchema(
        name,
        tuple(NodeType(ntype, count, specs[ntype]) for ntype, count in counts.items()),
        tuple(parse_edge_type(etype, count, specs[etype]) for etype, count in num_edges.items()),
    )


def _spec_of(type_name: str, feature: str, rows: Any, count: int) -> DataSpec:
    if rows.shape[0] != count:  # also where it is not a number: chunks of a dask array may be unknown
        raise InputFileError(
            f"feature {feature!r} of {type_name!r} has another number of rows than there are nodes or edges",
            expected=f"{count:,}",
            found=f"{rows.shape[0]:,}",
            hint="call compute_chunk_sizes() of an array with unknown chunks" if np.isnan(rows.shape[0]) else None,
        )
    try:
        return DataSpec(feature, rows.dtype.newbyteorder("="), tuple(rows.shape[1:]))
    except MetadataError as error:
        raise error.restated(OptionError, what=f"{type_name}: {error.what}") from None
