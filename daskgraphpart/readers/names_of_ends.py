"""Know the columns of ends and IDs by their names, as graph databases, frameworks and data sets write them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from daskgraphpart.schema import plain_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

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
