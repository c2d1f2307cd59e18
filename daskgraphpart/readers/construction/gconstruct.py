"""Read a construction config in gconstruct's dialect, noting every fault."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from daskgraphpart.readers.construction.config import (
    MASKS,
    UNKNOWN,
    Entry,
    Faults,
    Feature,
    Label,
    Name,
    Names,
    Splits,
    Transform,
    as_tuple,
    is_in_processing,
    is_of_edges,
)

FORMS = ("parquet", "csv")
DTYPES = ("float32", "float16", "float64", "int8")
TASKS = ("classification", "regression", "link_prediction")
HARD_NEGATIVES = "edge_dst_hard_negative"
PARAMETERS = {
    "no-op": ("separator", "truncate_dim"),
    "max_min_norm": ("max_val", "min_val", "max_bound", "min_bound"),
    "standard": ("sum",),
    "rank_gauss": ("epsilon", "uniquify"),
    "bucket_numerical": ("bucket_cnt", "range", "slide_window_size"),
    "to_categorical": ("separator", "mapping"),
    HARD_NEGATIVES: ("separator",),
}
"""Keys of each transform."""
OF_PROCESSING = ("imputer", "by_frequency")
"""Keys that only GSProcessing's transforms have, once translated."""
OF_MODELS = ("tokenize_hf", "bert_hf", "tabular", "huggingface")
MOST_UNDER_ONE = 1 + 1e-9
HALF_BOUND = float(np.finfo(np.float16).max)


class _Format(Struct):
    name: str
    separator: Name | None = None


class _Table(Struct, kw_only=True):
    format: _Format
    files: Names
    features: list[Any] = []
    labels: list[Any] = []


class _Nodes(_Table, kw_only=True):
    node_type: Name
    node_id_col: str = ""


class _Edges(_Table, kw_only=True):
    relation: tuple[Name, Name, Name]
    source_id_col: str = ""
    dest_id_col: str = ""


class _Feature(Struct):
    feature_col: Names
    feature_name: Name | None = None
    out_dtype: str = "float32"
    transform: dict[str, Any] | None = None


class _Splits(Struct):
    train: Names | None = None
    valid: Names | None = None
    test: Names | None = None
    column: Names | None = None


class _Label(Struct):
    task_type: Name
    label_col: str = ""
    split_pct: tuple[float, float, float] = (0.8, 0.1, 0.1)
    custom_split_filenames: _Splits | None = None
    mask_field_names: tuple[Name, Name, Name] = MASKS
    label_stats_type: str = ""


def read_nodes(tables: Iterable[Any], place: str, faults: Faults) -> Iterator[Entry]:
    """Read the tables of nodes."""
    for at, table in faults.read_each(_Nodes, tables, place):
        faults.check_name(f"{at}.node_type", table.node_type, "type")
        yield _entry(table, at, faults, table.node_type, (table.node_id_col,))


def read_edges(tables: Iterable[Any], place: str, faults: Faults) -> Iterator[Entry]:
    """Read the tables of edges."""
    for at, table in faults.read_each(_Edges, tables, place):
        ids = table.source_id_col, table.dest_id_col
        if any(ids) and not all(ids):
            key = "source_id_col" if not ids[0] else "dest_id_col"
            faults.add(f"{at}.{key}", "missing", expected="the columns of both ends, or of none")
        for name in table.relation:
            faults.check_name(f"{at}.relation", name, "type")
        yield _entry(table, at, faults, ":".join(table.relation), ids)


def _entry(table: _Table, place: str, faults: Faults, of_type: str, ids: tuple[str, ...]) -> Entry:
    form = faults.choose(f"{place}.format.name", table.format.name, FORMS)
    features = faults.read_each(_Feature, table.features, f"{place}.features")
    labels = faults.read_each(_Label, table.labels, f"{place}.labels")
    return Entry(
        place, of_type, form, table.format.separator or ",", as_tuple(table.files), ids if all(ids) else (),
        tuple(_feature(feature, at, faults) for at, feature in features),
        tuple(_label(label, at, faults) for at, label in labels),
    )  # fmt: skip


def _feature(given: _Feature, place: str, faults: Faults) -> Feature:
    columns = as_tuple(given.feature_col)
    if given.feature_name is None and not isinstance(given.feature_col, str):
        faults.add(f"{place}.feature_name", "missing", expected="a name for the list of columns")
    dtype = faults.choose(f"{place}.out_dtype", given.out_dtype, DTYPES)
    content = {"name": "no-op"} if given.transform is None else given.transform
    if dtype == "float16":
        content = {"max_bound": HALF_BOUND, "min_bound": -HALF_BOUND, **content}
    kind, at, how = content.get("name"), f"{place}.transform", None
    if is_known(kind, tuple(PARAMETERS), f"{at}.name", faults):
        keys = ("name", *PARAMETERS[str(kind)], *(OF_PROCESSING if is_in_processing(place) else ()))
        how = faults.read(Transform, {key: content.get(key) for key in keys}, at)
    if how is None:
        return Feature(place, given.feature_name or columns[0], columns, dtype, Transform(UNKNOWN))
    _check_transform(how, at, faults)
    if columns[1:]:
        _check_columns(how, columns, at, faults)
    if how.name == "max_min_norm" and dtype == "int8":
        faults.add(f"{at}.name", "max_min_norm gives no int8", hint="give another out_dtype")
    if how.name == "to_categorical":
        dtype = "float32" if how.by_frequency else "int8"
    dtype = "int64" if how.name == HARD_NEGATIVES else dtype
    return Feature(place, given.feature_name or columns[0], columns, dtype, how)


def is_known(kind: Any, known: tuple[str, ...], place: str, faults: Faults) -> bool:
    """Refuse a transform that is unknown, needs a model, or belongs to edges."""
    if kind in OF_MODELS:
        faults.add(place, f"{kind} needs a model from a hub", hint="compute it first, give it as a vector column")
    elif kind not in known and not faults.has(place):
        faults.add(place, "unknown transform", expected=", ".join(known), found=repr(kind))
    elif kind == HARD_NEGATIVES and not is_of_edges(place):
        faults.add(place, f"{kind} is for features of edges", hint="remove it from the nodes")
    return kind in known


def _check_transform(how: Transform, place: str, faults: Faults) -> None:
    """Note parameters that say nothing, whatever the columns."""
    if how.name == "bucket_numerical":
        if not how.bucket_cnt:
            faults.add(f"{place}.bucket_cnt", "missing", expected="a number of buckets")
        if how.range[0] == how.range[1]:
            faults.add(f"{place}.range", "missing or empty", expected="the lowest and the highest value")
    mapping = how.mapping or {}
    for key, value in mapping.items():
        if value >= len(mapping):
            expected = f"a number from 0 and below {len(mapping)}, the number of categories"
            faults.add(f"{place}.mapping.{key}", "invalid value", expected=expected, found=value)
    if how.sum is not None and not np.all(how.sum):
        faults.add(f"{place}.sum", "nothing can be divided by it", found=how.sum)
    for low, high in (("min_val", "max_val"), ("min_bound", "max_bound")):
        values = [np.atleast_1d(getattr(how, key)) for key in (low, high) if getattr(how, key) is not None]
        if values[1:] and any(least >= most for least, most in zip(*values, strict=False)):
            expected, shown = f"more than {getattr(how, low)}", getattr(how, high)
            faults.add(f"{place}.{high}", f"not above {low}", expected=expected, found=shown)


def _check_columns(how: Transform, columns: tuple[str, ...], place: str, faults: Faults) -> None:
    """Note parameters that do not fit several columns."""
    if how.name in ("to_categorical", HARD_NEGATIVES):
        faults.add(f"{place}.name", f"{how.name} takes one column", found=", ".join(columns))
    for key in {"standard": ("sum",), "max_min_norm": ("max_val", "min_val")}.get(how.name, ()):
        values = getattr(how, key)
        if values is None:
            faults.add(f"{place}.{key}", "missing", expected="a number for each column, as there are several")
        elif np.size(values) not in (1, len(columns)):
            faults.add(f"{place}.{key}", "invalid value", expected=f"{len(columns)} numbers", found=values)


def _label(given: _Label, place: str, faults: Faults) -> Label:
    if given.label_stats_type not in ("", "frequency_cnt"):
        shown = repr(given.label_stats_type)
        faults.add(f"{place}.label_stats_type", "unknown", expected="frequency_cnt", found=shown)
    if len(set(given.mask_field_names)) < 3:
        faults.add(f"{place}.mask_field_names", "not three names", found=list(given.mask_field_names))
    task, column = _task(given, place, faults)
    is_class, is_coded = task == "classification", task == "classification" and is_in_processing(place)
    splits = None if given.custom_split_filenames is None else _splits(given.custom_split_filenames, place, faults)
    shares = _shares(given, place, faults) if splits is None else (0.0, 0.0, 0.0)
    has_stats = is_class and given.label_stats_type != ""
    return Label(place, task, column, shares, splits, given.mask_field_names, has_stats, is_coded)


def _task(given: _Label, place: str, faults: Faults) -> tuple[str, str]:
    """Return a label's task and column; nodes have no links to predict.

    With sets in files, any other task will do, such as `reconstruct_node_feat`: it needs no column.
    """
    task, at = given.task_type, f"{place}.task_type"
    if task in TASKS[:2]:
        if not given.label_col:
            faults.add(f"{place}.label_col", "missing", expected="the name of a column")
        return task, given.label_col
    if task not in TASKS and given.custom_split_filenames is not None:
        return task, given.label_col
    if task not in TASKS:
        expected = f"{', '.join(TASKS[:-1])} or {TASKS[-1]}"
        hint = "a task of your own has its sets in files, by custom_split_filenames"
        faults.add(at, "unknown", expected=expected, found=repr(task), hint=hint)
    elif not is_of_edges(place):
        what, expected = "link prediction is a task of edges", "classification or regression"
        faults.add(at, what, expected=expected, found=task)
    return TASKS[2], ""


def _shares(given: _Label, place: str, faults: Faults) -> tuple[float, ...]:
    shares, total = given.split_pct, math.fsum(given.split_pct)
    is_right = math.isclose(total, 1) if is_in_processing(place) else total <= MOST_UNDER_ONE
    if min(shares) < 0 or not is_right:
        expected = f"three shares, {'' if is_in_processing(place) else 'at most '}1 together"
        shown = f"{[*shares]}, {total:g}"
        faults.add(f"{place}.split_pct", "the shares do not add up", expected=expected, found=shown)
    return shares


def _splits(given: _Splits, place: str, faults: Faults) -> Splits:
    at = f"{place}.custom_split_filenames"
    files = {key: as_tuple(getattr(given, key) or []) for key in ("train", "valid", "test")}
    if not any(files.values()):
        faults.add(f"{at}.train", "no files", expected="files for train, valid or test")
    return Splits(at, files, as_tuple(given.column or []))
