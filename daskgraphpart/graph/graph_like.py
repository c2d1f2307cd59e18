"""For type checkers: what functions take in place of a graph. Libraries are known by the attributes of their class."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from daskgraphpart.graph.graph import Graph
from daskgraphpart.graph.scan import Scan


class Frame(Protocol):
    """A frame of pandas, dask or polars, an Arrow table, a DuckDB relation."""

    @property
    def columns(self) -> Any:
        """Names, or the columns themselves."""


class Array(Protocol):
    """An array of numpy, dask or torch, a series, a sparse matrix."""

    @property
    def shape(self) -> Any:
        """Its size in each dimension."""


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    @property
    def tocoo(self) -> Any:
        """Converts it to coordinates."""


class NetworkxGraph(Protocol):
    """A graph of networkx."""

    @property
    def nodes(self) -> Any:
        """Its nodes."""

    @property
    def edges(self) -> Any:
        """Its edges."""


class PygData(Protocol):
    """A `Data` or `HeteroData` of PyG."""

    @property
    def edge_stores(self) -> Any:
        """Its edges by type."""


class DglGraph(Protocol):
    """A `DGLGraph`."""

    @property
    def canonical_etypes(self) -> Any:
        """Its edge types."""


Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""Files, with words that say how to read them."""

Edges: TypeAlias = Frame | Array | Sequence[Frame | Array | Sequence[int]]
"""Edges of one type: a frame or several, a pair of arrays, or an array of two rows or columns."""

Table: TypeAlias = Paths | Edges
"""A table in files or in memory."""

Rows: TypeAlias = Table | Sequence[float]
"""A feature, a mask or the IDs of one, in files or in memory."""

GraphLike: TypeAlias = (
    Graph
    | Scan
    | str
    | os.PathLike[str]
    | Edges
    | Mapping[Any, Edges]
    | SparseMatrix
    | NetworkxGraph
    | PygData
    | DglGraph
)
