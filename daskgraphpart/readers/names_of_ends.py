"""Know the columns of ends and IDs by their names, as graph databases, frameworks and data sets write them.

The index of a table of pandas or dask becomes a column where it has IDs, or an error says what to type.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from daskgraphpart.errors import OptionError
from daskgraphpart.schema import plain_name

PAIRS = (
    ("src", "dst"), ("source", "target"), ("source", "destination"), ("from", "to"), ("head", "tail"), ("u", "v"),
    ("i", "j"), ("row", "col"), ("rows", "cols"), ("sender", "receiver"), ("src_id", "dst_id"),
    ("source_id", "target_id"), ("from_id", "to_id"), ("fromnodeid", "tonodeid"), ("node1", "node2"),
    ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2"),
    (":start_id", ":end_id"),  # Neo4j
    ("~from", "~to"),  # Neptune
    ("_start", "_end"),  # APOC
    ("_from", "_to"),  # ArangoDB
    ("subject", "object"),  # KGX
)  # fmt: skip
"""Names of sources and destinations."""
IDS = (":id", "~id", "_id", "id", "_key")
"""Names of the column of IDs; the first of these that a table has."""
_USUAL = frozenset([*IDS, "node", "node_id", "nodeid", *(name for pair in PAIRS for name in pair)])
_NEO4J = re.compile(r".*(:(start_|end_)?id)([({].*)?")


def _word(name: str) -> str:
    """Return a name as it is in the tables above: Neo4j's ``userId:START_ID(User)`` is ``:start_id``."""
    lowered = name.strip().lower()
    match = _NEO4J.fullmatch(lowered)
    return match[1] if match else lowered


def known_ends(names: Iterable[str]) -> list[tuple[int, int]]:
    """Return the positions of sources and destinations, for each known pair that a table has once."""
    words = list(map(_word, names))
    return [
        (words.index(src), words.index(dst)) for src, dst in PAIRS if words.count(src) == 1 and words.count(dst) == 1
    ]


def known_id(names: Iterable[str]) -> int | None:
    """Return the position of the column of IDs."""
    words = list(map(_word, names))
    return next((words.index(name) for name in IDS if words.count(name) == 1), None)


def free_columns(names: Sequence[str], features: Collection[str]) -> list[int]:
    """Return the positions of columns that are not asked for as features, by name or number."""
    return [i for i, name in enumerate(names) if not {name, plain_name(name), str(i)} & {*features}]


def ends_of_types(names: Sequence[str], types: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the columns named as the types of sources and destinations, unless others are known."""
    if len(set(types)) < 2 or known_ends(names) or any(names.count(of_type) != 1 for of_type in types):
        return None
    return names.index(types[0]), names.index(types[1])


def choose_ends(
    names: Sequence[str], features: Collection[str] = (), types: Sequence[str] = ()
) -> tuple[int, ...] | None:
    """Return the positions of sources and destinations; None if names, types and features leave that open."""
    if (of_types := ends_of_types(names, types)) is not None:
        return of_types
    free, pairs = free_columns(names, features), known_ends(names)
    pairs = [pair for pair in pairs if {*pair} <= {*free}] or pairs
    if len(pairs) == 1:
        return pairs[0]
    return tuple(free) if len(free) == 2 and not pairs else None


def are_usual(names: Sequence[str], num_ids: int, types: Sequence[str] = ()) -> bool:
    """Whether words are names of columns rather than IDs: known ones, types, or usual ones in the first two places."""
    if num_ids == 2 and ends_of_types(names, types) is not None:
        return True
    is_known = bool(known_ends(names)) if num_ids == 2 else num_ids == 1 and known_id(names) is not None
    return is_known or all(_word(name) in _USUAL for name in names[:2])


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
