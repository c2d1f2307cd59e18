"""The noun `EarlierGraph`: a chunked graph whose category codes or node IDs a new one continues.

Old values keep their numbers, even if no table has them any more; new ones follow in order.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, LayoutError, OptionError
from daskgraphpart.graph.metadata import CATEGORIES, METADATA_FILE, read_metadata
from daskgraphpart.graph.transforms.check_changes import split_column, split_feature
from daskgraphpart.ids.id_map import find_map, read_map_header
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.readers.tables.describe.columns import STRINGS
from daskgraphpart.readers.tables.describe.description import Table, with_strings
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import is_directory, is_file, list_directory
from daskgraphpart.storage.paths import AnyPath, Location, join_path, resolve_path, to_key

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges


@dataclass(frozen=True, slots=True)
class EarlierGraph:
    """Directory of a chunked graph, and the option that names it or its partitions."""

    directory: Location
    place: str

    def codes(self, of_type: str, feature: str) -> Location | None:
        """Return the file of values behind a feature's codes, if they are strings."""
        path = join_path(self.directory, f"{CATEGORIES}/{of_type}/{feature}.parquet")
        return path if is_file(path) else None

    def codes_of_split(self, etype: str, feature: str) -> Location | None:
        """Return the file of codes that the types share into which an edge type was split."""
        categories, ends = join_path(self.directory, CATEGORIES), etype.split(":")[::2]
        types = [t for t in (etype, *list_directory(categories)) if t.split(":")[::2] == ends]
        codes = [path for path in (self.codes(t, feature) for t in types) if path is not None]
        if len({hash_file(to_key(path)).digest for path in codes}) > 1:
            what = f"edge types of {etype} have different codes of {feature!r}"
            raise InputFileError(what, file=str(codes[0]), place=self.place, found=str(codes[-1]))
        return codes[0] if codes else None


def open_earlier(given: AnyPath, place: str) -> EarlierGraph:
    """Find an earlier graph: a directory, or partitions whose manifest names it."""
    directory = resolve_path(given)
    if is_file(join_path(directory, METADATA_FILE)):
        return EarlierGraph(directory, place)
    expected, hint = f"a chunked graph, with {METADATA_FILE}, or its partitions", f"give {place} the graph"
    try:
        path, content = _read_manifest(directory)
        maps = IdMaps.of(content, path)
    except LayoutError as fault:
        raise InputFileNotFoundError("no graph", file=str(given), place=place, expected=expected, hint=hint) from fault
    if maps is None:
        what = "these partitions do not name their graph, which had no ID map"
        raise InputFileError(what, file=str(given), place=place, hint=hint)
    where = Path(os.path.normpath(os.path.join(str(path.parent), maps.directory)))
    for ntype, checksum in maps.checksums.items():
        if not is_file(file := where / f"{ntype}.parquet"):
            raise InputFileNotFoundError(
                "the graph of these partitions is gone", file=str(file), place=place, hint=hint
            )
        if hash_file(str(file)).digest != checksum:
            what = "the graph of these partitions was replaced"
            raise InputFileError(what, file=str(file), place=place, hint=hint)
    return EarlierGraph(where.parent, place)


def find_old_ids(given: AnyPath | None, ntypes: Iterable[str]) -> dict[str, Location]:
    """Find the earlier graph's ID maps by node type; unknown types are new."""
    if given is None:
        return {}
    graph = open_earlier(given, "--ids-from")
    maps = {ntype: find_map(graph.directory, ntype) for ntype in ntypes}
    old_maps = {ntype: path for ntype, path in maps.items() if path is not None}
    if not old_maps:
        what = f"the earlier graph has no ID map of {', '.join(map(repr, maps))} nodes"
        hint = "leave it out, to number IDs anew by --map-ids"
        raise InputFileError(what, file=str(graph.directory), place=graph.place, hint=hint)
    return old_maps


def check_old_ids(old: Mapping[str, Location], kinds: Mapping[str, tuple[str, str]]) -> None:
    """Refuse a mix of strings and integers between old and new IDs."""
    for ntype, path in old.items():
        (kind, _), (new_kind, known) = read_map_header(path), kinds[ntype]
        if kind != new_kind:
            hint = "make all of them strings by --id-type string" if kind == STRINGS else "leave out --ids-from"
            what = f"IDs of {ntype!r} nodes were {kind}, and are {new_kind} now"
            raise InputFileError(what, file=str(path), option="ids_from", expected=kind, found=known, hint=hint)


def find_old_codes(given: AnyPath | None) -> EarlierGraph | None:
    """Open the earlier graph whose codes a new one continues, if there is one."""
    if given is None:
        return None
    graph = open_earlier(given, "--codes-from")
    if not is_directory(join_path(graph.directory, CATEGORIES)):
        what, hint = "this graph has no codes, because none of its features were strings", "leave it out"
        raise InputFileError(what, file=str(graph.directory), place=graph.place, hint=hint)
    return graph


def continue_codes(
    graph: EarlierGraph | None, tables: tuple[Table, ...], changes: GraphChanges
) -> tuple[tuple[Table, ...], dict[tuple[str, str], Location]]:
    """Find the old codes of features by type and name; their columns are then read as strings."""
    if graph is None:
        return tables, {}
    codes, continued, of_numbers = dict[tuple[str, str], Location](), [], _feature_names(graph.directory)
    for table in tables:
        for feature, (first, *others) in table.features.items():
            split = split_column(changes, table.of_type) if ":" in table.of_type else None
            if others or (split is not None and feature == split_feature(changes, table.of_type)):
                continue
            find = graph.codes if split is None else graph.codes_of_split
            path, place = find(table.of_type, feature), f"{graph.place}, feature {table.of_type}/{feature}"
            if path is not None:
                codes[table.of_type, feature] = path
                what, expected = "not strings, as in the earlier graph", f"strings, as in {path}"
                details = {"place": place, "expected": expected, "hint": "cast the column to strings"}
                table = replace(table, files=tuple(with_strings(of, first, what, **details) for of in table.files))
            elif table.kind(first) == STRINGS and feature in of_numbers.get(table.of_type, ()):
                what, hint = "strings, but numbers in the earlier graph", "leave out --codes-from"
                raise InputFileError(what, file=table.files[0].path, place=place, hint=hint)
        continued.append(table)
    if not codes:
        what, hint = "none of the features has codes in the earlier graph", "check the names of types and features"
        coded = ", ".join(sorted(list_directory(join_path(graph.directory, CATEGORIES))))
        raise OptionError(what, place=graph.place, file=str(graph.directory), found=f"codes of {coded}", hint=hint)
    return tuple(continued), codes


def _feature_names(directory: Location) -> Mapping[str, Collection[str]]:
    """Return the features by type of a chunked graph, or of partitions made from tables."""
    if is_file(join_path(directory, METADATA_FILE)):
        return read_metadata(directory).data
    _, content = _read_manifest(directory)
    return {**content.get("node_data", {}), **content.get("edge_data", {})}


def _read_manifest(directory: Location) -> tuple[Location, Mapping[str, Any]]:
    """Return the config of partitions, or their manifest, if they have one; and what it says."""
    # few jobs continue an earlier graph
    from daskgraphpart.layouts import dgl_config_reader, manifest_reader

    config = dgl_config_reader.find_config(directory)
    path = manifest_reader.find_manifest(config.parent, dgl_config_reader.read_config(config).graph_name)
    return (config, {}) if path is None else (path, manifest_reader.read_manifest(path).content)
