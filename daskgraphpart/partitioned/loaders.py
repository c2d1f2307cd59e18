"""Load sampled batches for PyG, with the arguments of PyG's loaders, over all parts or one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from daskgraphpart.sampling.loader import Loader

SUBGRAPH_TYPES = ("directional",)


class Loaders:
    """Loader methods of `PartitionedGraph` and `Part`."""

    def _sampled(self) -> tuple[Any, int | None]:
        """Partitions, and the part to sample, or None for all."""
        raise NotImplementedError

    def neighbor_loader(
        self,
        num_neighbors: Any,
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
        workspace: str | os.PathLike[str] | None = None,
    ) -> Loader:
        """Load sampled neighbourhoods of nodes from the files, as PyG's `NeighborLoader` does from memory.

        Needs neither pyg-lib nor torch-sparse. Reads edges and features as batches need them, so they can be larger
        than memory. Over all parts, samples the whole graph. Over one part, samples the neighbours that the part holds:
        all of them for nodes that it owns, those of `num_hops` - 1 hops for HALO nodes.

        Parameters
        ----------
        num_neighbors : list of int, or dict of such lists by edge type
            In-edges to sample at each node, for every hop; -1 for all.
        input_nodes : IDs, mask, str, or (str, IDs or mask), optional
            Seeds: new type-wise IDs, a mask with one row per node of the type, or the name of a mask such as
            ``"train_mask"``. With several node types, a pair that starts with the type. A node type alone, or None if
            there is only one, means all its nodes. For a part, only nodes that it owns.
        replace : bool
            Sample with replacement.
        subgraph_type : str
            ``"directional"``: edges point from sampled neighbours to the nodes that they were sampled for.
        batch_size : int
            Seeds per batch.
        shuffle, drop_last : bool
            Shuffle the seeds every epoch; drop the last batch if it is smaller.
        num_workers, prefetch_factor : int
            Threads that prepare batches ahead, and how many batches each; with 0 threads, batches are made on demand.
            Batches are the same either way.
        seed : int
            Random seed: loaders with the same seed give the same batches.
        transform : callable, optional
            Called with each batch, in the thread that made it; the loader yields what it returns.
        node_data, edge_data : iterable of str, optional
            Features to include in batches, as ``"feat"`` or ``"paper/feat"``. Default: all.
        workspace : path, optional
            Directory for sorted edges of parts without the graph format csc: sorted once, 16 bytes per edge. Default:
            the system's temporary directory.

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
        >>> loader = parts.neighbor_loader([10, 10], "train_mask", batch_size=1024, shuffle=True)  # doctest: +SKIP
        >>> for batch in loader:  # doctest: +SKIP
        ...     out = model(batch.feat, batch.edge_index)[: batch.batch_size]
        """
        from daskgraphpart.partitioned.sampled import load_nodes

        check_choice("type of subgraph", "subgraph_type", subgraph_type, SUBGRAPH_TYPES)
        batches = (batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed, transform)
        wanted = (node_data, edge_data, workspace)
        return load_nodes(*self._sampled(), num_neighbors, replace, input_nodes, batches, wanted)

    def link_neighbor_loader(
        self,
        num_neighbors: Any,
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
        replace, subgraph_type, batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed, transform, node_data
            As in `neighbor_loader`.
        edge_data, workspace
            As in `neighbor_loader`.

        Returns
        -------
        Loader
            As in `neighbor_loader`, but with `edge_label_index` and `edge_label`, or for triplets `src_index`,
            `dst_pos_index` and `dst_neg_index`, instead of `batch_size`.

        Raises
        ------
        OptionError, IdOutOfRangeError, LayoutError, MissingPackageError
            As in `neighbor_loader`. Finding edges by ID needs parts with the graph format coo.
        """
        from daskgraphpart.partitioned.sampled import load_links

        check_choice("type of subgraph", "subgraph_type", subgraph_type, SUBGRAPH_TYPES)
        batches = (batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed, transform)
        wanted = (node_data, edge_data, workspace)
        links = (edge_label_index, edge_label, neg_sampling)
        return load_links(*self._sampled(), num_neighbors, replace, links, batches, wanted)
