"""Recognise tables in memory, and find the IDs of their rows.

Tables are frames of pandas and dask, whatever gives an Arrow stream (polars, DuckDB, pyarrow), and lists of these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.graph.collections import join_frames
from daskgraphpart.readers.names_of_ends import ENDS, ID, choose_ends, counts_rows, index_as_ids, is_pandas


def is_lazy(value: Any) -> bool:
    """Whether something is a collection of dask."""
    return hasattr(value, "dask")


def is_frame(value: Any) -> bool:
    """Whether something is a frame of pandas or dask, or an Arrow table."""
    return is_pandas(value) or (hasattr(value, "column_names") and hasattr(value, "to_batches"))


def is_series(value: Any) -> bool:
    """Whether something is a series of pandas or dask: values, each with an index."""
    return hasattr(value, "index") and hasattr(value, "to_frame") and not hasattr(value, "columns")


def is_table(value: Any) -> bool:
    """Whether something is a table, or several."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(is_table, value))
    return is_frame(value) or _is_unread(value) or _is_stream(value)


def _is_stream(value: Any) -> bool:
    """Whether something gives an Arrow stream of rows, not of the values of one column."""
    if hasattr(value, "__arrow_c_array__") and hasattr(value, "schema"):
        return True  # a record batch
    is_column = len(getattr(value, "shape", (0, 0))) == 1 or hasattr(value, "chunks")
    return hasattr(value, "__arrow_c_stream__") and not is_column


def _is_unread(value: Any) -> bool:
    return type(value).__name__ == "LazyFrame" and hasattr(value, "collect")


def as_table(value: Any, what: str, from_index: Callable[[Any, str], Any] | None = None) -> Any:
    """Return tables as one frame of pandas or dask, or as an Arrow table; anything else stays as it is.

    `from_index` makes columns of the index of each frame, which Arrow drops.
    """
    if is_frame(value):
        return value if from_index is None else from_index(value, what)
    if hasattr(value, "with_format") and isinstance(getattr(value, "num_rows", None), int):  # a Dataset of Hugging Face
        return value.with_format("arrow")[:]
    if not is_table(value):
        return value
    if isinstance(value, (list, tuple)):
        return _joined([as_table(one, what, from_index or index_as_ids) for one in value], what)
    if _is_unread(value):
        raise OptionError(f"{what}: a LazyFrame has no rows yet", hint="give the result of its collect()")
    import pyarrow as pa  # slow to import

    try:
        return pa.Table.from_batches([value]) if isinstance(value, pa.RecordBatch) else pa.table(value)
    except (pa.ArrowException, ValueError, TypeError) as fault:
        raise OptionError(f"{what}: Arrow cannot read this table", found=str(fault)[:200]) from fault


def _joined(tables: Sequence[Any], what: str) -> Any:
    """Return several tables with the same columns as one."""
    names = [column_names(table) for table in tables]
    for other in names:
        if other != names[0]:
            expected, columns = ", ".join(names[0]), ", ".join(other)
            raise OptionError(f"{what}: tables of a list differ in their columns", expected=expected, found=columns)
    if len(tables) == 1:
        return tables[0]
    if any(map(is_lazy, tables)):
        return join_frames([table if is_lazy(table) else as_pandas(table) for table in tables])
    import pyarrow as pa  # slow to import

    try:
        arrow = [pa.Table.from_pandas(one, preserve_index=False) if is_pandas(one) else one for one in tables]
        return pa.concat_tables(map(_with_plain_text, arrow), promote_options="permissive")
    except (pa.ArrowException, ValueError, TypeError) as fault:
        raise OptionError(f"{what}: tables of a list do not fit together", found=str(fault)[:200]) from fault


def _with_plain_text(table: Any) -> Any:
    """Return an Arrow table with one type of text, since types of different libraries do not fit together."""
    import pyarrow as pa  # slow to import

    text = {pa.string_view(): pa.large_string(), pa.string(): pa.large_string()}
    return table.cast(pa.schema([field.with_type(text.get(field.type, field.type)) for field in table.schema]))


def as_pandas(table: Any) -> Any:
    """Return an Arrow table as a frame of pandas, without copying numbers where that is possible."""
    return table.to_pandas(split_blocks=True) if is_frame(table) and not is_pandas(table) else table


def column_names(table: Any) -> list[str]:
    """Names of a table's columns."""
    return list(map(str, table.column_names if hasattr(table, "to_batches") else table.columns))


def is_numeric(table: Any, name: str) -> bool:
    """Whether a column holds numbers."""
    if not hasattr(table, "to_batches"):
        return getattr(table.dtypes[name], "kind", "O") in "biuf"
    return str(table.schema.field(name).type).startswith(("int", "uint", "float", "double", "halffloat", "bool"))


@dataclass(frozen=True, slots=True, eq=False)
class ById:
    """A table whose column `key` has the ID of each row, and `name` the values; empty in a list of IDs."""

    table: Any
    key: str
    name: str = ""


def find_ids(values: Any, feature: str, what: str) -> ById | None:
    """Find the IDs of the rows of a feature: a column `id`, or the index; None if it has neither.

    An index of rows 0, 1, 2, ... without a name tells no IDs.
    """
    table = values.to_frame(name=feature) if is_series(values) else values
    if not is_frame(table):
        return None
    names = column_names(table)
    if ID not in names and is_pandas(table):
        index: Any = table.index
        if getattr(index, "nlevels", 1) > 1:
            raise OptionError(f"{what}: an index of several levels is no node ID", hint="give a column id")
        if not (counts_rows(index) and getattr(index, "start", 0) == 0):
            key = str(index.name) if index.name not in (None, *names) else ID
            return _checked(table.rename_axis(index=key).reset_index(), key, feature, what)
    return _checked(table, ID, feature, what) if ID in names else None


def _checked(table: Any, key: str, feature: str, what: str) -> ById:
    others = [name for name in column_names(table) if name != key]
    if len(others) != 1 and feature not in others:
        shown, hint = ", ".join(others) or "none", f"give one: table[[{key!r}, 'COLUMN']]"
        raise OptionError(f"{what}: not exactly one column in addition to the IDs", found=shown, hint=hint)
    return ById(table, key, others[0] if len(others) == 1 else feature)


def without_ids(what: str) -> OptionError:
    """Refuse values of nodes that neither have IDs nor are an array."""
    expected = "IDs in a column id, or as the index (set_index)"
    hint = "or an array, such as to_numpy(), whose rows are in the order of nodes"
    return OptionError(f"{what}: nothing says which node a row belongs to", expected=expected, hint=hint)


def ids_of_mask(given: Any, what: str) -> ById:
    """Return the IDs that a mask lists: a list, array or series, or a frame with them in `id` or its first column."""
    table = as_table(given, what, index_as_ids)
    if is_frame(table):
        names = column_names(table)
        return ById(table, ID if ID in names else names[0])
    import pyarrow as pa  # slow to import

    values = given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(given)
    if values.ndim != 1 or values.dtype.kind == "b":
        kind, hint = f"{values.dtype} of shape {values.shape}", "give a mask with a value per node as node data"
        raise OptionError(f"{what}: not a list of node IDs", expected="one ID per row", found=kind, hint=hint)
    try:
        return ById(pa.table({ID: pa.array(values.tolist())}), ID)
    except (pa.ArrowException, ValueError, TypeError) as fault:
        raise OptionError(f"{what}: not a list of node IDs", found=str(fault)[:200]) from fault


def are_paths(given: Any) -> bool:
    """Whether what may be files names any; a list of string IDs does not."""
    if not isinstance(given, (list, tuple)) or len(given) == 1:
        return True
    return any(not isinstance(one, str) or os.path.exists(one.partition(":")[0]) for one in given)


def what_to_give(value: Any) -> str | None:
    """Say what to type for a table or graph of a kind that is not taken, as a hint."""
    library = type(value).__module__.partition(".")[0]
    if library == "igraph":
        return "give numpy.array(graph.get_edgelist()), and num_nodes=graph.vcount() to from_edges"
    if library == "datasets":
        return "give one of its splits, such as given['train'], or Dataset.from_list(list(given)) of rows that stream"
    if hasattr(value, "to_table"):
        files = "its files to scan_tables, by list(given.files), or " if hasattr(value, "files") else ""
        return f"give {files}given.to_table()"
    if library == "pyarrow" and hasattr(value, "read"):
        return "give given.read()"
    if isinstance(value, (Iterator, Set, list)):
        return "give numpy.array(list(given)) of pairs of numbers, else pandas.DataFrame(list(given))"
    is_columns = isinstance(value, Mapping) or getattr(getattr(value, "dtype", None), "names", None)
    if len(getattr(value, "shape", ())) == 1 and not is_columns:
        return "give columns together, as pandas.DataFrame({'src': ..., 'dst': ...})"
    return "give pandas.DataFrame(given)" if is_columns else None


def ends_of(names: Sequence[Any], etype: str, features: Sequence[str] = ()) -> tuple[Any, ...]:
    """Return the columns of sources and destinations: of usual names, of those of the node types, or no features."""
    types = etype.split(":")[::2] if etype.count(":") == 2 else ()
    if (ends := choose_ends(list(map(str, names)), features, types)) is None:
        listed, renamed = ", ".join(map(str, names)), dict(zip(names, ENDS, strict=False))
        expected, hint = "columns src and dst", f"name them, for example table.rename(columns={renamed})"
        raise OptionError(
            f"edges of type {etype!r}: nothing says which columns are the ends",
            expected=expected,
            found=listed,
            hint=hint,
        )
    return tuple(names[end] for end in ends)


def pair_of(value: Any, what: str) -> tuple[Any, Any]:
    """Sources and destinations of a pair, an array (2, edges) as in PyG, or one (edges, 2)."""
    shape = tuple(getattr(value, "shape", ()))
    if shape == (2, 2):
        hint = "give a pair: (array[0], array[1]) if rows are ends, (array[:, 0], array[:, 1]) if rows are edges"
        raise OptionError(f"{what} are ambiguous", found="an array of shape (2, 2)", hint=hint)
    are_edges = isinstance(value, list) and all(isinstance(one, tuple) and len(one) == 2 for one in value)
    if len(shape) == 2 and shape[1] == 2:
        return value[:, 0], value[:, 1]
    if (len(shape) == 2 and shape[0] == 2) or (isinstance(value, (tuple, list)) and len(value) == 2 and not are_edges):
        return value[0], value[1]
    expected = "a frame with columns src and dst, a pair (sources, destinations), or an array of shape (2, edges) or "
    expected += "(edges, 2)"
    kind = f"an array of shape {shape}" if shape else type(value).__name__
    raise OptionError(f"{what} are not edges", expected=expected, found=kind, hint=what_to_give(value))


def parquet_schema(schema: Any) -> Any:
    """Return a schema as Parquet can hold it: with plain strings in categories, where polars has views."""
    import pyarrow as pa  # slow to import

    for place, of in enumerate(schema):
        if pa.types.is_dictionary(of.type) and str(of.type.value_type) == "string_view":
            kind = pa.dictionary(of.type.index_type, pa.large_string(), of.type.ordered)
            schema = schema.set(place, of.with_type(kind))
    return schema
