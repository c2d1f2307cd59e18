"""The noun `GraphSource`: a graph as it was handed in, before anything lazy in it is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

HOMOGENEOUS_NODES, HOMOGENEOUS_EDGES = DEFAULT_NTYPE, DEFAULT_ETYPE


@dataclass(frozen=True, slots=True, eq=False)
class LazyRows:
    """A dask array, or a column of a dask frame; `what` it is, for messages."""

    what: str
    collection: Any
    column: Any = None
    is_ids: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GraphSource:
    """A graph as it was handed in; node and edge types are in the order of type IDs.

    A number of nodes is None where nobody has said; `edges` are pairs of sources and destinations, `data` features by
    any type and name: first in any form, then as `Rows` or `LazyRows`. `files` are those that edges are read from.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, tuple[Any, Any]]
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Any]:
        """All ends of edges and features."""
        ends = [end for pair in self.edges.values() for end in pair]
        return ends + [rows for features in self.data.values() for rows in features.values()]


def canonical_name(etype: Any, known: Collection[str] = ()) -> str:
    """Return ``src:rel:dst`` of a tuple or of that name itself; of a plain relation, the one known type that has it.

    Where no types are known, a plain relation joins nodes of the one default type.
    """
    parts = etype.split(":") if isinstance(etype, str) else etype
    if isinstance(etype, str) and len(parts) == 1 and etype:
        found = [name for name in known if name.split(":")[1] == etype]
        if len(found) > 1 or (known and not found):
            what = "several edge types have this name" if found else "edge data of an unknown type"
            raise OptionError(what, expected=f"one of {', '.join(found or known)}", found=etype)
        return found[0] if found else f"{HOMOGENEOUS_NODES}:{etype}:{HOMOGENEOUS_NODES}"
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        expected = "('user', 'follows', 'user') or 'user:follows:user'"
        raise OptionError("not a canonical edge type", expected=expected, found=repr(etype))
    return ":".join(parts)
