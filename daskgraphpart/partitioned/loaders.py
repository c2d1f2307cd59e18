"""Loaders of sampled batches for PyG, with the arguments of PyG's own, over all parts or over one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import check_choice

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from daskgraphpart.sampling.loader import Loader

SUBGRAPH_TYPES = ("directional",)


class Loaders:
    """What has loaders: partitions, and one part."""

    def _sampled(self) -> tuple[Any, int | None]:
        """Partitions, and the part that is sampled, or None for all."""
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

        Neither pyg-lib nor torch-sparse is needed. Edges and features are read as batches ask for them, and may be
        larger than the memory. Over all parts, batches are those of the whole graph. Over one part, neighbours are
        those that the part holds: nodes that it owns have all of theirs, HALO nodes those of `num_hops` - 1 hops.

        Parameters
        ----------
        num_neighbors : list of int, or dict of such lists by edge type
            In-edges that are sampled at each node, for every hop; -1 for all of them.
        input_nodes : IDs, mask, str, or (str, IDs or mask), optional
            Seeds: new type-wise IDs, a mask with a row for each node of the type, or the name of a mask such as
            ``"train_mask"``; with several node types a pair that begins with the type. A node type alone, or None where
            there is one node type, is all of its nodes. Of a part, those that it owns.
        replace : bool
            Whether an edge may be picked several times.
        subgraph_type : str
            ``"directional"``: edges point from sampled neighbours to the nodes that they were sampled for.
        batch_size : int
            Seeds of a batch.
        shuffle, drop_last : bool
            Whether seeds come in another order each epoch; whether a last, smaller batch is left out.
        num_workers, prefetch_factor : int
            Threads that make batches ahead, and how many batches each; with 0 threads a batch is made when it is asked
            for. They change no batch.
        seed : int
            Of all random numbers: loaders with the same seed give the same batches.
        transform : callable, optional
            Called with each batch, in the thread that made it; what it returns is given instead.
        node_data, edge_data : iterable of str, optional
            Names of the features that batches have, as ``"feat"`` or ``"paper/feat"``. Default: all.
        workspace : path, optional
            Directory for the edges of parts without the graph format csc, which are sorted once, 16 bytes an edge.
            Default: the system's for temporary files.

        Returns
        -------
        Loader
            An iterable of `Data`, or `HeteroData` if there are several types, with `n_id`, `e_id`, `input_id`,
            `batch_size`, `num_sampled_nodes` and `num_sampled_edges` as PyG has them, and the features under their
            names. IDs are new type-wise ones.

        Raises
        ------
        OptionError
            If an argument does not fit the graph.
        IdOutOfRangeError
            If there is no such type, or a seed is out of range.
        LayoutError
            If a file has changed since it was opened, or is damaged; also later, by the loader.
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
            As of `neighbor_loader`.
        edge_label_index : (2, edges) IDs of nodes, (edges,) IDs or a mask of edges, optional
            Seeds, in new type-wise IDs; with several edge types a pair that begins with the edge type. An edge type
            alone, or None where there is one edge type, is all of its edges. Of a part, those that it owns.
        edge_label : tensor, optional
            A label for each seed. With binary negative edges, whose label is 0, one is added to labels that begin at 0.
        neg_sampling : str, tuple, dict or torch_geometric.sampler.NegativeSampling, optional
            ``"binary"`` adds pairs of nodes drawn at random, ``"triplet"`` destinations. A pair of mode and number,
            such as ``("binary", 2.0)``, draws more of them for each seed. They may happen to be edges, as in PyG.
        replace, subgraph_type, batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed, transform, node_data
            As of `neighbor_loader`.
        edge_data, workspace
            As of `neighbor_loader`.

        Returns
        -------
        Loader
            As of `neighbor_loader`, but with `edge_label_index` and `edge_label`, or for triplets `src_index`,
            `dst_pos_index` and `dst_neg_index`, in place of `batch_size`.

        Raises
        ------
        OptionError, IdOutOfRangeError, LayoutError, MissingPackageError
            As `neighbor_loader`. Edges are found by ID in parts with the graph format coo only.
        """
        from daskgraphpart.partitioned.sampled import load_links

        check_choice("type of subgraph", "subgraph_type", subgraph_type, SUBGRAPH_TYPES)
        batches = (batch_size, shuffle, drop_last, num_workers, prefetch_factor, seed, transform)
        wanted = (node_data, edge_data, workspace)
        links = (edge_label_index, edge_label, neg_sampling)
        return load_links(*self._sampled(), num_neighbors, replace, links, batches, wanted)
