"""The noun `GraphSource`: a graph as it was handed in, before anything lazy in it is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.rows import ArrayRows, FileRows

HOMOGENEOUS_NODES = "_N"
HOMOGENEOUS_EDGES = "_N:_E:_N"


@dataclass(frozen=True, slots=True, eq=False)
class LazyFrame:
    """Edges in a dask DataFrame, and its columns: source, destination, features."""

    frame: Any
    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class LazyArray:
    """Rows in a dask array."""

    array: Any


GivenRows: TypeAlias = "ArrayRows | FileRows | LazyArray"


@dataclass(frozen=True, slots=True, eq=False)
class GraphSource:
    """A graph as it was handed in; node and edge types are in the order of type IDs.

    A number of nodes is None where nobody has said; `edges` are pairs of sources and destinations, or frames;
    `edge_files` are files that the edges are read from, as far as that is known.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, tuple[GivenRows, GivenRows] | LazyFrame]
    node_data: Mapping[str, Mapping[str, GivenRows]] = field(default_factory=dict)
    edge_data: Mapping[str, Mapping[str, GivenRows]] = field(default_factory=dict)
    edge_files: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """All files that will be read, as far as that is known: collections of dask do not tell theirs."""
        features = [rows for data in (self.node_data, self.edge_data) for of in data.values() for rows in of.values()]
        ends = [rows for edges in self.edges.values() if isinstance(edges, tuple) for rows in edges]
        read = (rows for rows in (*ends, *features) if not isinstance(rows, LazyArray))
        return (*self.edge_files, *(path for rows in read for path in rows.paths))


def canonical_name(etype: Any) -> str:
    """Return ``src:rel:dst`` of a tuple or of that name itself."""
    parts = etype.split(":") if isinstance(etype, str) else etype
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        raise OptionError(
            "not a canonical edge type",
            expected="('user', 'follows', 'user') or 'user:follows:user'",
            found=repr(etype),
        )
    return ":".join(parts)
