"""Read the owners of an earlier graph in its order of nodes, and find its ID maps.

They come from `assign`, or from partitions with original IDs. Both record the paths and checksums of ID maps, so that
no other map passes for them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import AssignmentError, InputFileNotFoundError, LayoutError
from daskgraphpart.ids.hash_id_maps import hash_id_maps
from daskgraphpart.ids.id_map import find_map, read_map_header
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.dgl_config_reader import find_config, read_config
from daskgraphpart.layouts.dgl_graph import read_tensor_file
from daskgraphpart.layouts.known_outputs import ORIG_NIDS
from daskgraphpart.layouts.manifest_reader import find_manifest, read_manifest
from daskgraphpart.partitioner.assignment import OURS_FILE, create_owner_files
from daskgraphpart.partitioner.read_files import choose_form, read_meta, read_owner_files, types_with_owners
from daskgraphpart.storage.files import is_directory, is_file
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import resolve_path
from daskgraphpart.storage.region import Region, map_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.storage.paths import Location

ROWS_AT_ONCE = 1 << 20
_HINT_OLD_MAP = "give the old graph by --old-id-map"


@dataclass(frozen=True, slots=True)
class MapPair:
    """ID maps of one node type, of the old graph and the new."""

    old: Location
    new: Location
    num_old: int  # nodes of the old graph
    checksum: str | None  # of the old map, if known


@dataclass(frozen=True, slots=True)
class OldOwners:
    """Owners by node type, in the old graph's order, with their number and the maps that match nodes.

    Types without maps: the first nodes of the new graph are the old ones.
    """

    owners: Mapping[str, Region]
    counts: Mapping[str, int]
    maps: Mapping[str, MapPair]


def check_old_owners(options: AssignOptions, graph: Graph, num_parts: int) -> None:
    """Check the number of parts, types and IDs, without reading an owner."""
    directory = Path(str(options.extend))
    if not _find_original_ids(directory, num_parts):
        _, ours, _ = read_meta(directory, num_parts)
        for ntype in _find_old_types(directory, graph.schema.ntypes):
            choose_form(directory, ntype, ours, None)
    find_map_pairs(options, graph)


def check_old_parts(options: AssignOptions, num_parts: int) -> None:
    """Check that there are old owners, in as many parts."""
    directory = Path(str(options.extend))
    if not _find_original_ids(directory, num_parts):
        read_meta(directory, num_parts)


def read_old_owners(options: AssignOptions, graph: Graph, workspace: Path, runner: Runner, num_parts: int) -> OldOwners:
    """Read old owners into the workspace, and check the old ID maps."""
    maps, directory = find_map_pairs(options, graph), Path(str(options.extend))
    _check_unchanged(maps, directory, runner)
    # without a map, at most all nodes are old
    counts = {t.name: maps[t.name].num_old if t.name in maps else t.num_nodes for t in graph.schema.node_types}
    types = tuple(replace(t, num_nodes=counts[t.name]) for t in graph.schema.node_types)
    schema = replace(graph.schema, node_types=types)
    old_types = _find_old_types(directory, schema.ntypes)
    if files := _find_original_ids(directory, num_parts):
        owners: Mapping[str, Region] = create_owner_files(workspace, schema, num_parts, runner)
        known = {ntype: owners[ntype] for ntype in old_types}
        unit = Unit(files, sum(region.nbytes for region in known.values()))
        (num_read,) = runner.run(Pass("read-assignment", place_owners, [unit], known))
    else:
        assignment, num_read = read_owner_files(directory, schema, workspace, runner, num_parts, old_types=old_types)
        owners = assignment.files
    for ntype, pair in maps.items():
        if num_read[ntype] != pair.num_old:
            what, expected = f"not the ID map of these old {ntype!r} nodes", f"{num_read[ntype]:,} IDs"
            raise AssignmentError(
                what, file=str(pair.old), expected=expected, found=f"{pair.num_old:,}", hint=_HINT_OLD_MAP
            )
    return OldOwners(owners, {**dict.fromkeys(schema.ntypes, 0), **num_read}, maps)


def find_map_pairs(options: AssignOptions, graph: Graph) -> dict[str, MapPair]:
    """Find the ID maps of both graphs by node type that is old; refuse types with a map in only one."""
    directory, new = Path(str(options.extend)), graph.id_maps
    stated, types = _find_stated(directory), _find_old_types(directory, graph.schema.ntypes)
    old = {ntype: _find_old_map(ntype, options, directory, stated) for ntype in types}
    only_new = [ntype for ntype, path in old.items() if path is None and ntype in new]
    only_old = [ntype for ntype, path in old.items() if path is not None and ntype not in new]
    if only_new or only_old:
        mapped = ", ".join(map(repr, only_new or only_old))
        what = f"the old owners have an ID map of {mapped} nodes, but the graph has none"
        raise AssignmentError(
            f"the graph has an ID map of {mapped} nodes, but the old owners have none" if only_new else what,
            file=str(directory),
            expected="maps of both, to match nodes by ID, or of neither, to match node i with old node i",
            hint=_HINT_OLD_MAP if only_new else "make the graph with `build --map-ids`",
        )
    pairs = {}
    for ntype, path in old.items():
        if path is not None:
            (kind, count), (new_kind, _) = read_map_header(path), read_map_header(new[ntype])
            if kind != new_kind:
                what = f"no {ntype!r} nodes can match: old and new IDs have different types"
                hint = "use --id-type to make both integers, or both strings"
                raise AssignmentError(
                    what, file=str(new[ntype]), expected=f"{kind}, as in {path}", found=new_kind, hint=hint
                )
            pairs[ntype] = MapPair(path, new[ntype], count, None if stated is None else stated.checksums.get(ntype))
    return pairs


def list_old_maps(options: AssignOptions) -> list[Path]:
    """List the old graph's ID maps, whatever node types the new graph has."""
    stated = _find_stated(Path(str(options.extend)))
    given = options.old_id_map or (None if stated is None else stated.directory)
    if given is None:
        return []
    return [Path(given)] if Path(given).is_file() else sorted(Path(given).rglob("*.parquet"))


def _find_stated(directory: Path) -> IdMaps | None:
    """Read where owners or partitions say the ID maps are, with absolute directories."""
    content, file = _read_description(directory)
    stated = IdMaps.of(content, file)
    if stated is None:
        return None
    return replace(stated, directory=os.path.normpath(os.path.join(str(file.parent), stated.directory)))


def recorded_training(options: AssignOptions) -> dict[str, Any]:
    """Read what old owners, or partitions, record of training."""
    content, _ = _read_description(Path(str(options.extend)))
    return dict(content.get("training") or {})


def _read_description(directory: Path) -> tuple[Mapping[str, Any], Location]:
    """Read what owners or partitions say of themselves, and where."""
    try:
        config = find_config(directory)
        manifest = find_manifest(config.parent, read_config(config).graph_name)
        return ({}, config) if manifest is None else (read_manifest(manifest).content, manifest)
    except LayoutError:
        file = directory / OURS_FILE
        return read_json_object(file, AssignmentError) if file.is_file() else {}, file


def _find_old_map(ntype: str, options: AssignOptions, directory: Path, stated: IdMaps | None) -> Location | None:
    """Return a type's old ID map, from where the user or the old owners say; None if neither does."""
    if options.old_id_map is not None:
        return find_map(resolve_path(options.old_id_map), ntype)
    if stated is None or (stated.checksums and ntype not in stated.checksums):
        return None
    path = Path(stated.directory, f"{ntype}.parquet")
    if is_file(path):
        return path
    if ntype in stated.checksums or not is_directory(path.parent):
        what = f"the ID map of the old {ntype!r} nodes is gone"
        raise InputFileNotFoundError(what, file=str(path), place=f"named in {directory}", hint=_HINT_OLD_MAP)
    return None


def _check_unchanged(maps: Mapping[str, MapPair], directory: Path, runner: Runner) -> None:
    """Check that the ID maps are those of the old owners."""
    known = {ntype: pair for ntype, pair in maps.items() if pair.checksum is not None}
    for (ntype, pair), checksum in zip(
        known.items(), hash_id_maps([p.old for p in known.values()], runner), strict=True
    ):
        if checksum != pair.checksum:
            raise AssignmentError(
                f"the ID map of the old {ntype!r} nodes has been replaced",
                file=str(pair.old),
                expected=f"checksum {pair.checksum}, as in {directory}",
                found=checksum,
                hint=f"keep the old graph, or its id_map, next to the new one and {_HINT_OLD_MAP}",
            )


def _find_old_types(directory: Path, ntypes: Sequence[str]) -> list[str]:
    """Return the node types of a graph that the old one had, too: at least one."""
    try:
        config = find_config(directory)
    except LayoutError:
        known = types_with_owners(directory, ntypes)
    else:
        known = [*read_config(config).book.ntypes]
    if not (old := [ntype for ntype in ntypes if ntype in known]):
        what, expected = "no old node is of a type of the graph", " or ".join(ntypes)
        raise AssignmentError(what, file=str(directory), expected=expected, found=" and ".join(known) or None)
    return old


def _find_original_ids(directory: Path, num_parts: int) -> list[Location]:
    """List the original-ID files of partitions in DGL's layout; none without a config."""
    try:
        config = find_config(directory)
    except LayoutError:
        return []
    files = [(config.parent / part.graph).parent / ORIG_NIDS for part in read_config(config).parts]
    if len(files) != num_parts:
        what, hint = "the partitions have a different number of parts", f"give --num-parts {len(files)}"
        raise AssignmentError(what, file=str(config), expected=num_parts, found=len(files), hint=hint)
    return files


def place_owners(files: Sequence[Location], owners: Mapping[str, Region]) -> dict[str, int]:
    """Write the part of every node of partitions by its original ID; return the number of each type."""
    tensors, counts = [read_tensor_file(file) for file in files], {}
    for ntype, owner_file in owners.items():
        regions = [of_part[ntype] for of_part in tensors if ntype in of_part]
        parts, count, total = map_npy(owner_file.path), sum(region.num_rows for region in regions), 0
        for number, region in enumerate(regions):
            for _, originals in region.pieces(ROWS_AT_ONCE):
                rows = originals.astype(np.int64)
                inside = rows[(rows >= 0) & (rows < min(count, parts.size))]
                parts[inside] = number
                total += int(inside.sum())
        if len(regions) < len(files) or count > parts.size or total != count * (count - 1) // 2:
            what, found_nodes = f"an original ID of old {ntype!r} nodes is out of range or repeated", f"{count:,} nodes"
            expected = f"at most {parts.size:,} nodes, and the IDs 0, 1, ..."
            raise AssignmentError(what, file=str(files[0].parent.parent), expected=expected, found=found_nodes)
        counts[ntype] = count
    return counts
