"""The partition config: `<graph>.json`, which DGL is given to load partitions.

Keys and invariants as `dgl.distributed.partition` of DGL 1.0 to 2.5 reads them: ranges of new homogeneous IDs for every
type and part, types listed in ID order, paths relative to the config.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upath import UPath

from daskgraphpart.book import PartitionBook
from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl_bare_names import canonical_names
from daskgraphpart.layouts.dgl_config_reader import ConfigReader, PartPaths
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.files import is_directory, is_file, list_names
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import resolve_path
from daskgraphpart.storage.stores import require_bucket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.storage.paths import AnyPath, Location

__all__ = [
    "KeptIdsConfig",
    "PartPaths",
    "PartitionConfig",
    "find_config",
    "read_config",
    "read_kept_ids_config",
    "write_config",
]


@dataclass(frozen=True, slots=True, eq=False)
class PartitionConfig:
    """Content of a partition config.

    `part_method` is ``"metis"`` or ``"random"``. `id_maps` are, where IDs were not reshuffled, the npy files with the
    owner of every node and of every edge; then only the sizes of the book's ranges mean something.
    """

    graph_name: str
    num_parts: int
    num_nodes: int
    num_edges: int
    part_method: str
    halo_hops: int
    book: PartitionBook
    parts: tuple[PartPaths, ...]
    id_maps: tuple[str, str] | None = None


def write_config(path: Path, config: PartitionConfig) -> None:
    """Write a config atomically; the last thing that is written of a partition."""
    write_bytes(path, config_bytes(config))


def config_bytes(config: PartitionConfig) -> bytes:
    """Content of the file of a config."""
    book = config.book
    content: dict[str, Any] = {
        "graph_name": config.graph_name,
        "num_nodes": config.num_nodes,
        "num_edges": config.num_edges,
        "part_method": config.part_method,
        "num_parts": config.num_parts,
        "halo_hops": config.halo_hops,
        "node_map": {name: book.node_ranges[:, i].tolist() for i, name in enumerate(book.ntypes)},
        "edge_map": {name: book.edge_ranges[:, i].tolist() for i, name in enumerate(book.etypes)},
        "ntypes": {name: i for i, name in enumerate(book.ntypes)},
        "etypes": {name: i for i, name in enumerate(book.etypes)},
    }
    if config.id_maps is not None:
        content["node_map"], content["edge_map"] = config.id_maps
    for number, part in enumerate(config.parts):
        content[f"part-{number}"] = {
            "node_feats": part.node_feats,
            "edge_feats": part.edge_feats,
            "part_graph": part.part_graph,
        }
    return (json.dumps(content) + "\n").encode()


def find_config(path: AnyPath, options: Mapping[str, Any] | None = None) -> Location:
    """Find the partition config: the file itself, or the only one in a directory; `options` are those of a store."""
    given = resolve_path(path, options)
    if isinstance(given, UPath):
        require_bucket(given)
    if is_file(given):
        return given
    if not is_directory(given):
        raise LayoutError("no such file or directory", file=str(given))
    candidates = [given / name for name in list_names(given) if name.endswith(".json")]
    found = [candidate for candidate in candidates if is_file(candidate) and "part-0" in _load(candidate)]
    if len(found) != 1:
        what = "no partition config in this directory" if not found else "several partition configs in this directory"
        raise LayoutError(
            what,
            file=str(given),
            expected="one .json file with a key 'part-0'",
            found=", ".join(candidate.name for candidate in found) or None,
            hint="a dispatch that did not finish leaves none" if not found else "give the path of one of them",
        )
    return found[0]


def read_config(path: AnyPath, *, confined: bool = False) -> PartitionConfig:
    """Read and check a config that we or DGL 0.9 to 2.x wrote, given itself or its directory.

    Bare relations, which DGL 0.9 wrote, become canonical edge types: the first edge of each tells which node types it
    joins. If `confined`, all files must lie in that directory; links are followed.
    """
    config_path = find_config(path)
    content = _load(config_path)
    reader = ConfigReader(str(config_path), content)
    keys = reader.keys()
    num_parts, ntypes, etypes = keys.num_parts, reader.types("ntypes", keys.ntypes), reader.types("etypes", keys.etypes)
    node_ranges = reader.ranges("node_map", ntypes, num_parts)
    edge_ranges = reader.ranges("edge_map", etypes, num_parts)
    parts = tuple(reader.part(number, config_path.parent) for number in range(num_parts))
    if confined:
        reader.check_confined(config_path, parts)
    if any(name.count(":") != 2 for name in etypes):
        nodes = PartitionBook(ntypes, (), node_ranges, edge_ranges[:, :0])
        graphs = [config_path.parent / part.part_graph for part in parts]
        etypes = canonical_names(etypes, nodes, edge_ranges, graphs, str(config_path))
    book = PartitionBook(ntypes, etypes, node_ranges, edge_ranges)
    return PartitionConfig(
        graph_name=keys.graph_name,
        num_parts=num_parts,
        num_nodes=reader.total("num_nodes", keys.num_nodes, node_ranges),
        num_edges=reader.total("num_edges", keys.num_edges, edge_ranges),
        part_method=keys.part_method,
        halo_hops=keys.halo_hops,
        book=book,
        parts=parts,
    )


@dataclass(frozen=True, slots=True)
class KeptIdsConfig:
    """Content of the config of a layout in which IDs were not reshuffled (DGL 0.9, or `reshuffle=False`).

    `etype` may be a bare relation; `node_map` and `edge_map` are npy files with the owner of every node and edge.
    """

    graph_name: str
    num_parts: int
    ntype: str
    etype: str
    node_map: Location
    edge_map: Location
    parts: tuple[PartPaths, ...]


def read_kept_ids_config(path: AnyPath, options: Mapping[str, Any] | None = None) -> KeptIdsConfig | None:
    """Read the config of a layout in which IDs were not reshuffled; None if they were."""
    config_path = find_config(path, options)
    content = _load(config_path)
    if not isinstance(content.get("node_map"), str):
        return None
    reader = ConfigReader(str(config_path), content)
    keys = reader.keys()
    maps: list[Location] = []
    for key in ("node_map", "edge_map"):
        name = content.get(key)
        # paths are absolute in the config; a directory that was moved has the files beside it
        beside = config_path.parent / Path(str(name)).name
        found = [p for p in (resolve_path(str(name)), beside) if is_file(p)]
        if not isinstance(name, str) or not found:
            raise reader.fault("file is missing", key, found=name, hint="copy it beside the config")
        maps.append(found[0])
    return KeptIdsConfig(
        keys.graph_name,
        keys.num_parts,
        reader.types("ntypes", keys.ntypes)[0],
        reader.types("etypes", keys.etypes)[0],
        maps[0],
        maps[1],
        tuple(reader.part(number, config_path.parent) for number in range(keys.num_parts)),
    )


def _load(path: Location) -> dict[str, Any]:
    return read_json_object(path, LayoutError)
