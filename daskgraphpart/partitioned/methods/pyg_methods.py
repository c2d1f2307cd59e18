"""What trainers are given: methods of `PartitionedGraph` and `Part`, with the arguments of PyG's loaders; hot rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.extras import pyg_module
from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions
from daskgraphpart.partitioned.stored_part import StoredPart

if TYPE_CHECKING:
    from daskgraphpart.partitioned.hot_rows import HotRows
    from daskgraphpart.partitioned.pyg.loader import Loader
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions


def neighbor_loader(
    partitions: StoredPartitions | StoredPart,
    num_neighbors: Sequence[int] | Mapping[Any, Sequence[int]],
    input_nodes: Any = None,
    *,
    replace: bool = False,
    subgraph_type: str = "directional",
    batch_size: int = 1,
    shuffle: bool = False,
    drop_last: bool = False,
    num_workers: int = 0,
    prefetch_factor: int = 2,
    seed: int = 0,
    transform: Callable[[Any], Any] | None = None,
    node_data: Iterable[str] | None = None,
    edge_data: Iterable[str] | None = None,
    cache: HotRows | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> Loader:
    """Load sampled neighbourhoods of nodes from the files, as PyG's `NeighborLoader` does from memory.

    Needs neither pyg-lib nor torch-sparse. Reads edges and features as batches need them, so they can be larger
    than memory. Over all parts, samples the whole graph. Over one part, samples the neighbours that the part holds:
    all of them for nodes that it owns, those of `num_hops` - 1 hops for halo nodes.

    Parameters
    ----------
    num_neighbors : list of int, or dict of such lists by edge type
        In-edges to sample at each node, for every hop; -1 for all.
    input_nodes : IDs, mask, str, or (str, IDs or mask), optional
        Seeds: new type-wise IDs, a mask with one row per node of the type, or the name of a mask such as
        ``"train_mask"``. With several node types, a pair that starts with the type. A node type alone, or None if
        there is only one, means all its nodes. For a part, only nodes that it owns.
    replace : bool, default False
        Sample with replacement.
    subgraph_type : str, default "directional"
        ``"directional"``: edges point from sampled neighbours to the nodes that they were sampled for.
    batch_size : int, default 1
        Seeds per batch.
    shuffle : bool, default False
        Shuffle the seeds every epoch.
    drop_last : bool, default False
        Drop the last batch if it is smaller.
    num_workers : int, default 0
        Threads that prepare batches ahead; with 0, batches are made on demand. Batches are the same either way.
    prefetch_factor : int, default 2
        Batches that each thread prepares ahead.
    seed : int, default 0
        Random seed: loaders with the same seed give the same batches.
    transform : Callable[[Any], Any], optional
        Called with each batch, in the thread that made it; the loader yields what it returns.
    node_data : Iterable[str], optional
        Node features to include in batches, as ``"feat"`` or ``"paper/feat"``. Default: all.
    edge_data : Iterable[str], optional
        Edge features, likewise.
    cache : HotRows, optional
        Hot rows of the part that trains, from `Part.hot_rows`: taken from there, not from the files. Batches are the
        same; `rows_asked` and `rows_found` of the loader count.
    workspace : str | os.PathLike[str], optional
        Directory for sorted edges of parts without the graph format csc: sorted once, 16 bytes per edge. Default: the
        system's temporary directory.

    Returns
    -------
    Loader
        An iterable of `Data`, or `HeteroData` if there are several types, with `n_id`, `e_id`, `input_id`,
        `batch_size`, `num_sampled_nodes` and `num_sampled_edges` as in PyG, and the features by name. IDs are new
        type-wise IDs.

    Raises
    ------
    OptionError
        If an argument does not fit the graph.
    IdOutOfRangeError
        If a type does not exist, or a seed is out of range.
    LayoutError
        If a file is damaged or has changed since it was opened; the loader can raise it later, too.
    MissingPackageError
        If torch or torch_geometric is not installed.

    Examples
    --------
    >>> loader = parts.neighbor_loader([10, 10], ("user", "train_mask"), batch_size=100, shuffle=True)
    >>> len(loader)
    6
    >>> next(iter(loader))["user"].batch_size
    100
    """
    from daskgraphpart.partitioned.pyg.loader import load_nodes  # imports the sampler

    options = LoaderOptions(
        replace=replace, subgraph_type=subgraph_type, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last,
        num_workers=num_workers, prefetch_factor=prefetch_factor, seed=seed, transform=transform, node_data=node_data,
        edge_data=edge_data, cache=cache, workspace=workspace,
    )  # fmt: skip
    return load_nodes(*_sampled(partitions), num_neighbors, input_nodes, options)


def link_neighbor_loader(
    partitions: StoredPartitions | StoredPart,
    num_neighbors: Sequence[int] | Mapping[Any, Sequence[int]],
    edge_label_index: Any = None,
    edge_label: Any = None,
    *,
    neg_sampling: Any = None,
    replace: bool = False,
    subgraph_type: str = "directional",
    batch_size: int = 1,
    shuffle: bool = False,
    drop_last: bool = False,
    num_workers: int = 0,
    prefetch_factor: int = 2,
    seed: int = 0,
    transform: Callable[[Any], Any] | None = None,
    node_data: Iterable[str] | None = None,
    edge_data: Iterable[str] | None = None,
    cache: HotRows | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> Loader:
    """Load sampled neighbourhoods of edges from the files, as PyG's `LinkNeighborLoader` does from memory.

    Parameters
    ----------
    num_neighbors : list of int, or dict of such lists by edge type
        As in `neighbor_loader`.
    edge_label_index : (2, edges) IDs of nodes, (edges,) IDs or a mask of edges, optional
        Seeds, as new type-wise IDs. With several edge types, a pair that starts with the edge type. An edge type
        alone, or None if there is only one, means all its edges. For a part, only edges that it owns.
    edge_label : tensor, optional
        One label per seed. With binary negative sampling, negative edges get label 0, and labels that start at 0
        are raised by 1.
    neg_sampling : str, tuple, dict or torch_geometric.sampler.NegativeSampling, optional
        ``"binary"`` adds random pairs of nodes, ``"triplet"`` random destinations. A pair of mode and number, such
        as ``("binary", 2.0)``, sets how many per seed. As in PyG, a negative edge can be a real edge by chance.
    replace, subgraph_type, batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed : optional
        As in `neighbor_loader`.
    transform, node_data, edge_data, cache, workspace : optional
        As in `neighbor_loader`.

    Returns
    -------
    Loader
        As in `neighbor_loader`, but with `edge_label_index` and `edge_label`, or for triplets `src_index`,
        `dst_pos_index` and `dst_neg_index`, instead of `batch_size`.

    Raises
    ------
    OptionError
        If an argument does not fit the graph, or edges are given by ID and the parts lack the graph format coo.
    IdOutOfRangeError
        If a type does not exist, or a seed is out of range.
    LayoutError
        If a file is damaged or has changed since it was opened; the loader can raise it later, too.
    MissingPackageError
        If torch or torch_geometric is not installed.

    Examples
    --------
    >>> loader = parts.link_neighbor_loader([10, 5], edge_label_index="buys", batch_size=100)
    >>> next(iter(loader))["user", "buys", "item"].edge_label_index.shape
    torch.Size([2, 100])
    """
    from daskgraphpart.partitioned.pyg.loader import load_links  # imports the sampler

    options = LoaderOptions(
        replace=replace, subgraph_type=subgraph_type, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last,
        num_workers=num_workers, prefetch_factor=prefetch_factor, seed=seed, transform=transform, node_data=node_data,
        edge_data=edge_data, cache=cache, workspace=workspace,
    )  # fmt: skip
    links = (edge_label_index, edge_label, neg_sampling)
    return load_links(*_sampled(partitions), num_neighbors, links, options)


def _sampled(partitions: StoredPartitions | StoredPart) -> tuple[StoredPartitions, int | None]:
    """Partitions, and the part to sample, or None for all."""
    return (partitions.whole, partitions.part_id) if isinstance(partitions, StoredPart) else (partitions, None)


def to_pyg(part: StoredPart) -> Any:
    """Read the part as PyG's `Data`, or `HeteroData` if there are several types, with its halo nodes.

    Nodes and edges that the part owns come first (`inner_mask`, `inner_edge_mask`), then the halo nodes, with their
    features, and the other edges that the part holds. Masks mark own nodes only. `n_id` and `e_id` are new
    type-wise IDs.

    Raises
    ------
    LayoutError
        If a feature has the name of another attribute.
    MissingPackageError
        If torch or torch_geometric is not installed.

    Examples
    --------
    >>> parts.part(0).to_pyg()
    HeteroData(
      user={
        num_nodes=408,
        n_id=[408],
        inner_mask=[408],
        age=[408],
        train_mask=[408],
      },
      item={
        num_nodes=50,
        n_id=[50],
        inner_mask=[50],
        feat=[50, 8],
      },
      (user, buys, item)={
        edge_index=[2, 1291],
        e_id=[1291],
        inner_edge_mask=[1291],
        price=[1291],
      }
    )
    """
    pyg_module("torch_geometric")
    from daskgraphpart.partitioned.pyg.pyg_stores import part_data  # imports torch_geometric

    return part_data(part)


def to_pyg_stores(partitions: StoredPartitions) -> tuple[Any, Any]:
    """Return a `FeatureStore` and a `GraphStore` for PyG's loaders, indexed by new type-wise ID.

    Features are read from the files of the parts on demand, so they can be larger than memory. Edges are held in
    memory, 16 bytes each, and sorted by PyG. A graph with one node type and one edge type is homogeneous: its types
    are None.

    Returns
    -------
    tuple of FeatureStore and GraphStore

    Raises
    ------
    MissingPackageError
        If torch or torch_geometric is not installed.

    Examples
    --------
    >>> feature_store, graph_store = parts.to_pyg_stores()
    >>> feature_store.get_tensor("user", "age", index=[0, 1, 2])
    tensor([48, 21, 60])
    """
    pyg_module("torch_geometric")
    from daskgraphpart.partitioned.pyg.pyg_stores import PartitionEdges, PartitionFeatures  # imports torch_geometric

    return PartitionFeatures(partitions.nodes, partitions.edges), PartitionEdges(partitions.nodes, partitions.edges)


def hot_rows(
    part: StoredPart,
    num_neighbors: Sequence[int] | Mapping[Any, Sequence[int]] | None = None,
    input_nodes: Any = None,
    *,
    size: str | int = "5%",
    batch_size: int = 1000,
    epochs: int = 5,
    replace: bool = False,
    seed: int = 0,
    node_data: Iterable[str] | None = None,
    memory: str | int | None = None,
    workspace: str | os.PathLike[str] | None = None,
) -> HotRows:
    """Find the rows of other parts that this part's trainers will fetch most, and read their features.

    Samples whole epochs as DGL's trainers do, from all parts, and counts in how many batches each foreign node is
    needed. Give the result to a loader as `cache`, or copy it into the cache of your trainer.

    Parameters
    ----------
    num_neighbors : list of int, or dict of such lists by edge type, optional
        In-edges to sample at each node, for every hop; -1 for all. Default: nothing is sampled, but what `partition`
        kept with `hot_rows` is read; all other arguments but `node_data` and `workspace` are then without effect.
    input_nodes : IDs, mask, str, or (str, IDs or mask), optional
        Seeds, as in `neighbor_loader`. Default: the part's training nodes, by masks named `train_mask` or similar,
        else all its nodes.
    size : str or int, default "5%"
        How much to choose: a share of the part's nodes, or bytes of IDs and features, such as ``"2GB"``. Types without
        features have no hot rows, unless no type has features: then there are only IDs.
    batch_size : int, default 1000
        Seeds per batch.
    epochs : int, default 5
        Epochs to sample: more come nearer to what will be fetched.
    replace : bool, default False
        Sample with replacement.
    seed : int, default 0
        Random seed: the same seed gives the same rows.
    node_data : iterable of str, optional
        Features to read, as ``"feat"`` or ``"paper/feat"``. Default: all but masks and labels.
    memory : str or int, optional
        Memory for the counts, or for the rows. Default: half the machine's. With less, the epochs are sampled several
        times.
    workspace : str or path, optional
        As in `neighbor_loader`.

    Returns
    -------
    HotRows
        No rows for a part without seeds.

    Raises
    ------
    OptionError
        If an argument does not fit the graph.
    IdOutOfRangeError
        If a type does not exist, or a seed is out of range.
    PlanError
        If the rows do not fit into the memory.

    Examples
    --------
    >>> hot = parts.part(0).hot_rows([10, 10], size="10%")
    >>> hot
    <HotRows of part 0: 0 rows (user 0, item 0), 0 B>
    """
    from daskgraphpart.partitioned.choose_hot_rows import choose_hot_rows, read_hot_rows  # imports the sampler

    options = LoaderOptions(
        batch_size=batch_size, replace=replace, seed=seed, node_data=node_data, edge_data=(), workspace=workspace
    )
    if num_neighbors is None:
        return read_hot_rows(part, options)
    return choose_hot_rows(part, num_neighbors, input_nodes, size, epochs, options, detect_resources(memory).memory)
