"""Read a construction config in either dialect, and check what needs no tables."""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from daskgraphpart.errors import MetadataError
from daskgraphpart.readers.construction.config import PROCESSING, Construction, Entry, Faults
from daskgraphpart.readers.construction.gconstruct import read_edges, read_nodes
from daskgraphpart.readers.construction.gsprocessing import as_gconstruct
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import is_url


def is_config(path: Path) -> bool:
    """Whether a JSON file is a construction config, not a chunked graph's metadata."""
    try:
        content = read_json_object(path, MetadataError)
    except MetadataError:
        return False
    graph = content.get("graph")
    inner = graph if isinstance(graph, dict) else content
    return isinstance(inner.get("edges"), list) or isinstance(inner.get("nodes"), list)


def is_construction(given: Any) -> bool:
    """Whether something is the path of a construction config, in either dialect."""
    is_path = isinstance(given, (str, os.PathLike)) and not is_url(os.fspath(given))
    if not is_path or not os.fspath(given).endswith(".json") or not os.path.isfile(given):
        return False
    return is_config(Path(given))


class _Graph(Struct):
    edges: Annotated[list[Any], Meta(min_length=1)]
    nodes: list[Any]


def read_config(path: Path) -> tuple[Construction, Faults]:
    """Read a config; return it with the faults so far."""
    content, faults = read_json_object(path, MetadataError), Faults(str(path))
    is_processing = isinstance(content.get("graph"), dict) or str(content.get("version")).startswith("gsprocessing")
    place = PROCESSING if is_processing else ""
    if is_processing:
        content = as_gconstruct(faults.read(dict[str, Any], content.get("graph"), "graph") or {}, faults)
    graph = faults.read(_Graph, content, place.removesuffix(".")) or _Graph([], [])
    nodes = tuple(read_nodes(graph.nodes, f"{place}nodes", faults))
    edges = tuple(read_edges(graph.edges, f"{place}edges", faults))
    _check_types(nodes, edges, faults)
    _check_ends(nodes, edges, faults)
    for entry in (*nodes, *edges):
        _check_splits(entry, faults)
    construction = Construction(path, nodes, _appended(edges, faults), copy.deepcopy(content), is_processing)
    return (_renamed(construction) if construction.is_homogeneous and not faults.errors else construction), faults


def _check_types(nodes: Iterable[Entry], edges: Iterable[Entry], faults: Faults) -> None:
    """Note types without ID tables, repeated names, and what belongs to no type."""
    by_type: dict[str, list[Entry]] = {}
    for entry in nodes:
        by_type.setdefault(entry.of_type, []).append(entry)
    for ntype, entries in by_type.items():
        with_ids = [entry for entry in entries if entry.ids]
        if not with_ids and ntype:
            faults.add(f"{entries[0].place}.node_id_col", f"no table has the IDs of {ntype!r}", expected="one table")
        for entry in with_ids[1:]:
            what = f"a second table of the IDs of {ntype!r}"
            hint = "rows of further tables follow those of the first: leave their IDs out, or join the tables first"
            faults.add(f"{entry.place}.node_id_col", what, found=entry.ids[0], hint=hint)
    of_edges: dict[str, list[Entry]] = {}
    for entry in edges:
        of_edges.setdefault(entry.of_type, []).append(entry)
    for etype, entries in of_edges.items():
        if etype and not any(entry.ids for entry in entries):
            what, expected = f"no table has the ends of {etype}", "source_id_col and dest_id_col"
            faults.add(f"{entries[0].place}.source_id_col", what, expected=expected)
        first = next((entry for entry in entries if entry.ids), None)  # others with IDs repeat its names
        by_type[etype] = [entry for entry in entries if not entry.ids or entry is first]
    for of_type, entries in by_type.items():
        _check_names(of_type, entries, faults)


def _check_ends(nodes: Iterable[Entry], edges: Iterable[Entry], faults: Faults) -> None:
    """Note relations to types without a table whose names are another spelling of one that has a table."""
    known = {_spelling(entry.of_type): entry.of_type for entry in nodes}
    for entry in edges:
        for end in entry.ends if entry.of_type else ():
            listed = known.get(_spelling(end), end)
            if listed != end and end not in known.values():
                hint = f"write {listed!r}, or add a table of the IDs of {end!r}"
                faults.add(f"{entry.place}.relation", "unknown node type", expected=listed, found=end, hint=hint)


def _spelling(ntype: str) -> str:
    """Return what is equal for spellings of a name: Users, user."""
    return "".join(filter(str.isalnum, ntype.casefold())).removesuffix("s")


def _check_names(of_type: str, entries: list[Entry], faults: Faults) -> None:
    """Note names of features, labels and masks that are repeated or not allowed."""
    names = [pair for entry in entries for pair in entry.names]
    counts = Counter(name for _, name in names)
    for place, name in names:
        if counts[name] > 1:
            hint = "mask_field_names gives masks other names" if name.endswith("_mask") else "give it another name"
            faults.add(place, f"{of_type!r} has {name!r} {counts[name]} times", hint=hint)
        faults.check_name(place, name, "feature")


def _check_splits(entry: Entry, faults: Faults) -> None:
    """Note split files whose IDs cannot be found."""
    for label in entry.labels:
        if label.splits is None:
            continue
        splits = label.splits
        if not entry.ids:
            faults.add(splits.place, "sets by ID need the columns of IDs in the same table", hint="or give split_pct")
        expected = "the columns of both ends" if entry.is_edges else "the column of IDs"
        has_columns = any(not path.endswith(".json") for paths in splits.files.values() for path in paths)
        if has_columns and len(splits.columns) != 1 + entry.is_edges:
            named = ", ".join(splits.columns) or "nothing"
            faults.add(f"{splits.place}.column", "invalid value", expected=expected, found=named)


def _appended(edges: tuple[Entry, ...], faults: Faults) -> tuple[Entry, ...]:
    """Append the files of a relation's further tables to those of the first."""
    by_type: dict[str, Entry] = {}
    others = [entry for entry in edges if not entry.ids]
    for entry in (entry for entry in edges if entry.ids):
        first = by_type.setdefault(entry.of_type, entry)
        if first is entry:
            continue
        if _without_place(first) != _without_place(entry):
            what = f"a second table of {entry.of_type} that differs from {first.place}"
            expected = "the same format, columns, features and labels, as its rows are appended"
            faults.add(entry.place, what, expected=expected)
        by_type[entry.of_type] = replace(first, files=(*first.files, *entry.files))
    return *by_type.values(), *others


def _without_place(entry: Entry) -> Entry:
    features = tuple(replace(feature, place="") for feature in entry.features)
    labels = tuple(
        replace(label, place="", splits=None if label.splits is None else replace(label.splits, place=""))
        for label in entry.labels
    )
    return replace(entry, place="", files=(), features=features, labels=labels)


def _renamed(config: Construction) -> Construction:
    """Give the types of a homogeneous graph their usual names."""
    nodes = tuple(replace(entry, of_type="_N") for entry in config.nodes)
    edges = tuple(replace(entry, of_type="_N:_E:_N") for entry in config.edges)
    for entry in config.content["nodes"]:
        entry["node_type"] = "_N"
    for entry in config.content["edges"]:
        entry["relation"] = ["_N", "_E", "_N"]
    return replace(config, nodes=nodes, edges=edges)
