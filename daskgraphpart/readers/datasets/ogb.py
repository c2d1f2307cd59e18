"""OGB's node and link property prediction, MAG240M and WikiKG90Mv2 of OGB-LSC.

Checked against `ogb/io/read_graph_raw.py` and `ogb/lsc` (mag240m, wikikg90mv2, utils) of OGB, commit 61e9784.
Node splits become masks. Link splits are lists of edges, of which the graph has only the training ones.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from daskgraphpart.extension import DEFAULT_ETYPE, DEFAULT_NTYPE, InputFileError
from daskgraphpart.readers.datasets.dataset_files import count_in, load_torch, mask_of, require_files, require_shape

MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}
COUNTS = ("num_nodes_list", "num_edges_list")  # arrays of a binary graph, of one number each


def read_ogb(directory: Path) -> dict[str, Any]:
    """Name the files of a graph: one type (text or arrays), or several (text)."""
    raw = directory / "raw"
    folders = [path for path in sorted((directory / "split").glob("*")) if path.is_dir()]
    split = (folders or [directory / "split" / "*"])[0]
    has_labels = not (split / "train.pt").is_file()
    if (raw / "triplet-type-list.csv.gz").is_file():
        return _with_floats(_read_types(directory, raw, split, has_labels))
    masks = {mask: split / f"{name}.csv.gz" for name, mask in MASKS.items()} if has_labels else {}
    is_binary = (raw / "data.npz").is_file()
    names = ["data.npz"] if is_binary else ["edge.csv.gz", "num-node-list.csv.gz", "num-edge-list.csv.gz"]
    labels = [f"node-label.{'npz' if is_binary else 'csv.gz'}"] if has_labels else []
    require_files(directory, "ogb", [*(raw / name for name in (*names, *labels)), *masks.values()])
    tables = _read_arrays(raw, *labels) if is_binary else _with_floats(_read_text(raw))
    return {**tables, "masks": {DEFAULT_NTYPE: {mask: _text(path, ":0") for mask, path in masks.items()}}}


def _with_floats(tables: dict[str, Any]) -> dict[str, Any]:
    """Let features `feat` in text be float32, as OGB reads them."""
    data = {**tables["node_data"], **tables["edge_data"]}
    return {**tables, "cast": {f"{of_type}/feat": "float32" for of_type, names in data.items() if "feat" in names}}


def _read_text(raw: Path) -> dict[str, Any]:
    species = raw / "species.csv.gz"  # of ogbn-proteins
    more = {"species": _text(species)} if species.is_file() else {}
    return {
        "edges": {DEFAULT_ETYPE: _text(raw / "edge.csv.gz", ":0,1")},
        "num_nodes": {DEFAULT_NTYPE: _count(raw / "num-node-list.csv.gz")},
        "num_edges": {DEFAULT_ETYPE: _count(raw / "num-edge-list.csv.gz")},
        "node_data": {DEFAULT_NTYPE: _features(raw, "node") | more},
        "edge_data": {DEFAULT_ETYPE: _features(raw, "edge")},
    }


def _read_arrays(raw: Path, *labels: str) -> dict[str, Any]:
    path = raw / "data.npz"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            names = set(arrays.files)
            num_nodes, num_edges = (int(arrays[name].item()) for name in COUNTS)
    except Exception as fault:  # numpy and zipfile raise nearly everything for damaged files
        expected = f"arrays edge_index and {', '.join(COUNTS)}, of one graph"
        message = str(fault) or type(fault).__name__
        raise InputFileError("not a graph of OGB", file=path, expected=expected, found=message) from fault
    names -= {"edge_index", *COUNTS}
    data: dict[str, dict[str, str]] = {
        kind: {name[5:]: f"{path}:{name}" for name in sorted(names) if name[:4] == kind} for kind in ("node", "edge")
    }
    for name in labels:
        data["node"]["label"] = f"{raw / name}:node_label"
    return {
        "edges": {DEFAULT_ETYPE: path},
        "num_nodes": {DEFAULT_NTYPE: num_nodes},
        "num_edges": {DEFAULT_ETYPE: num_edges},
        "node_data": {DEFAULT_NTYPE: data["node"]},
        "edge_data": {DEFAULT_ETYPE: data["edge"]},
    }


def _read_types(directory: Path, raw: Path, split: Path, has_labels: bool) -> dict[str, Any]:
    counts = raw / "num-node-dict.csv.gz"
    flags = raw / "nodetype-has-label.csv.gz", split / "nodetype-has-split.csv.gz"
    etypes = sorted(":".join(triplet) for triplet in _table(raw / "triplet-type-list.csv.gz"))
    folders = {etype: raw / "relations" / etype.replace(":", "___") for etype in etypes}
    labels = {ntype: raw / "node-label" / ntype / "node-label.csv.gz" for ntype in _flagged(flags[0])}
    masks = {
        ntype: {mask: split / ntype / f"{name}.csv.gz" for name, mask in MASKS.items()} for ntype in _flagged(flags[1])
    }
    needed = [counts, *(flags if has_labels else ()), *labels.values()]
    needed += [folder / name for folder in folders.values() for name in ("edge.csv.gz", "num-edge-list.csv.gz")]
    require_files(directory, "ogb", [*needed, *(path for paths in masks.values() for path in paths.values())])
    ntypes = sorted(_table(counts)[0])
    node_data = {ntype: _features(raw / "node-feat" / ntype, "node") for ntype in ntypes}
    for ntype, path in labels.items():
        node_data[ntype]["label"] = _text(path)
    return {
        "edges": {etype: _text(folder / "edge.csv.gz", ":0,1") for etype, folder in folders.items()},
        "num_nodes": {ntype: _count(counts, ntype) for ntype in ntypes},
        "num_edges": {etype: _count(folder / "num-edge-list.csv.gz") for etype, folder in folders.items()},
        "node_data": node_data,
        "edge_data": {etype: _features(folder, "edge") for etype, folder in folders.items()},
        "masks": {ntype: {mask: _text(path, ":0") for mask, path in paths.items()} for ntype, paths in masks.items()},
    }


def _text(path: Path, columns: str = "") -> str:
    return f"{path}:no-header:comma{columns}"


def _features(folder: Path, kind: str) -> dict[str, str]:
    """Name a directory's features: ``node-feat.csv.gz``, ``node_year.csv.gz`` and so on."""
    files = sorted(folder.glob(f"{kind}[-_]*.csv.gz"))
    return {path.name[len(kind) + 1 :].removesuffix(".csv.gz"): _text(path) for path in files}


def _table(path: Path) -> list[list[str]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            return [row for row in csv.reader(file) if row]
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError, csv.Error) as fault:
        raise InputFileError("not readable text", file=path, found=str(fault), hint="download it again") from fault


def _count(path: Path, ntype: str | None = None) -> int:
    """Return the only number in a file, or in a column of it."""
    rows = _table(path)
    numbers = [row[0] for row in rows]
    if ntype is not None:
        numbers = [dict(zip(rows[0], row, strict=False)).get(ntype, "") for row in rows[1:]]
    if len(numbers) != 1 or not numbers[0].isdecimal():
        hint = "data sets of many graphs cannot be partitioned" if numbers[1:] else None
        shown = ", ".join(numbers) or "nothing"
        raise InputFileError(
            "not one number", file=path, place=ntype, expected="that of one graph", found=shown, hint=hint
        )
    return int(numbers[0])


def _flagged(path: Path) -> list[str]:
    rows = _table(path) if path.is_file() else []
    return sorted(name for name, flag in zip(*rows[:2], strict=False) if flag == "True") if rows[1:] else []


ETYPES = ("author:affiliated_with:institution", "author:writes:paper", "paper:cites:paper")
LSC_MASKS = {"valid": "val", "test-dev": "test", "test-challenge": "test_challenge", "test-whole": "test_whole"}


def read_mag240m(directory: Path) -> dict[str, Any]:
    """Name the files of three edge types and of papers; splits become masks, `test_mask` from `test-dev`."""
    processed, meta, split = directory / "processed", directory / "meta.pt", directory / "split_dict.pt"
    edges = {etype: processed / etype.replace(":", "___") / "edge_index.npy" for etype in ETYPES}
    features = {name: processed / "paper" / f"node_{name}.npy" for name in ("feat", "label", "year")}
    require_files(directory, "mag240m", [*edges.values(), *features.values(), meta, split])
    require_shape(edges.values(), 2, None)
    counts = load_torch(meta)
    num_nodes = {ntype: count_in(meta, counts, ntype) for ntype in ("author", "institution", "paper")}
    lists = dict(load_torch(split))
    if "test" in lists:  # three fifths of the test set are for development
        ids = lists.pop("test")
        is_dev = np.arange(len(ids)) % 5 < 3
        lists |= {"test-whole": ids, "test-dev": ids[is_dev], "test-challenge": ids[~is_dev]}
    masks = {
        f"{LSC_MASKS.get(key, key)}_mask": mask_of(split, key, ids, num_nodes["paper"]) for key, ids in lists.items()
    }
    return {"edges": edges, "num_nodes": num_nodes, "node_data": {"paper": features}, "masks": {"paper": masks}}


ETYPE = "entity:relates:entity"


def read_wikikg(directory: Path) -> dict[str, Any]:
    """Name the files of training triplets, whose relations become edge types, and of entities."""
    triplets, features = directory / "processed" / "train_hrt.npy", directory / "processed" / "entity_feat.npy"
    meta = directory / "meta.pt"
    require_files(directory, "wikikg", [triplets, features, meta])
    require_shape([triplets], None, 3)
    return {
        "edges": {ETYPE: f"{triplets}:0,2"},
        "edge_data": {ETYPE: {"reltype": f"{triplets}:1"}},
        "edge_types_from": {ETYPE: "reltype"},
        "num_nodes": {"entity": count_in(meta, load_torch(meta), "num_entities")},
        "node_data": {"entity": {"feat": features}},
    }
