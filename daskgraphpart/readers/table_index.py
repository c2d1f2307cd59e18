"""The index of a table of pandas or dask: make it a column where it has IDs, or say what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.readers.names_of_ends import known_ends, known_id

if TYPE_CHECKING:
    from collections.abc import Sequence

ID = "id"
ENDS = ("src", "dst")


def is_pandas(value: Any) -> bool:
    """Whether something is a frame of pandas or dask."""
    return hasattr(value, "index") and hasattr(value, "columns") and hasattr(value, "dtypes")


def counts_rows(index: Any) -> bool:
    """Whether an index only counts rows, of a table or of a slice; that of dask tells it by having no name."""
    if index.name is not None or getattr(index, "nlevels", 1) > 1:
        return False
    return hasattr(index, "dask") or getattr(index, "step", 0) == 1 or not len(index)


def index_as_ids(table: Any, what: str) -> Any:
    """Return a table of nodes with its IDs in column `id`, or else in the first, to which a named index becomes."""
    names = list(map(str, table.columns)) if is_pandas(table) else [ID]
    if known_id(names) is not None or (counts_rows(table.index) and names):
        return table
    index = table.index
    if getattr(index, "nlevels", 1) > 1:
        name = next((str(name) for name in index.names if name is not None), "level_0")
        hint = f"make them columns, and name the one of IDs: table.reset_index().rename(columns={{{name!r}: 'id'}})"
        raise OptionError(f"{what}: an index of several levels is no node ID", found=[*index.names], hint=hint)
    if index.name is not None and str(index.name) not in names:
        return table.reset_index()
    expected = "IDs in a column id, in an index with a name of its own, or in the first column"
    kind = f"an index {'without a name' if index.name is None else repr(index.name)}, and columns {', '.join(names)}"
    hint = "if the index has them, type table.rename_axis('id')"
    first = f"; if column {names[0]!r} has, table.reset_index(drop=True)" if names else ""
    raise OptionError(f"{what}: where are the IDs?", expected=expected, found=kind, hint=hint + first)


def index_as_ends(table: Any, what: str, ends: Sequence[str] = ENDS) -> Any:
    """Return a table of edges with the ends that its index has as columns."""
    if not is_pandas(table):
        return table
    names, index = {*map(str, table.columns)}, table.index
    levels = [name for name in getattr(index, "names", [index.name]) if name is not None]
    if {*ends} <= names or known_ends(names) or (not levels and getattr(index, "nlevels", 1) == 1):
        return table
    if {*ends} <= {*names, *levels}:
        return table.reset_index()
    kind = f"an index {', '.join(map(str, levels)) or 'of several levels'}, and columns {', '.join(sorted(names))}"
    hint = "type table.reset_index() if the index has an end of each edge, else table.reset_index(drop=True)"
    raise OptionError(f"{what}: where are the ends?", expected=f"columns {' and '.join(ends)}", found=kind, hint=hint)
