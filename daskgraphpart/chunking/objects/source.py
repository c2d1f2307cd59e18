"""The noun `GraphSource`: a graph as it was handed in, before its rows are checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunking.objects.rows import Rows

HOMOGENEOUS_NODES = "_N"
HOMOGENEOUS_EDGES = "_N:_E:_N"


@dataclass(frozen=True, slots=True, eq=False)
class LazyFrame:
    """Edges in a dask DataFrame whose partitions are not computed yet.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The frame.
    columns : sequence of str
        Its columns: source, destination, features.
    """

    frame: Any
    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, eq=False)
class LazyArray:
    """Rows in a dask array whose blocks are not computed yet."""

    array: Any


@dataclass(frozen=True, slots=True, eq=False)
class GraphSource:
    """A graph as it was handed in.

    Parameters
    ----------
    num_nodes : mapping of str to (int or None)
        By node type, in the order of type IDs; None where nobody has said.
    edges : mapping of str to (Rows, Rows) or LazyFrame
        By canonical edge type, in the order of type IDs: sources and destinations.
    node_data, edge_data : mapping of str to mapping of str to Rows or LazyArray
        By type and feature.
    edge_files : tuple of str
        Files that the edges are read from, as far as that is known.
    """

    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, tuple[Rows | LazyArray, Rows | LazyArray] | LazyFrame]
    node_data: Mapping[str, Mapping[str, Rows | LazyArray]] = field(default_factory=dict)
    edge_data: Mapping[str, Mapping[str, Rows | LazyArray]] = field(default_factory=dict)
    edge_files: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """All files that will be read, as far as that is known: collections of dask do not tell theirs."""
        features = [rows for data in (self.node_data, self.edge_data) for of in data.values() for rows in of.values()]
        ends = [rows for edges in self.edges.values() if isinstance(edges, tuple) for rows in edges]
        read = (rows for rows in (*ends, *features) if not isinstance(rows, LazyArray))
        return (*self.edge_files, *(path for rows in read for path in rows.paths))


def canonical_name(etype: Any) -> str:
    """Return ``src:rel:dst`` of a tuple or of that name itself.

    Raises
    ------
    OptionError
        If it is neither.
    """
    parts = etype.split(":") if isinstance(etype, str) else etype
    if not isinstance(parts, (tuple, list)) or len(parts) != 3 or not all(isinstance(p, str) and p for p in parts):
        raise OptionError(
            "not a canonical edge type",
            expected="('user', 'follows', 'user') or 'user:follows:user'",
            found=repr(etype),
        )
    return ":".join(parts)


def ntypes_of(etypes: Sequence[str]) -> list[str]:
    """Node types of edge types, in the order in which they appear."""
    ends = (ntype for etype in etypes for ntype in etype.split(":")[::2])
    return list(dict.fromkeys(ends))
