"""Find and read a partition config, ours or DGL's, checking everything."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.layouts.dgl_config import ConfigKeys, Count, PartitionConfig, PartPaths
from daskgraphpart.layouts.dgl_graph import read_graph_file
from daskgraphpart.layouts.known_outputs import ORIG_EIDS, ORIG_NIDS, SPLIT_NIDS, description_of
from daskgraphpart.layouts.manifest import SUFFIX
from daskgraphpart.registry import plugin_names
from daskgraphpart.storage.files import is_directory, is_file, list_directory
from daskgraphpart.storage.json_file import convert_json, read_json_object, shown
from daskgraphpart.storage.paths import AnyPath, Location, leads_outside, resolve_path


def find_config(path: AnyPath, options: Mapping[str, Any] | None = None) -> Location:
    """Find the partition config: the file itself, or the only one in a directory; `options` belong to the store."""
    given = resolve_path(path, options)
    if is_file(given):
        return given
    if not is_directory(given):
        raise LayoutError("no such file or directory", file=str(given))
    candidates = [given / name for name in list_directory(given) if name.endswith(".json")]
    configs = [path for path in candidates if is_file(path) and "part-0" in read_json_object(path, LayoutError)]
    if len(configs) != 1:
        raise LayoutError(
            f"{'several' if configs else 'no'} partition config{'s' if configs else ''} in this directory",
            file=str(given),
            expected="one .json file with a key 'part-0'",
            found=", ".join(candidate.name for candidate in configs) or None,
            hint="give the path of one of them" if configs else _hint_of_layouts(given),
        )
    return configs[0]


def array_layouts_in(directory: Location) -> list[str]:
    """List the layouts in a directory that have no files of DGL, by name."""
    return [layout for layout in plugin_names("layouts") if is_file(directory / description_of(layout))]


def _hint_of_layouts(directory: Location) -> str:
    """Say which other layouts exist, or why nothing does."""
    others = array_layouts_in(directory)
    if not others:
        return "an unfinished dispatch leaves none"
    return f"the layout is {', '.join(others)}: partition with --layout dgl,{','.join(others)}"


def read_config(path: AnyPath, *, confined: bool = False, allow_kept_ids: bool = False) -> PartitionConfig:
    """Read and check a config that we or DGL 0.9 to 2.x wrote, given the file or its directory.

    Bare relations, from DGL 0.9, become canonical edge types by the ends of each type's first edge. If `confined`, all
    files must lie in that directory, after following links. Unless `allow_kept_ids`, IDs must be reshuffled.
    """
    config_path = find_config(path)
    reader = _ConfigReader(config_path, read_json_object(config_path, LayoutError))
    keys = reader.keys()
    ntypes, etypes = reader.types("ntypes", keys.ntypes), reader.types("etypes", keys.etypes)
    parts = tuple(reader.part_paths(f"part-{number}") for number in range(keys.num_parts))
    if confined:
        reader.check_confined(parts)
    id_maps = None
    if isinstance(keys.node_map, str) and allow_kept_ids:
        id_maps = reader.owner_file("node_map", keys.node_map), reader.owner_file("edge_map", keys.edge_map)
        ntypes, etypes = ntypes[:1], etypes[:1]
        node_ranges = edge_ranges = np.zeros((keys.num_parts, 1, 2), np.int64)
    else:
        node_ranges = reader.ranges("node_map", keys.node_map, ntypes, keys.num_parts, keys.num_nodes)
        edge_ranges = reader.ranges("edge_map", keys.edge_map, etypes, keys.num_parts, keys.num_edges)
    nodes = PartitionBook(ntypes, (), node_ranges, edge_ranges[:, :0])
    graphs = [config_path.parent / part.part_graph for part in parts]
    etypes = tuple(reader.canonical_name(name, edge_ranges, i, nodes, graphs) for i, name in enumerate(etypes))
    book = PartitionBook(ntypes, etypes, node_ranges, edge_ranges)
    return PartitionConfig(keys.graph_name, keys.part_method, keys.halo_hops, book, parts, id_maps)


@dataclass(frozen=True, slots=True)
class _ConfigReader:
    """Takes values out of an untrusted config."""

    path: Location
    content: Mapping[str, Any]

    def fault(self, what: str, place: str, **details: Any) -> LayoutError:
        """Error at a key."""
        return LayoutError(what, file=str(self.path), place=place, **details)

    def take(self, kind: Any, content: Any, place: str = "", expected: str | None = None) -> Any:
        """Convert a value."""
        what = "bad value in the partition config"
        return convert_json(content, kind, LayoutError, what, file=str(self.path), place=place, expected=expected)

    def keys(self) -> ConfigKeys:
        """Keys of the whole graph. Checks that each part has an entry before allocating for the number claimed."""
        keys: ConfigKeys = self.take(ConfigKeys, self.content)
        entries = sum(re.fullmatch(r"part-(0|[1-9]\d*)", key) is not None for key in self.content)
        if keys.num_parts != entries:
            expected = f"{entries}, as there are keys part-0, part-1, ..."
            raise self.fault("wrong number of parts", "num_parts", expected=expected, found=keys.num_parts)
        return keys

    def types(self, key: str, numbers: dict[str, int]) -> tuple[str, ...]:
        """Names of types by number, which must be 0, 1, ..."""
        if sorted(numbers.values()) != list(range(len(numbers))) or (key == "ntypes" and not numbers):
            raise self.fault("types are not numbered 0, 1, ...", key, found=shown(numbers))
        for name in numbers:
            if not name or "\0" in name or name.encode(errors="replace").decode() != name:
                raise self.fault("invalid type name", key, expected="text", found=shown(name))
        return tuple(sorted(numbers, key=numbers.__getitem__))

    def ranges(self, key: str, maps: Any, names: tuple[str, ...], num_parts: int, total: int) -> np.ndarray:
        """Ranges of `total` new IDs, int64 (parts, types, 2), consecutive by part and type."""
        if isinstance(maps, list):
            maps = dict.fromkeys(names[:1], maps)
        if not isinstance(maps, dict) or set(maps) - set(names):
            kept = "these partitions keep IDs, which only load_partition reads; else partition without reshuffle=False"
            raise self.fault(
                "invalid ranges of IDs",
                f"{key}.{min(set(maps) - set(names))}" if isinstance(maps, dict) else key,
                expected=f"{{type: [[start, end], ...]}} of the types {', '.join(names)}",
                found=shown(maps),
                hint=kept if isinstance(maps, str) else None,
            )
        table = np.zeros((num_parts, len(names), 2), np.int64)
        for i, name in enumerate(names):
            table[:, i] = self._ranges_of_type(f"{key}.{name}", maps.get(name), num_parts)
        flat = table.reshape(-1, 2)
        wrong = np.flatnonzero((flat[:, 1] < flat[:, 0]) | (flat[:, 0] != np.append(0, flat[:-1, 1])[: len(flat)]))
        if wrong.size:
            part, type_id = divmod(int(wrong[0]), len(names))
            raise self.fault(
                "ranges do not follow each other, part by part and type by type",
                f"{key}.{names[type_id]}[{part}]",
                expected=f"a start of {int(flat[wrong[0] - 1, 1]) if wrong[0] else 0:,}",
                found=flat[wrong[0]].tolist(),
            )
        if total != table.max(initial=0):
            number = "num_nodes" if key == "node_map" else "num_edges"
            expected = f"{table.max(initial=0):,}"
            raise self.fault("disagrees with the ranges of IDs", number, expected=expected, found=f"{total:,}")
        return table

    def _ranges_of_type(self, place: str, given: Any, num_parts: int) -> np.ndarray:
        """Ranges of one type; the oldest configs only have their ends."""
        has_ends_alone = isinstance(given, list) and bool(given) and isinstance(given[0], int)
        kind: Any = list[Count] if has_ends_alone else list[tuple[Count, Count]]
        each = Annotated[kind, msgspec.Meta(min_length=num_parts, max_length=num_parts)]
        ranges = np.array(self.take(each, given, place, f"{num_parts} pairs of whole numbers"), np.int64)
        return np.stack([np.append(0, ranges[:-1]), ranges], axis=1) if has_ends_alone else ranges

    def owner_file(self, key: str, name: Any) -> Location:
        """Owner file of IDs. The config has an absolute path; in a moved directory it lies beside the config."""
        for path in (resolve_path(str(name)), self.path.parent / Path(str(name)).name):
            if isinstance(name, str) and is_file(path):
                return path
        raise self.fault("file is missing", key, found=name, hint="copy it next to the config")

    def part_paths(self, key: str) -> PartPaths:
        """Files of a part, which must exist. DGL's documentation says node_feats.dgl, its code node_feat.dgl."""
        by_field, paths = {}, self.take(PartPaths, self.content.get(key), key)
        if not paths.graph:
            raise self.fault("the part has no graph", f"{key}.part_graph")
        for field, name in msgspec.to_builtins(paths).items():
            names = (name, name.replace("_feat.dgl", "_feats.dgl"), name.replace("_feats.dgl", "_feat.dgl"))
            there = next((path for path in names if is_file(self.path.parent / path)), None)
            if there is None:
                place = f"{key}.{field}"
                raise self.fault("file of a part is missing", place, found=name, hint="copy it next to the config")
            by_field[field] = there
        return PartPaths(**by_field)

    def check_confined(self, parts: Sequence[PartPaths]) -> None:
        """Refuse files outside the config's directory, named in the config or not."""
        directory = self.path.parent
        names = [self.path.name, *(name for name in list_directory(directory) if name.endswith(SUFFIX))]
        for part in parts:
            beside = os.path.dirname(part.graph)
            names += [part.node_feats, part.edge_feats, part.graph]
            names += [os.path.join(beside, name) for name in (ORIG_NIDS, ORIG_EIDS, SPLIT_NIDS)]
        for name in names:
            target = leads_outside(directory / name, directory)
            if target is not None:
                what = "leads out of the directory of the partition config"
                hint = "the partitions were opened as confined"
                raise self.fault(what, name, expected=str(directory.absolute()), found=target, hint=hint)

    def canonical_name(
        self, name: str, ranges: np.ndarray, type_id: int, nodes: PartitionBook, graphs: Sequence[Location]
    ) -> str:
        """Canonical name of an edge type, found as in DGL's `change_etype_to_canonical_etype.py`."""
        if name.count(":") == 2:
            return name
        parts = np.flatnonzero(np.diff(ranges[:, type_id]))
        if len(nodes.ntypes) == 1:
            return f"{nodes.ntypes[0]}:{name}:{nodes.ntypes[0]}"
        if not parts.size:
            raise self.fault(
                "cannot tell the node types of a relation without edges",
                "etypes",
                expected="a canonical name src:rel:dst",
                found=name,
                hint="write the canonical name into etypes and edge_map",
            )
        part = int(parts[0])
        graph, first = read_graph_file(graphs[part]), int(ranges[part, type_id, 0] - ranges[part, 0, 0])
        ends = [graph.node_arrays["_ID"].take(end) for end in graph.ends(first, first + 1)]
        src, dst = (nodes.ntypes[int(nodes.map_to_per_ntype(end)[0][0])] for end in ends)
        return f"{src}:{name}:{dst}"
