"""Open partitions on disk without reading data."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.book import canonical_tuple
from daskgraphpart.errors import OptionError
from daskgraphpart.extras import pyg_module
from daskgraphpart.layouts.dgl_config_reader import find_config, read_config
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.loaders import Loaders
from daskgraphpart.partitioned.part import Part, open_part
from daskgraphpart.partitioned.views import EdgeView, NodeView, TypeView
from daskgraphpart.sampling.source import FileState, file_state
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import cached_listings
from daskgraphpart.storage.paths import AnyPath, Location, is_remote, require_local, resolve_path
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.partitioned.stored_rows import Maps
    from daskgraphpart.reporting.report import Report


def open_partitions(
    path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionedGraph:
    """Open partitions that we or DGL wrote; reads the config and, when asked, headers of files.

    Parameters
    ----------
    path : path or URL
        Output directory, or its partition config; local, or in a store that fsspec knows (``s3://bucket/partitions``).
        Of a store ranges of bytes are read, those of the rows that are asked for.
    confined : bool
        Refuse files outside that directory: absolute paths, ``..`` and symbolic links may not lead out of it. For
        partitions from somebody else; otherwise they are honoured.
    storage_options : mapping of str to object, optional
        Of the store, as `fsspec.filesystem` takes them; default: its configuration and the environment.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If there is no config, it is inconsistent, or a file is missing.
    EnvironmentFaultError
        If a store fails, or refuses access.
    """
    with environment_faults(), cached_listings(resolve_path(path, storage_options)):
        config_path = find_config(path, storage_options)
        state = None if is_remote(config_path) else file_state(str(config_path))
        return PartitionedGraph(config_path, read_config(config_path, confined=confined), confined, state)


class PartitionedGraph(Loaders):
    """A partitioned graph; all data are lazy dask collections over memory-mapped or remote files.

    Parameters
    ----------
    path : Path or UPath
        Partition config.
    config : PartitionConfig
        Its content.
    confined : bool
        Whether files outside its directory are refused.
    state : FileState
        What the config's file was when it was read.

    Attributes
    ----------
    name : str
        Name of the graph.
    book : PartitionBook
        Ranges of new IDs.
    num_parts : int
        Number of parts.
    ntypes, etypes : tuple of str
        Node types and canonical edge types, in ID order.

    Examples
    --------
    >>> graph = open_partitions("partitions")  # doctest: +SKIP
    >>> graph.nodes["paper"].data["feat"][[0, 10, 20]]  # doctest: +SKIP
    >>> graph.node_data["paper"]["feat"].mean(axis=0).compute()  # doctest: +SKIP
    >>> graph.part(0).edges().groupby("etype").size().compute()  # doctest: +SKIP
    """

    def __init__(
        self, path: Location, config: PartitionConfig, confined: bool = False, state: FileState = None
    ) -> None:
        self.path, self.config, self._is_confined, self.state = path, config, confined, state
        self.name, self.book, self.num_parts = config.graph_name, config.book, config.num_parts
        self.ntypes, self.etypes = self.book.ntypes, self.book.etypes
        self._opened: dict[int, Part] = {}

    def num_nodes(self, ntype: str) -> int:
        """Number of nodes of a type."""
        return int(self.book.node_counts[:, self.ntypes.index(ntype)].sum())

    def num_edges(self, etype: str) -> int:
        """Number of edges of a type."""
        return int(self.book.edge_counts[:, self.etypes.index(etype)].sum())

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        return tuple(self.part(i) for i in range(self.num_parts))

    def part(self, part_id: int) -> Part:
        """One part."""
        if not 0 <= part_id < self.num_parts:
            raise IndexError(f"no part {part_id}; there are parts 0 to {self.num_parts - 1}")
        if part_id not in self._opened:  # one alone: there may be tens of thousands
            files, directory = self.config.parts, self.path.parent
            readers = self._original_ids, self._pyg_data, self._sampled
            self._opened[part_id] = open_part(part_id, self.book, directory, files, *readers)
        return self._opened[part_id]

    @property
    def schema(self) -> GraphSchema:
        """Types and counts, without features; what `IdConverter` takes."""
        return GraphSchema(
            self.name,
            tuple(NodeType(ntype, self.num_nodes(ntype)) for ntype in self.ntypes),
            tuple(EdgeType(*canonical_tuple(etype), self.num_edges(etype)) for etype in self.etypes),
        )

    @property
    def nodes(self) -> Mapping[str, NodeView]:
        """For each node type its nodes: ``nodes["paper"].data["feat"][[0, 10, 20]]``, as in DGL's `DistGraph`."""
        return LazyMapping("node type", self.ntypes, lambda name: NodeView(name, self.parts))

    @property
    def edges(self) -> Mapping[str, EdgeView]:
        """For each edge type its edges; the key may be a relation that no two types share, or a tuple."""
        make, resolve = lambda name: EdgeView(name, self.parts), self.book.canonical_etype
        return LazyMapping("edge type", self.etypes, make, resolve)

    @property
    def node_data(self) -> Mapping[str, Mapping[str, Any]]:
        """For each node type and feature a dask array over all parts, rows in new type-wise order."""
        return _arrays("node type", self.nodes)

    @property
    def edge_data(self) -> Mapping[str, Mapping[str, Any]]:
        """For each edge type and feature a dask array over all parts, rows in new type-wise order."""
        return _arrays("edge type", self.edges)

    @property
    def orig_nids(self) -> Mapping[str, Any]:
        """For each node type the original type-wise IDs by new type-wise ID; empty where they were not saved."""
        return _original_ids(self.nodes)

    @property
    def orig_eids(self) -> Mapping[str, Any]:
        """For each edge type the original type-wise IDs by new type-wise ID; empty where they were not saved."""
        return _original_ids(self.edges)

    def to_original(
        self,
        kind: str | tuple[str, str, str],
        rows: Any,
        out: str | os.PathLike[str] | None = None,
        *,
        id_map: str | os.PathLike[str] | None = None,
        resources: Resources | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Any:
        """Bring rows from the order of new IDs into that of the input graph; embeddings, for example.

        Parameters
        ----------
        kind : str or tuple of str
            Node type or edge type.
        rows : array, tensor, frame, dask array, dask frame or path
            One row per node or edge, by new type-wise ID; a path is that of an npy file, a zarr array, a tensor
            (``*.pt``) or a parquet file with one column of numbers or of lists.
        out : path, optional
            File ``*.npy``, ``*.pt`` or ``*.parquet``, or array ``*.zarr``, to write. Memory does not grow with the rows
            then. Parquet has the columns `id` and `value`.
        id_map : path, optional
            Where the original IDs of the user's input are, for the column `id` of parquet: the graph that
            ``chunk --map-ids`` wrote, its directory ``id_map`` or one file of it. Default: where it was when the graph
            was partitioned. Without one, `id` is the number of the row.
        resources, overwrite, progress : optional
            As in `assign`.

        Returns
        -------
        dask.array.Array or Path
            Rows by original type-wise ID, lazy; or `out`.

        Raises
        ------
        LayoutError
            If original IDs were not saved.
        IdOutOfRangeError
            If there is no such type.
        OptionError
            If the number of rows is not that of the type.
        InputFileNotFoundError
            If there is no file of rows, or the map of IDs is no longer there.
        """
        from daskgraphpart.partitioned.row_files import find_id_map

        is_table, path = out is not None and Path(str(out)).suffix == ".parquet", None
        if id_map is not None and not is_table:
            what = "only a parquet file has a column for the original IDs"
            raise OptionError(what, place="--id-map", expected="an output that ends in .parquet", found=out)
        if is_table and (id_map is not None or kind in self.ntypes):
            path = find_id_map(id_map, str(kind), self.path, self.name, confined=self._is_confined)
        how: Any = {"resources": resources, "overwrite": overwrite, "progress": progress}
        return self._reorder(kind, rows, out, to_original=True, id_map=path, **how)

    def from_original(
        self,
        kind: str | tuple[str, str, str],
        rows: Any,
        out: str | os.PathLike[str] | None = None,
        *,
        resources: Resources | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Any:
        """Bring rows from the order of the input graph into that of new IDs; parameters as in `to_original`."""
        how: Any = {"resources": resources, "overwrite": overwrite, "progress": progress}
        return self._reorder(kind, rows, out, to_original=False, **how)

    def to_pyg_stores(self) -> tuple[Any, Any]:
        """Give PyG's loaders the graph as a `FeatureStore` and a `GraphStore`, by new type-wise ID.

        Features are read from the files of the parts when they are asked for, and may be larger than the memory; edges
        are held, 16 bytes each, and sorted by PyG. A graph with one node type and one edge type is homogeneous: its
        types are None.

        Returns
        -------
        tuple of FeatureStore and GraphStore

        Raises
        ------
        MissingPackageError
            If torch or torch_geometric is not installed.

        Examples
        --------
        >>> loader = NeighborLoader(graph.to_pyg_stores(), [15, 10], input_nodes=train)  # doctest: +SKIP
        """
        pyg_module("torch_geometric")
        from daskgraphpart.partitioned.pyg import PartitionEdges, PartitionFeatures

        return PartitionFeatures(self.nodes, self.edges), PartitionEdges(self.nodes, self.edges)

    def report(
        self,
        labels: Iterable[str] | None = None,
        *,
        sampling: Any = None,
        batch_size: int = 1000,
        resources: Resources | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Compute the figures of the partitions from their files, out of core.

        Parameters
        ----------
        labels : iterable of str, optional
            Node data that are classes, as ``ntype:name``; default: whole numbers named `label`, `labels` or `y`.
        sampling : list of int, dict of such lists by edge type, or str, optional
            Neighbours that training samples at each hop, such as ``[10, 10]`` or ``"10,10"``: estimate what trainers
            fetch from other parts, by some sampled batches of each part. Training nodes are those of masks named
            `train_mask` or alike, else all nodes. Needs the graph format csc, or sorts the edges for it, 16 bytes each.
        batch_size : int
            Training nodes in a batch of `sampling`.
        resources, progress : optional
            As in `assign`.

        Returns
        -------
        Report

        Raises
        ------
        LayoutError
            If a file is missing or truncated, or contradicts the config.
        OptionError
            If there are no such labels, or they are not one whole number per node.
        PlanError
            If the memory does not suffice for one task.
        """
        from daskgraphpart.reporting.pipeline import report_parts

        graphs, regions = [part.graph for part in self.parts], [part.node_rows.features for part in self.parts]
        how: Any = {"labels": labels, "resources": resources, "progress": progress}
        if sampling is not None:
            from daskgraphpart.reporting.fetching import Sampling

            how["sampling"] = Sampling(sampling, batch_size)
        return report_parts(self.path, self.config, graphs, regions, **how)

    def _reorder(self, kind: str | tuple[str, str, str], rows: Any, out: AnyPath | None, **how: Any) -> Any:
        from daskgraphpart.partitioned.reorder import reorder

        view = self.nodes[kind] if kind in self.ntypes else self.edges[kind]  # type: ignore[index]
        return reorder(rows, view.original_ids, None if out is None else require_local(out, "the output"), **how)

    def _original_ids(self) -> Maps:
        return tuple(tuple(view.original_ids for view in of.values()) for of in (self.nodes, self.edges))

    def _sampled(self) -> tuple[PartitionedGraph, None]:
        return self, None

    def _pyg_data(self, part: Part) -> Any:
        pyg_module("torch_geometric")
        from daskgraphpart.partitioned.pyg import part_data

        return part_data(part, self.nodes, self.edges)

    def __repr__(self) -> str:
        return f"{self._title()}\n{text_table(*self._table(), align='>>>>>')}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title())

    def _title(self) -> str:
        counts = (self.num_parts, "part"), (self.config.num_nodes, "node"), (self.config.num_edges, "edge")
        return f"PartitionedGraph {self.name!r}: {', '.join(format_number(*count) for count in counts)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for part_id in range(min(self.num_parts, 16)):
            part = self.part(part_id)
            halo = format_count(part.num_halo_nodes) if part.has_graph else "?"
            inner_nodes, inner_edges = format_count(part.num_inner_nodes), format_count(part.num_inner_edges)
            rows.append([str(part_id), inner_nodes, halo, inner_edges, format_size(part.nbytes)])
        if self.num_parts > len(rows):
            rows.append(["...", "", "", "", ""])
        return ["part", "inner nodes", "HALO nodes", "owned edges", "on disk"], rows


def _arrays(what: str, views: Mapping[str, TypeView]) -> Mapping[str, Mapping[str, Any]]:
    from daskgraphpart.partitioned.collections import lazy_rows

    def of_type(kind: str) -> Mapping[str, Any]:
        data = views[kind].data
        return LazyMapping(f"feature of {kind}", tuple(data), lambda name: lazy_rows(data[name]))

    return LazyMapping(what, tuple(kind for kind, view in views.items() if view.data), of_type)


def _original_ids(views: Mapping[str, TypeView]) -> Mapping[str, Any]:
    from daskgraphpart.partitioned.collections import lazy_rows

    saved = tuple(kind for kind, view in views.items() if view.original_regions)
    return LazyMapping("type with original IDs", saved, lambda kind: lazy_rows(views[kind].original_ids))
