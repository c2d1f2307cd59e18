"""`StoredPartitions`: the files of partitions, opened without reading data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from daskgraphpart.errors import LayoutError
from daskgraphpart.ids.ranges import check_part, type_id
from daskgraphpart.layouts.dgl_config_reader import find_config, read_config
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.lazy_mapping import LazyMapping
from daskgraphpart.partitioned.part_collections import lazy_rows
from daskgraphpart.partitioned.stored_part import StoredPart
from daskgraphpart.partitioned.views import EdgeView, NodeView, TypeView
from daskgraphpart.public import Public
from daskgraphpart.quality import Quality
from daskgraphpart.schema import EdgeType, EdgeTypeName, GraphSchema, NodeType, canonical_tuple
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import FileState, cached_listings, file_state
from daskgraphpart.storage.paths import AnyPath, Location, is_remote, resolve_path

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.layouts.dgl_config import PartitionConfig

PartT = TypeVar("PartT", bound=StoredPart)
PartitionsT = TypeVar("PartitionsT", bound="StoredPartitions")


def open_stored(
    kind: type[PartitionsT], path: AnyPath, *, confined: bool = False, storage_options: Mapping[str, Any] | None = None
) -> PartitionsT:
    """Open partitions as objects of this kind; see `open_partitions`."""
    with environment_faults(), cached_listings(resolve_path(path, storage_options)):
        config_path = find_config(path, storage_options)
        state = None if is_remote(config_path) else file_state(str(config_path))
        return kind(config_path, read_config(config_path, confined=confined), confined, state)


@dataclass(frozen=True, eq=False, repr=False)
class StoredPartitions(Public):
    """The files of a partitioned graph: its config, and headers of files when needed."""

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
    _opened: dict[int, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        name, book = self.content.graph_name, self.content.book
        self.__dict__.update(name=name, book=book, num_parts=book.num_parts, ntypes=book.ntypes, etypes=book.etypes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, of.name) for of in fields(self) if of.init)

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
    def parts(self) -> tuple[StoredPart, ...]:
        """All parts."""
        return tuple(self.part(i) for i in range(self.num_parts))

    def part(self, part_id: int) -> StoredPart:
        """Return one part."""
        return self._open_part(part_id, StoredPart)

    def _open_part(self, part_id: int, kind: type[PartT]) -> PartT:
        part_id = check_part(part_id, self.num_parts)
        if self._unreadable:
            raise LayoutError("the parts cannot be opened here", file=self.config, hint=self._unreadable)
        if part_id not in self._opened:  # on demand: there may be tens of thousands
            files, directory = self.content.parts[part_id], self.config.parent
            graph, nodes, edges = (directory / name for name in (files.graph, files.node_feats, files.edge_feats))
            self._opened[part_id] = kind(part_id, self.book, graph, nodes, edges, self)
        part: PartT = self._opened[part_id]
        return part

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


def recorded_quality(parts: StoredPartitions) -> Quality | None:
    """Return edge cut, halo nodes and balance, if the manifest has them."""
    if parts._quality is not None:
        return parts._quality
    manifest = find_manifest(parts.config.parent, parts.name)
    content = {} if manifest is None else read_manifest(manifest).content
    halo = content.get("num_halo_nodes")
    counts = [content.get("num_cut_edges"), *halo] if isinstance(halo, list) else []
    is_whole = len(counts) == 1 + parts.num_parts and all(type(count) is int for count in counts)
    return quality_of(parts.book, counts[0], counts[1:]) if is_whole else None


def quality_of(book: PartitionBook, num_cut_edges: int, num_halo_nodes: Iterable[int]) -> Quality:
    """Return the quality of parts of these sizes, with so many cut edges and halo nodes."""
    num_nodes, num_edges = (tuple(map(int, of.sum(axis=1))) for of in (book.node_counts, book.edge_counts))
    return Quality(num_cut_edges, sum(num_edges), num_nodes, tuple(num_halo_nodes), num_edges)


def _arrays(what: str, views: Mapping[str, TypeView]) -> Mapping[str, Mapping[str, Any]]:
    def of_type(kind: str) -> Mapping[str, Any]:
        data = views[kind].data
        return LazyMapping(f"feature of {kind}", tuple(data), lambda name: lazy_rows(data[name]))

    return LazyMapping(what, tuple(kind for kind, view in views.items() if view.data), of_type)
