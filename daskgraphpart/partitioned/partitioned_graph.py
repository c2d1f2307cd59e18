"""Open partitions without reading data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, LayoutError, printable
from daskgraphpart.ids.ranges import check_part, type_id
from daskgraphpart.keywords import check_keywords
from daskgraphpart.layouts.dgl_config_reader import find_config, read_config
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.methods import pyg_methods, reorder_methods, tool_methods
from daskgraphpart.partitioned.part import Part
from daskgraphpart.partitioned.part_collections import lazy_rows
from daskgraphpart.partitioned.views import EdgeView, NodeView, TypeView
from daskgraphpart.public import Public
from daskgraphpart.quality import Quality
from daskgraphpart.schema import EdgeType, EdgeTypeName, GraphSchema, NodeType, canonical_tuple
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import FileState, cached_listings, file_state
from daskgraphpart.storage.paths import AnyPath, Location, is_remote, resolve_path
from daskgraphpart.units import format_count, format_number, format_size, html_table, text_table

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_config import PartitionConfig

NEXT_CALLS = ("parts.report()", "parts.verify(graph)", "parts.part(0).to_pyg()")


@check_keywords
def open_partitions(
    path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionedGraph:
    """Open partitions written by daskgraphpart or DGL: read the config, and file headers when needed.

    Parameters
    ----------
    path : path or URL
        Output directory, or its partition config; local, or in any store fsspec supports (``s3://bucket/partitions``).
        From a store, only the byte ranges of the rows you ask for are read.
    confined : bool
        Refuse files outside that directory, whether by absolute path, ``..`` or symbolic link. Use it for partitions
        you do not trust; by default, such paths are followed.
    storage_options : mapping of str to object, optional
        Credentials and options of the store, as for `fsspec.filesystem`; default: its configuration and the
        environment.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    LayoutError
        If the config is missing or inconsistent, or a file is missing.
    EnvironmentFaultError
        If a store fails or denies access.

    Examples
    --------
    >>> parts = dgp.open_partitions("shop-parts")
    >>> parts.num_parts, parts.config.name
    (4, 'shop.json')
    """
    with environment_faults(), cached_listings(resolve_path(path, storage_options)):
        config_path = find_config(path, storage_options)
        state = None if is_remote(config_path) else file_state(str(config_path))
        return PartitionedGraph(config_path, read_config(config_path, confined=confined), confined, state)


@dataclass(frozen=True, eq=False, repr=False)
class PartitionedGraph(Public):
    """A partitioned graph, as lazy dask collections over memory-mapped or remote files.

    Attributes
    ----------
    config : Path or UPath
        The partition config; pass it to DGL's trainers and servers as `part_config`.
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
    >>> parts = dgp.open_partitions("shop-parts")
    >>> parts.nodes["user"].data["age"][[0, 10, 20]]
    array([48, 66, 40])
    >>> parts.node_data["user"]["age"].mean().compute()
    np.float64(48.925)
    >>> parts.part(0).edges().head(3)
       src  dst  eid  etype  inner
    0  342  298    0      0   True
    1  763  255    1      0   True
    2  151  255    2      0   True
    """

    __all__ = (
        "add_edge_data", "add_node_data", "book", "canonical_etypes", "config", "edge_data", "edges", "etypes",
        "from_original", "ids_of", "link_neighbor_loader", "name", "neighbor_loader", "node_data", "nodes",
        "ntypes", "num_edges", "num_nodes", "num_parts", "original_ids", "own_ids", "part", "parts", "quality",
        "report", "schema", "to_original", "to_pyg_stores", "verify",
    )  # fmt: skip

    config: Location
    content: PartitionConfig  # what the partition config says
    is_confined: bool = False  # whether files outside its directory are refused
    state: FileState = None  # size and time of a local config when it was opened; loaders notice a change
    _quality: Quality | None = None
    _unreadable: str = ""
    name: str = field(init=False)
    book: PartitionBook = field(init=False)
    num_parts: int = field(init=False)
    ntypes: tuple[str, ...] = field(init=False)
    etypes: tuple[str, ...] = field(init=False)
    _opened: dict[int, Part] = field(init=False, default_factory=dict)

    add_edge_data = check_keywords(tool_methods.add_edge_data)
    add_node_data = check_keywords(tool_methods.add_node_data)
    from_original = check_keywords(reorder_methods.from_original)
    ids_of = check_keywords(reorder_methods.ids_of)
    link_neighbor_loader = check_keywords(pyg_methods.link_neighbor_loader)
    neighbor_loader = check_keywords(pyg_methods.neighbor_loader)
    own_ids = check_keywords(reorder_methods.own_ids)
    report = check_keywords(tool_methods.report)
    to_original = check_keywords(reorder_methods.to_original)
    to_pyg_stores = check_keywords(pyg_methods.to_pyg_stores)
    verify = check_keywords(tool_methods.verify)

    def __post_init__(self) -> None:
        name, book = self.content.graph_name, self.content.book
        self.__dict__.update(name=name, book=book, num_parts=book.num_parts, ntypes=book.ntypes, etypes=book.etypes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, of.name) for of in fields(self) if of.init)

    @property
    def quality(self) -> Quality:
        """Edge cut, halo nodes and balance; computed from the files if they are not recorded."""
        if (recorded := self._recorded_quality()) is not None:
            return recorded
        report = self.report()
        return self._quality_of(report.num_cut_edges, map(int, report.stored_halo_nodes.sum(axis=1)))

    def _recorded_quality(self) -> Quality | None:
        if self._quality is not None:
            return self._quality
        manifest = find_manifest(self.config.parent, self.name)
        content = {} if manifest is None else read_manifest(manifest).content
        halo = content.get("num_halo_nodes")
        counts = [content.get("num_cut_edges"), *halo] if isinstance(halo, list) else []
        is_whole = len(counts) == 1 + self.num_parts and all(type(count) is int for count in counts)
        return self._quality_of(counts[0], counts[1:]) if is_whole else None

    def _quality_of(self, num_cut_edges: int, num_halo_nodes: Iterable[int]) -> Quality:
        counts = (tuple(map(int, of.sum(axis=1))) for of in (self.book.node_counts, self.book.edge_counts))
        num_nodes, num_edges = counts
        return Quality(num_cut_edges, sum(num_edges), num_nodes, tuple(num_halo_nodes), num_edges)

    def num_nodes(self, ntype: str | None = None) -> int:
        """Number of nodes of a type, or of all.

        Examples
        --------
        >>> parts.num_nodes("user")
        1000
        """
        of = slice(None) if ntype is None else type_id(self.ntypes, ntype, "node")
        return int(self.book.node_counts[:, of].sum())

    def num_edges(self, etype: EdgeTypeName | None = None) -> int:
        """Number of edges of a type, or of all: ``"user:buys:item"``, its tuple, or a relation of one edge type.

        Examples
        --------
        >>> parts.num_edges("buys")
        5000
        """
        of = slice(None) if etype is None else self.etypes.index(self.book.canonical_etype(etype))
        return int(self.book.edge_counts[:, of].sum())

    @property
    def canonical_etypes(self) -> list[tuple[str, str, str]]:
        """Edge types as tuples, as DGL names them and PyG's batches have them; all methods take either form."""
        return [canonical_tuple(etype) for etype in self.etypes]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts."""
        return tuple(self.part(i) for i in range(self.num_parts))

    def part(self, part_id: int) -> Part:
        """Return one part.

        Examples
        --------
        >>> parts.part(0).num_inner_nodes
        300
        """
        part_id = check_part(part_id, self.num_parts)
        if self._unreadable:
            raise LayoutError("the parts cannot be opened here", file=self.config, hint=self._unreadable)
        if part_id not in self._opened:  # on demand: there may be tens of thousands
            files, directory = self.content.parts[part_id], self.config.parent
            graph, nodes, edges = (directory / name for name in (files.graph, files.node_feats, files.edge_feats))
            self._opened[part_id] = Part(part_id, self.book, graph, nodes, edges, self)
        return self._opened[part_id]

    @property
    def schema(self) -> GraphSchema:
        """Types and counts, without features; pass it to `IdConverter`."""
        return GraphSchema(
            self.name,
            tuple(NodeType(ntype, self.num_nodes(ntype)) for ntype in self.ntypes),
            tuple(EdgeType(*canonical_tuple(etype), self.num_edges(etype)) for etype in self.etypes),
        )

    @property
    def nodes(self) -> Mapping[str, NodeView]:
        """Nodes by node type, as in DGL's `DistGraph`: ``nodes["paper"].data["feat"][[0, 10, 20]]``."""
        return LazyMapping("node type", self.ntypes, lambda name: NodeView(name, self.parts))

    @property
    def edges(self) -> Mapping[str, EdgeView]:
        """Edges by edge type; the key can be a tuple, or a relation if it is unique."""
        make, resolve = lambda name: EdgeView(name, self.parts), self.book.canonical_etype
        return LazyMapping("edge type", self.etypes, make, resolve)

    @property
    def node_data(self) -> Mapping[str, Mapping[str, Any]]:
        """Node features by type and name: a dask array over all parts, rows in new type-wise order."""
        return _arrays("node type", self.nodes)

    @property
    def edge_data(self) -> Mapping[str, Mapping[str, Any]]:
        """Edge features by type and name: a dask array over all parts, rows in new type-wise order."""
        return _arrays("edge type", self.edges)

    @property
    def original_ids(self) -> Mapping[str, Any]:
        """Original type-wise IDs by node or edge type, if saved: a dask array indexed by new type-wise ID."""
        views = {**self.nodes, **self.edges}
        saved = tuple(kind for kind, view in views.items() if view.original_regions)

        def resolve(kind: Any) -> str:
            return kind if kind in self.ntypes else self.book.canonical_etype(kind)

        return LazyMapping("type with original IDs", saved, lambda kind: lazy_rows(views[kind].original_ids), resolve)

    def __repr__(self) -> str:
        return "\n".join([self._title(), text_table(*self._table(), align=">>>>>"), *self._advice()])

    def _repr_html_(self) -> str:
        return html_table(*self._table(), caption=self._title()) + "".join(
            f"<div>{escape(line)}</div>" for line in self._advice()
        )

    def _title(self) -> str:
        counts = (self.num_parts, "part"), (self.content.num_nodes, "node"), (self.content.num_edges, "edge")
        return f"PartitionedGraph {self.name!r}: {', '.join(format_number(*count) for count in counts)}"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for part_id in range(0 if self._unreadable else min(self.num_parts, 16)):
            part = self.part(part_id)
            halo = format_count(part.num_halo_nodes) if part.has_graph else "?"
            inner_nodes, inner_edges = format_count(part.num_inner_nodes), format_count(part.num_inner_edges)
            rows.append([str(part_id), inner_nodes, halo, inner_edges, format_size(part.nbytes)])
        if self.num_parts > len(rows):
            rows.append(["...", "", "", "", ""])
        return ["part", "own nodes", "halo nodes", "own edges", "on disk"], rows

    def _advice(self) -> list[str]:
        """Return the quality, if it is recorded, and what to call next."""
        lines = []
        try:
            quality = self._recorded_quality()
        except GraphPartError:  # `verify` tells
            quality = None
        if quality is not None:
            nodes, edges = 1 + quality.node_imbalance, 1 + quality.edge_imbalance
            lines.append(
                f"edge cut {quality.cut_share:.2%}; largest part / average: nodes {nodes:.3f}, edges {edges:.3f}"
            )
        if not self._unreadable and self.part(0).has_graph:
            lines.append(f"next: {', '.join(NEXT_CALLS)}")
            if not is_remote(self.config):
                lines.append(f"in DGL: dgl.distributed.load_partition({str(self.config)!r}, 0)")
        return [printable(line) for line in lines]


def _arrays(what: str, views: Mapping[str, TypeView]) -> Mapping[str, Mapping[str, Any]]:
    def of_type(kind: str) -> Mapping[str, Any]:
        data = views[kind].data
        return LazyMapping(f"feature of {kind}", tuple(data), lambda name: lazy_rows(data[name]))

    return LazyMapping(what, tuple(kind for kind, view in views.items() if view.data), of_type)
