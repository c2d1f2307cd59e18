"""Load one part into memory as torch tensors, by DGL's functions.

`load_partition`, `load_partition_feats` and `load_partition_book` return what `dgl.distributed` (DGL 1.0 to 2.5)
does, without dgl: the graph is a `LocalGraph`. For parts larger than memory, use `open_partitions`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.errors import check_choice
from daskgraphpart.extras import torch_module
from daskgraphpart.ids.ranges import to_tensor
from daskgraphpart.interop.dgl_api.books import BasicPartitionBook, RangePartitionBook, open_kept_ids
from daskgraphpart.keywords import check_keywords
from daskgraphpart.layouts.dgl_config_reader import find_config, read_config
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_partitions
from daskgraphpart.public import Public
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.storage.region import Region

AnyBook: TypeAlias = RangePartitionBook | BasicPartitionBook

FORMATS = ("coo", "csr", "csc")


@dataclass(frozen=True, slots=True, eq=False)
class LocalGraph(Public):
    """The local graph of a part: homogeneous, own nodes and edges first."""

    file: GraphFile  # reads the structure on demand
    # node data: `_ID` (new homogeneous IDs), `inner_node`, `_TYPE` in a heterogeneous graph, and any other
    ndata: Mapping[str, Any]
    edata: Mapping[str, Any]  # edge data, likewise with `inner_edge`

    def num_nodes(self) -> int:
        """Number of nodes, with halo nodes."""
        return self.file.num_nodes

    def num_edges(self) -> int:
        """Number of edges."""
        return self.file.num_edges

    def formats(self) -> tuple[str, ...]:
        """Formats in the file: ``"coo"``, ``"csr"``, ``"csc"``."""
        return tuple(self.file.formats)

    def nodes(self) -> Any:
        """All local node IDs, int64 tensor."""
        return torch_module().arange(self.num_nodes())

    def edges(self) -> tuple[Any, Any]:
        """Local sources and destinations of all edges, by local edge ID: two tensors."""
        src, dst = self.file.ends(0, self.num_edges())
        torch = torch_module()
        return torch.from_numpy(np.ascontiguousarray(src)), torch.from_numpy(np.ascontiguousarray(dst))

    def adj_tensors(self, fmt: str) -> tuple[Any, ...]:
        """Return the adjacency as tensors, like `DGLGraph.adj_tensors`; converts it if needed."""
        check_choice("format", "fmt", fmt, FORMATS)
        if fmt == "coo":
            return self.edges()
        torch = torch_module()
        stored = self.file.formats.get(fmt)
        if stored is not None:
            eids = _read(stored["data"])
            return (
                _read(stored["indptr"]),
                _read(stored["indices"]),
                eids if len(eids) else torch.arange(self.num_edges()),
            )
        rows, columns = self.file.ends(0, self.num_edges())
        if fmt == "csc":
            rows, columns = columns, rows
        order = np.argsort(rows, kind="stable")
        indptr = np.zeros(self.num_nodes() + 1, np.int64)
        np.cumsum(np.bincount(rows, minlength=self.num_nodes()), out=indptr[1:])
        return torch.from_numpy(indptr), torch.from_numpy(columns[order]), torch.from_numpy(order)

    def __repr__(self) -> str:
        return (
            f"LocalGraph(num_nodes={self.num_nodes()}, num_edges={self.num_edges()}, ndata={sorted(self.ndata)}, "
            f"edata={sorted(self.edata)})"
        )


@check_keywords
def load_partition(
    part_config: str | os.PathLike[str],
    part_id: int,
    load_feats: bool = True,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[LocalGraph, dict[str, Any], dict[str, Any], AnyBook, str, list[str], list[tuple[str, str, str]]]:
    """Load one part into memory, as `dgl.distributed.load_partition` does.

    Parameters
    ----------
    part_config : path or URL
        Partition config, or its directory.
    part_id : int
        The part, from 0.
    load_feats : bool
        Load features; otherwise their dictionaries are empty.
    storage_options : mapping of str to object, optional
        Credentials and options of the store, as for `fsspec.filesystem`.

    Returns
    -------
    tuple
        Local graph, node features by ``<ntype>/<name>``, edge features by ``<src:rel:dst>/<name>``, partition book,
        graph name, node types, canonical edge types.

    Raises
    ------
    LayoutError
        If the config or a file of the part is missing, truncated, or of another version.
    IdOutOfRangeError
        If the part does not exist.
    MissingPackageError
        If torch is not installed.

    Examples
    --------
    >>> part, node_feats, edge_feats, book, name, ntypes, etypes = dgp.load_partition("shop-parts/shop.json", 0)
    >>> part.num_nodes(), part.num_edges()
    (458, 1291)
    >>> node_feats["item/feat"].shape
    torch.Size([50, 8])
    """
    part, book, name = _opened(part_config, part_id, storage_options)
    graph = LocalGraph(
        part.graph,
        {key: _read(region) for key, region in part.graph.node_arrays.items()},
        {key: _read(region) for key, region in part.graph.edge_arrays.items()},
    )
    node_feats = _features(part.node_rows.features) if load_feats else {}
    edge_feats = _features(part.edge_rows.features) if load_feats else {}
    return graph, node_feats, edge_feats, book, name, book.ntypes, book.canonical_etypes


@check_keywords
def load_partition_feats(
    part_config: str | os.PathLike[str],
    part_id: int,
    load_nodes: bool = True,
    load_edges: bool = True,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Load the features of one part into memory, as `dgl.distributed.load_partition_feats` does.

    Parameters
    ----------
    part_config, part_id, storage_options
        As in `load_partition`.
    load_nodes, load_edges : bool
        Load node features, edge features; if False, None takes their place.

    Returns
    -------
    tuple
        Node features by ``<ntype>/<name>`` and edge features by ``<src:rel:dst>/<name>``.

    Raises
    ------
    LayoutError
        If the config or a file of the part is missing, truncated, or of another version.
    IdOutOfRangeError
        If the part does not exist.
    MissingPackageError
        If torch is not installed.

    Examples
    --------
    >>> node_feats, edge_feats = dgp.load_partition_feats("shop-parts/shop.json", 0)
    >>> {name: tuple(rows.shape) for name, rows in edge_feats.items()}
    {'user:buys:item/price': (1291,)}
    """
    part, _, _ = _opened(part_config, part_id, storage_options)
    return _features(part.node_rows.features) if load_nodes else None, _features(
        part.edge_rows.features
    ) if load_edges else None


@check_keywords
def load_partition_book(
    part_config: str | os.PathLike[str], part_id: int, *, storage_options: Mapping[str, Any] | None = None
) -> tuple[AnyBook, str, dict[str, int], dict[tuple[str, str, str], int]]:
    """Load the partition book as seen from one part, as `dgl.distributed.load_partition_book` does.

    Parameters
    ----------
    part_config, part_id, storage_options
        As in `load_partition`.

    Returns
    -------
    tuple
        Partition book (`BasicPartitionBook` after ``reshuffle=False``), graph name, node type IDs by node type, edge
        type IDs by canonical edge type.

    Raises
    ------
    LayoutError
        If the config is missing or inconsistent.
    IdOutOfRangeError
        If the part does not exist.

    Examples
    --------
    >>> book, name, ntypes, etypes = dgp.load_partition_book("shop-parts/shop.json", 0)
    >>> book.nid2partid([0, 900], "user")
    array([0, 3])
    >>> etypes
    {('user', 'buys', 'item'): 0}
    """
    _, book, name = _opened(part_config, part_id, storage_options)
    ntypes, etypes = enumerate(book.ntypes), enumerate(book.canonical_etypes)
    return book, name, {ntype: i for i, ntype in ntypes}, {etype: i for i, etype in etypes}


def load_mappings(config_path: Path) -> tuple[Any, Any]:
    """Load all original IDs by new ID, in the form of DGL's `return_mapping`.

    That is two int64 tensors for a homogeneous graph, else two dictionaries, by node type and by canonical edge type
    (a tuple).
    """
    torch, graph = torch_module(), open_partitions(config_path)
    nids = {ntype: torch.from_numpy(graph.nodes[ntype].original_ids[:]) for ntype in graph.ntypes}
    eids = {canonical_tuple(etype): torch.from_numpy(graph.edges[etype].original_ids[:]) for etype in graph.etypes}
    if len(nids) == len(eids) == 1:
        return next(iter(nids.values())), next(iter(eids.values()))
    return nids, eids


def _opened(
    part_config: str | os.PathLike[str], part_id: int, options: Mapping[str, Any] | None
) -> tuple[Part, AnyBook, str]:
    config_path = find_config(part_config, options)
    config = read_config(config_path, allow_kept_ids=True)
    if config.id_maps is not None:
        return *open_kept_ids(config, config_path, part_id), config.graph_name
    book = RangePartitionBook(config.book, part_id)  # refuses unknown parts
    return PartitionedGraph(config_path, config).part(part_id), book, config.graph_name


def _read(region: Region) -> Any:
    torch_module()
    return to_tensor(region.read())


def _features(regions: Mapping[str, Mapping[str, Region]]) -> dict[str, Any]:
    return {f"{kind}/{name}": _read(region) for kind, of in regions.items() for name, region in of.items()}
