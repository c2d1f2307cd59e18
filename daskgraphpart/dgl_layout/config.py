"""The partition config: `<graph>.json`, which DGL is given to load partitions.

Keys and invariants as `dgl.distributed.partition` of DGL 1.0 to 2.5 reads them: ranges of new homogeneous IDs for every
type and part, types listed in ID order, paths relative to the config.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.book import PartitionBook
from daskgraphpart.dgl_layout.bare_names import canonical_names
from daskgraphpart.errors import LayoutError
from daskgraphpart.storage.atomic import write_bytes

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class PartPaths:
    """Files of one part; relative to the config, or absolute."""

    node_feats: str
    edge_feats: str
    part_graph: str


@dataclass(frozen=True, slots=True, eq=False)
class PartitionConfig:
    """Content of a partition config.

    Parameters
    ----------
    graph_name : str
        Name of the graph.
    num_parts, num_nodes, num_edges : int
        Sizes.
    part_method : str
        ``"metis"`` or ``"random"``.
    halo_hops : int
        Hops of HALO nodes.
    book : PartitionBook
        Types and ranges.
    parts : tuple of PartPaths
        Files.
    id_maps : (str, str) or None
        Of a layout in which IDs were not reshuffled the npy files with the owner of every node and of every edge; then
        only the sizes of the book's ranges mean something.
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


def find_config(path: str | os.PathLike[str]) -> Path:
    """Find the partition config: the file itself, or the only one in a directory.

    Raises
    ------
    LayoutError
        If there is none, or more than one.
    """
    given = Path(path)
    if given.is_file():
        return given
    if not given.is_dir():
        raise LayoutError("no such file or directory", file=str(given))
    found = [candidate for candidate in sorted(given.glob("*.json")) if "part-0" in _load(candidate)]
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


def read_config(path: str | os.PathLike[str]) -> PartitionConfig:
    """Read and check a config that we or DGL 0.9 to 2.x wrote.

    Bare relations, which DGL 0.9 wrote, become canonical edge types: the first edge of each tells which node types it
    joins.

    Raises
    ------
    LayoutError
        If keys are missing, ranges are not contiguous, or a file of a part is missing.
    """
    config_path = find_config(path)
    content = _load(config_path)
    reader = _Reader(str(config_path), content)
    num_parts = reader.number("num_parts")
    ntypes = reader.types("ntypes", {"_N": 0})
    etypes = reader.types("etypes", {"_N:_E:_N": 0})
    node_ranges = reader.ranges("node_map", ntypes, num_parts)
    edge_ranges = reader.ranges("edge_map", etypes, num_parts)
    parts = tuple(reader.part(number, config_path.parent) for number in range(num_parts))
    if any(name.count(":") != 2 for name in etypes):
        nodes = PartitionBook(ntypes, (), node_ranges, edge_ranges[:, :0])
        graphs = [config_path.parent / part.part_graph for part in parts]
        etypes = canonical_names(etypes, nodes, edge_ranges, graphs, str(config_path))
    book = PartitionBook(ntypes, etypes, node_ranges, edge_ranges)
    return PartitionConfig(
        graph_name=str(content.get("graph_name", "")),
        num_parts=num_parts,
        num_nodes=reader.number("num_nodes"),
        num_edges=reader.number("num_edges"),
        part_method=str(content.get("part_method", "metis")),
        halo_hops=int(content.get("halo_hops", 1)),
        book=book,
        parts=parts,
    )


@dataclass(frozen=True, slots=True)
class KeptIdsConfig:
    """Content of the config of a layout in which IDs were not reshuffled (DGL 0.9, or `reshuffle=False`).

    Parameters
    ----------
    graph_name : str
        Name of the graph.
    num_parts : int
        Number of parts.
    ntype, etype : str
        The node type and the edge type; the latter may be a bare relation.
    node_map, edge_map : Path
        npy files with the owner of every node and every edge, int64.
    parts : tuple of PartPaths
        Files.
    """

    graph_name: str
    num_parts: int
    ntype: str
    etype: str
    node_map: Path
    edge_map: Path
    parts: tuple[PartPaths, ...]


def read_kept_ids_config(path: str | os.PathLike[str]) -> KeptIdsConfig | None:
    """Read the config of a layout in which IDs were not reshuffled; None if they were.

    Raises
    ------
    LayoutError
        If there is no config, or a file is missing.
    """
    config_path = find_config(path)
    content = _load(config_path)
    if not isinstance(content.get("node_map"), str):
        return None
    reader = _Reader(str(config_path), content)
    num_parts = reader.number("num_parts")
    maps = []
    for key in ("node_map", "edge_map"):
        name = content.get(key)
        # paths are absolute in the config; a directory that was moved has the files beside it
        found = [p for p in (Path(str(name)), config_path.parent / Path(str(name)).name) if p.is_file()]
        if not isinstance(name, str) or not found:
            raise reader.fault("file is missing", key, found=name, hint="copy it beside the config")
        maps.append(found[0])
    return KeptIdsConfig(
        str(content.get("graph_name", "")),
        num_parts,
        reader.types("ntypes", {"_N": 0})[0],
        reader.types("etypes", {"_N:_E:_N": 0})[0],
        maps[0],
        maps[1],
        tuple(reader.part(number, config_path.parent) for number in range(num_parts)),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Takes values out of a config and checks them."""

    file: str
    content: dict[str, Any]

    def fault(self, what: str, place: str, **details: Any) -> LayoutError:
        return LayoutError(what, file=self.file, place=place, **details)

    def number(self, key: str) -> int:
        value = self.content.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.fault("bad number in the partition config", key, expected="a whole number", found=repr(value))
        return value

    def types(self, key: str, default: dict[str, int]) -> tuple[str, ...]:
        value = self.content.get(key, default)
        if not isinstance(value, dict) or sorted(value.values()) != list(range(len(value))):
            raise self.fault("types are not numbered 0, 1, ...", key, found=repr(value)[:80])
        return tuple(sorted(value, key=value.__getitem__))

    def ranges(self, key: str, names: tuple[str, ...], num_parts: int) -> np.ndarray:
        maps = self.content.get(key)
        if isinstance(maps, list):
            maps = {names[0]: maps}
        if not isinstance(maps, dict):
            hint = (
                "IDs were not reshuffled: load_partition reads this, all else needs partitions made with new IDs"
                if isinstance(maps, str)
                else None
            )
            raise self.fault(
                "not a map of ranges", key, expected="{type: [[start, end], ...]}", found=repr(maps)[:80], hint=hint
            )
        table = np.zeros((num_parts, len(names), 2), np.int64)
        for i, name in enumerate(names):
            try:
                ranges = np.array(maps[name])
                if ranges.shape == (num_parts,):  # ends alone, as the oldest configs have them
                    ranges = np.stack([np.append(0, ranges[:-1]), ranges], axis=1)
                table[:, i] = ranges.reshape(num_parts, 2)
                integral = ranges.dtype.kind == "i"
            except (KeyError, ValueError, OverflowError):
                integral = False
            if not integral:
                expected = f"{num_parts} pairs of whole numbers"
                raise self.fault("bad ranges", f"{key}.{name}", expected=expected, found=repr(maps.get(name))[:80])
        flat = table.reshape(-1, 2)
        if flat.size and (flat[0, 0] != 0 or (flat[1:, 0] != flat[:-1, 1]).any() or (flat[:, 1] < flat[:, 0]).any()):
            gap = np.flatnonzero(np.append(flat[0, 0] != 0, flat[1:, 0] != flat[:-1, 1]) | (flat[:, 1] < flat[:, 0]))[0]
            part, type_id = divmod(int(gap), len(names))
            raise self.fault(
                "ranges do not follow each other, part by part and type by type",
                f"{key}.{names[type_id]}[{part}]",
                expected=f"a start of {int(flat[gap - 1, 1]) if gap else 0:,}",
                found=flat[gap].tolist(),
            )
        return table

    def part(self, number: int, directory: Path) -> PartPaths:
        key = f"part-{number}"
        entry = self.content.get(key)
        names = ("node_feats", "edge_feats", "part_graph")
        if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
            raise self.fault(
                "files of a part are missing from the config", key, expected=", ".join(names), found=repr(entry)[:80]
            )
        return PartPaths(*(self._existing(f"{key}.{name}", entry[name], directory) for name in names))

    def _existing(self, place: str, name: str, directory: Path) -> str:
        """Return the name a file has: DGL's documentation writes node_feats.dgl, its code node_feat.dgl."""
        if (directory / name).is_file():
            return name
        singular, plural = ("_feat.dgl", "_feats.dgl") if name.endswith("_feat.dgl") else ("_feats.dgl", "_feat.dgl")
        other = name.removesuffix(singular) + plural
        if name.endswith(singular) and (directory / other).is_file():
            return other
        raise self.fault("file of a part is missing", place, found=name, hint="copy it beside the config")


def _load(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise LayoutError("not readable as JSON", file=str(path), found=str(fault)) from fault
    if not isinstance(content, dict):
        raise LayoutError("not a JSON object", file=str(path))
    return content
