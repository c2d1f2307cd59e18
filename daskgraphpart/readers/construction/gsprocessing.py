"""Translate a construction config from GSProcessing's dialect to gconstruct's.

Follows GraphStorm 0.5.1: graphstorm_processing/config/config_parser.py and numerical_configs.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from daskgraphpart.readers.construction.config import UNKNOWN, Entry, Feature, Label, Reader, Transform
from daskgraphpart.readers.construction.gconstruct import (
    FORMS,
    HARD_NEGATIVES,
    NO_SHARES,
    buckets_of,
    checked_etype,
    checked_type,
    epsilon_of,
    feature_dtype,
    is_known,
    read_masks,
    read_splits,
    separator_of,
    task_of,
    width_of,
)

IMPUTERS = ("none", "mean", "median", "most_frequent")
NORMALIZERS = {"none": "no-op", "min-max": "max_min_norm", "standard": "standard", "rank-gauss": "rank_gauss"}
TRANSFORMS = (
    "no-op", "numerical", "multi-numerical", "bucket-numerical", "categorical", "multi-categorical", HARD_NEGATIVES
)  # fmt: skip


def read_nodes(reader: Reader) -> Iterator[Entry]:
    """Read the tables of nodes."""
    for entry in reader.objects("nodes"):
        yield _entry(entry, checked_type(entry, "type"), (entry.text("column", "the column of IDs"),), is_edges=False)


def read_edges(reader: Reader) -> Iterator[Entry]:
    """Read the tables of edges."""
    for entry in reader.objects("edges"):
        source, dest, relation = (entry.object(key) for key in ("source", "dest", "relation"))
        names = (source.text("type", "a node type"), relation.text("type", "a relation"), dest.text("type", "a type"))
        if relation.has("column"):
            hint = "split the table by it first, or build the graph with --edge-types-from"
            relation.add("column", "cannot read relations from a column", hint=hint)
        ids = tuple(end.text("column", "the column of IDs") for end in (source, dest))
        yield _entry(entry, checked_etype(entry, "relation", names) if all(names) else "", ids, is_edges=True)


def _entry(reader: Reader, of_type: str, ids: tuple[str, ...], *, is_edges: bool) -> Entry:
    data = reader.object("data")
    form = data.choice("format", FORMS, "parquet") if data.text("format", "parquet or csv") else "parquet"
    delimiter = data.text("separator", "one character") if form == "csv" else ","
    files = data.texts("files", "a path or a list of paths")
    features = tuple(_feature(item, is_edges=is_edges) for item in reader.objects("features"))
    labels = tuple(_label(item, is_edges=is_edges) for item in reader.objects("labels"))
    return Entry(reader.place, of_type, form, delimiter, files, ids, features, labels)


def _feature(reader: Reader, *, is_edges: bool) -> Feature:
    columns = reader.texts("column", "the name of a column")
    if len(columns) > 1:
        reader.add("column", "several columns", expected="one", found=", ".join(columns))
    name = reader.text("name", "a name", columns[0] if columns else "-")
    inner = reader.object("transformation")
    kind = inner.text("name", "a transformation") if reader.has("transformation") else "no-op"
    given = inner.object("kwargs")
    dtype = given.choice("out_dtype", ("float32", "float64"), "float32")
    transform = Transform(UNKNOWN)
    if is_known(inner, "name", kind, TRANSFORMS, is_edges=is_edges):
        transform = _transform(given, kind)
    return Feature(reader.place, name, columns, feature_dtype(transform, dtype), transform)


def _transform(given: Reader, kind: str) -> Transform:
    if kind == "no-op":
        return Transform(separator=separator_of(given), truncate_dim=width_of(given))
    if kind == HARD_NEGATIVES:
        return Transform(kind, separator=separator_of(given))
    if kind in ("categorical", "multi-categorical"):
        separator = separator_of(given) if kind == "multi-categorical" else None
        return Transform("to_categorical", separator=separator, by_frequency=True)
    imputer = given.choice("imputer", IMPUTERS, "none")
    if kind == "bucket-numerical":
        return Transform("bucket_numerical", imputer=imputer, **buckets_of(given))
    name = NORMALIZERS[given.choice("normalizer", tuple(NORMALIZERS), "none")]
    if kind == "multi-numerical":
        if name == "rank_gauss":
            given.add("normalizer", "ranks of vectors are not defined", expected="none, min-max or standard")
        if imputer != "none":
            given.add("imputer", "missing numbers inside vectors are not filled", expected="none", found=imputer)
        return Transform(name, separator=separator_of(given))
    return Transform(name, epsilon=epsilon_of(given), imputer=imputer)


def _label(reader: Reader, *, is_edges: bool) -> Label:
    task, column = task_of(reader, "type", "column", is_edges=is_edges)
    if reader.has("separator"):
        hint = "compute the multi-hot rows first, give them as a vector column"
        reader.add("separator", "cannot read several labels from a cell", hint=hint)
    splits = read_splits(reader)
    shares = NO_SHARES if splits is not None else _shares(reader)
    return Label(reader.place, task, column, shares, splits, read_masks(reader), is_coded=task == "classification")


def _shares(reader: Reader) -> tuple[float, ...]:
    if not reader.has("split_rate"):
        return 0.8, 0.1, 0.1
    inner = reader.object("split_rate")
    train, val, test = (inner.number(key, "a share", 0) for key in ("train", "val", "test"))
    total = math.fsum((train, val, test))
    if min(train, val, test) < 0 or not math.isclose(total, 1):
        expected, sums = "train, val and test, 1 together", f"{[train, val, test]}, {total:g}"
        reader.add("split_rate", "the shares do not add up", expected=expected, found=sums)
    return train, val, test


def as_gconstruct(nodes: tuple[Entry, ...], edges: tuple[Entry, ...]) -> dict[str, Any]:
    """Return the config in gconstruct's dialect."""
    config: dict[str, Any] = {"nodes": [], "edges": []}
    for entry in nodes:
        config["nodes"].append({"node_type": entry.of_type, "node_id_col": entry.ids[0], **_described(entry)})
    for entry in edges:
        ids = dict(zip(("source_id_col", "dest_id_col"), entry.ids, strict=True))
        config["edges"].append({"relation": entry.of_type.split(":"), **ids, **_described(entry)})
    return config


def _described(entry: Entry) -> dict[str, Any]:
    form = {"name": entry.form, **({"separator": entry.delimiter} if entry.form == "csv" else {})}
    description: dict[str, Any] = {"format": form, "files": list(entry.files)}
    if entry.features:
        description["features"] = [_described_feature(feature) for feature in entry.features]
    if entry.labels:
        description["labels"] = [_described_label(label) for label in entry.labels]
    return description


def _described_feature(feature: Feature) -> dict[str, Any]:
    how, transform = feature.transform, dict[str, Any](name=feature.transform.name)
    for key in {
        "rank_gauss": ("epsilon",), "bucket_numerical": ("bucket_cnt", "range", "slide_window_size"),
        "no-op": ("separator", "truncate_dim"), "to_categorical": ("separator",), HARD_NEGATIVES: ("separator",),
    }.get(how.name, ()):  # fmt: skip
        value = getattr(how, key)
        if value is not None:
            transform[key] = list(value) if isinstance(value, tuple) else value
    named = {"feature_col": feature.columns[0], "feature_name": feature.name, "transform": transform}
    return named | ({} if feature.dtype in ("float32", "int64") else {"out_dtype": feature.dtype})


def _described_label(label: Label) -> dict[str, Any]:
    description: dict[str, Any] = {"task_type": label.task}
    if label.column:
        description["label_col"] = label.column
    if label.splits is None:
        return {**description, "split_pct": list(label.shares), "mask_field_names": list(label.masks)}
    files = {key: list(paths) for key, paths in label.splits.files.items() if paths}
    files |= {"column": list(label.splits.columns)} if label.splits.columns else {}
    return {**description, "custom_split_filenames": files, "mask_field_names": list(label.masks)}
