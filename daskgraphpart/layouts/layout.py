"""The contract of a layout: from the sizes of all parts to files, and the place of each named array in them.

Dispatch computes named arrays and knows no format; a layout places bytes and computes nothing. Dispatch computes only
arrays for which some layout has room; `wants` names those to gather before sizes are known. If one run writes several
layouts, an array goes to a place in each.

Arrays of a part; local IDs have own nodes before halo nodes, and own edges before others:

========================= =============== ====================================================================
``nodes/id``              (local nodes,)  new homogeneous IDs; original ones if IDs are kept
``nodes/inner``           (local nodes,)  1 if the part owns the node
``nodes/type``            (local nodes,)  node type ID
``nodes/part``            (local nodes,)  the part that owns the node
``edges/id``              (local edges,)  as of nodes
``edges/inner``           (local edges,)  as of nodes
``edges/type``            (local edges,)  as of nodes
``coo/row``, ``coo/col``  (local edges,)  local IDs of sources and destinations, by local edge ID
``csr/indptr``            (local nodes+1,) rows are sources; of ``csc`` rows are destinations
``csr/indices``           (local edges,)  local IDs of the other ends
``csr/eids``              (local edges,)  local edge IDs
``csc/rows``              (local edges,)  local IDs of destinations
``csc/id``, ``csc/type``  (local edges,)  `edges/id` and `edges/type` in the order of ``csc``
``csc/type_id``           (local edges,)  new type-wise edge IDs
``csc/places``            (local edges,)  position in ``csc`` of each edge, by local edge ID
``orig_nids/<ntype>``     (own nodes,)    original type-wise IDs, by new ID
``orig_eids/<etype>``     (own edges,)    as of nodes
``edge_src/<etype>``      (own edges,)    new type-wise IDs of sources, by new edge ID
``edge_dst/<etype>``      (own edges,)    as of sources
``node_data/<ntype>/<n>`` (own nodes, ...) rows of a feature, by new ID
``edge_data/<etype>/<n>`` (own edges, ...) as of nodes
``hot_nids/<ntype>``      (hot rows,)     new type-wise IDs of foreign nodes, in the order of original IDs
``hot_fetches/<ntype>``   (hot rows,)     how often the part's trainers fetch each in an epoch
``hot_data/<ntype>/<n>``  (hot rows, ...) rows of a feature
``split_nids/<ntype>/<m>`` (marked nodes,) new type-wise IDs of the nodes that a mask marks
========================= =============== ====================================================================

Of the whole graph: ``node_owners/<ntype>`` and ``edge_owners/<etype>``, parts by original type-wise ID.

Values are converted to the dtype of their place, which must hold them.

Files are written in parallel: laid out from known sizes, filled at offsets, renamed when complete.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from daskgraphpart.options import check_options, chosen
from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.files import workspace_store
from daskgraphpart.storage.region import Region, npy_header

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.ids.id_map_file import IdMapFile
    from daskgraphpart.ids.recorded_id_maps import IdMaps
    from daskgraphpart.quality import Quality
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.checksums import FileChecksum


HOT_ROWS = "hot_rows"
"""All arrays ``hot_...``."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphSizes:
    """Sizes of all parts; int64 arrays.

    `num_nodes` (parts, node types) and `num_edges` (parts, edge types) count what parts own; `num_halo_nodes` and
    `num_extra_edges` (parts,) what else they hold; `num_marked` (parts,) the own nodes marked by each mask
    ``<ntype>/<name>``; `num_hot` (parts, node types), if any are kept, the hot rows beside each part. `id_maps` are the
    files of users' own IDs by node type, which tasks can read.
    """

    schema: GraphSchema
    num_nodes: np.ndarray
    num_edges: np.ndarray
    num_halo_nodes: np.ndarray
    num_extra_edges: np.ndarray
    num_marked: Mapping[str, np.ndarray]
    id_maps: Mapping[str, IdMapFile] = field(default_factory=dict)
    num_hot: np.ndarray | None = None

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self.num_nodes)

    def num_local_nodes(self, part: int) -> int:
        """Own and halo nodes of a part."""
        return int(self.num_nodes[part].sum() + self.num_halo_nodes[part])

    def num_local_edges(self, part: int) -> int:
        """Edges in a part."""
        return int(self.num_edges[part].sum() + self.num_extra_edges[part])


@dataclass(frozen=True, slots=True)
class GraphBoltAttributes:
    """Extras of GraphBolt's graphs: new edge IDs, which nodes and edges the part owns, and types and owners of all.

    Without `coo`, local edge IDs and destinations, by which edges are found, are left out.
    """

    eids: bool = True
    inner_node: bool = False
    inner_edge: bool = False
    types_and_owners: bool = False
    coo: bool = True


WITH_EIDS = GraphBoltAttributes()


@dataclass(frozen=True, slots=True, eq=False)
class DispatchedGraph:
    """What layouts learn once all arrays are written; `checksums` are those of their files, by path."""

    out: Path
    sizes: GraphSizes
    book: PartitionBook
    quality: Quality
    method: str
    num_hops: int
    out_edges: bool
    reshuffle: bool
    checksums: Mapping[str, FileChecksum]
    id_maps: IdMaps | None = None  # the user's own IDs, if mapped
    mapped_features: Mapping[str, str] = field(default_factory=dict)  # node types of features with new IDs
    training: Mapping[str, Any] = field(default_factory=dict)  # options that say what it samples, if known
    constraints: tuple[str, ...] = ()  # balance constraints with the ratios reached and allowed, if known
    added: tuple[str, ...] = ()  # features ``<type>/<name>`` that the input had not, added to finished partitions

    @property
    def schema(self) -> GraphSchema:
        """Types, counts and features."""
        return self.sizes.schema


def split_names(schema: GraphSchema) -> tuple[str, ...]:
    """Names of the lists of masked nodes."""
    return tuple(f"split_nids/{key}" for key in schema.masks)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout(ABC):
    """Places of the arrays of all parts; `beside` are files copied there from elsewhere, by path below the output.

    A plug-in registers a subclass by its name in the group ``daskgraphpart.layouts``. Its files lie in a directory of
    that name. Its fields made by `options.option` are options of the command line, and `layout_options` in Python.
    """

    own_files: ClassVar[str] = ""
    """Regular expression of the paths of its files below that directory: no others are ever deleted."""

    companions: Mapping[str, FileLayout] = field(default_factory=dict)

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """Make the layout from those keywords that are options of its own."""
        layout = chosen(cls, keywords)
        check_options(layout)
        return layout

    def check_fits(self, schema: GraphSchema) -> None:  # noqa: B027 (most refuse nothing)
        """Raise an `OptionError` if the files cannot hold the graph."""

    def check_request(self, graph_name: str, num_parts: int | None) -> None:  # noqa: B027
        """Raise an `OptionError` for a name or a number of parts (None: not known yet), before the graph is read."""

    def wants(self, schema: GraphSchema) -> Collection[str]:
        """Names of arrays ``split_nids/...`` and ``edge_owners/...``, and `HOT_ROWS`, with room in the files."""
        return ()

    @abstractmethod
    def part_files(self, sizes: GraphSizes, part: int) -> Mapping[str, FileLayout]:
        """Files of one part by path below the output, with ``{part}`` for its number: the same for all parts."""

    def graph_files(self, schema: GraphSchema) -> Mapping[str, FileLayout]:
        """Files of the whole graph by path below the output."""
        return self.companions

    @abstractmethod
    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Paths below the output of what `describe` returns, in writing order; with the last, the layout is whole."""

    def config(self, graph_name: str) -> str:
        """Path below the output of the file that users see."""
        return self.descriptions(graph_name)[-1]

    @abstractmethod
    def describe(self, graph: DispatchedGraph) -> Mapping[str, bytes | Mapping[str, Any]]:
        """Content of all descriptions; a mapping becomes a manifest, with checksums of all files."""

    def links(self) -> Mapping[str, str]:
        """What links lead to, by path below the output; with links, it cannot go to a store or to machines."""
        return {}


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """Name, dtype and shape of an array in a file."""

    key: str
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where everything is in a file of `nbytes` bytes.

    `pieces` are offset and content of everything except elements; `regions` are offset, dtype and shape of each array
    by name. If values have no fixed place, this describes a temporary file, from which the picklable `encode` writes
    the real one; `complete` adds to the file what was unknown before.
    """

    pieces: tuple[tuple[int, bytes], ...]
    regions: Mapping[str, tuple[int, np.dtype, tuple[int, ...]]]
    nbytes: int
    encode: Callable[[Mapping[str, Region], str], None] | None = None
    complete: Callable[[Mapping[str, Region], str], None] | None = None


class LayoutBuilder:
    """Appends bytes and arrays at `offset`, like a sequential writer."""

    def __init__(self) -> None:
        self.offset = 0
        self._pieces: list[tuple[int, bytes]] = []
        self._regions: dict[str, tuple[int, np.dtype, tuple[int, ...]]] = {}

    def add(self, *content: bytes) -> None:
        """Append bytes."""
        piece = b"".join(content)
        self._pieces.append((self.offset, piece))
        self.offset += len(piece)

    def add_array(self, spec: ArraySpec) -> None:
        """Append room for an array's elements."""
        self._regions[spec.key] = (self.offset, spec.dtype, spec.shape)
        self.offset += spec.dtype.itemsize * math.prod(spec.shape)

    def finish(self) -> FileLayout:
        """Return the layout."""
        return FileLayout(tuple(self._pieces), self._regions, self.offset)


def raw_file_layout(
    arrays: Iterable[ArraySpec], encode: Callable[[Mapping[str, Region], str], None] | None = None
) -> FileLayout:
    """Lay out a file of arrays only."""
    builder = LayoutBuilder()
    for spec in arrays:
        builder.add_array(spec)
    return replace(builder.finish(), encode=encode)


def npy_file_layout(spec: ArraySpec) -> FileLayout:
    """Lay out an npy file."""
    builder = LayoutBuilder()
    builder.add(npy_header(spec.dtype, spec.shape))
    builder.add_array(spec)
    return builder.finish()


def create_file(path: str | Path, layout: FileLayout) -> dict[str, Region]:
    """Create the temporary file of `path` without the elements of arrays; return where these go."""
    temporary = temporary_path(path)
    workspace_store(temporary).create(temporary, layout.nbytes, layout.pieces)
    return {key: Region(temporary, *where) for key, where in layout.regions.items()}
