"""The partition config: `<graph>.json`, from which DGL loads partitions.

Keys and invariants as in `dgl.distributed.partition` of DGL 1.0 to 2.5: ranges of new homogeneous IDs for every type
and part, types in ID order, paths relative to the config.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.storage.paths import AnyPath


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]


class PartPaths(msgspec.Struct, frozen=True, omit_defaults=True):
    """Files of one part, relative to the config or absolute. One of the graphs may be missing: an empty name."""

    node_feats: str
    edge_feats: str
    part_graph: str = ""
    part_graph_graphbolt: str = ""

    @property
    def graph(self) -> str:
        """DGL's graph, else GraphBolt's."""
        return self.part_graph or self.part_graph_graphbolt


class ConfigKeys(msgspec.Struct, kw_only=True):
    """Keys of a config, except those of parts, in writing order."""

    graph_name: str = ""
    num_nodes: Count
    num_edges: Count
    part_method: str = "metis"
    num_parts: Annotated[int, msgspec.Meta(ge=1)]
    halo_hops: Count = 1
    node_map: Any  # {type: [[start, stop] of each part]}, or the path of all owners
    edge_map: Any
    ntypes: dict[str, int] = msgspec.field(default_factory=lambda: {DEFAULT_NTYPE: 0})
    etypes: dict[str, int] = msgspec.field(default_factory=lambda: {DEFAULT_ETYPE: 0})


@dataclass(frozen=True, slots=True, eq=False)
class PartitionConfig:
    """Content of a partition config.

    `part_method` is ``"metis"`` or ``"random"``. If IDs are kept, `id_maps` has the npy files with the owners of nodes
    and of edges, and the book's ranges are unknown and read as empty.
    """

    graph_name: str
    part_method: str
    halo_hops: int
    book: PartitionBook
    parts: tuple[PartPaths, ...]
    id_maps: tuple[AnyPath, AnyPath] | None = None

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return self.book.num_parts

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all types."""
        return int(self.book.node_counts.sum())

    @property
    def num_edges(self) -> int:
        """Number of edges of all types."""
        return int(self.book.edge_counts.sum())


def config_bytes(config: PartitionConfig) -> bytes:
    """Encode a config."""
    book = config.book
    maps: Sequence[Any] = config.id_maps or (
        {name: book.node_ranges[:, i].tolist() for i, name in enumerate(book.ntypes)},
        {name: book.edge_ranges[:, i].tolist() for i, name in enumerate(book.etypes)},
    )
    keys = ConfigKeys(
        graph_name=config.graph_name,
        num_nodes=config.num_nodes,
        num_edges=config.num_edges,
        part_method=config.part_method,
        num_parts=config.num_parts,
        halo_hops=config.halo_hops,
        node_map=maps[0],
        edge_map=maps[1],
        ntypes={name: i for i, name in enumerate(book.ntypes)},
        etypes={name: i for i, name in enumerate(book.etypes)},
    )
    parts = {f"part-{number}": msgspec.to_builtins(part) for number, part in enumerate(config.parts)}
    dtypes = {"node_map_dtype": "int64", "edge_map_dtype": "int64"} if config.parts[0].part_graph_graphbolt else {}
    return (json.dumps({**msgspec.structs.asdict(keys), **parts, **dtypes}) + "\n").encode()
