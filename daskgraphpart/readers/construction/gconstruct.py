"""Read a construction config in gconstruct's dialect, noting every fault."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from daskgraphpart.readers.construction.config import MASKS, UNKNOWN, Entry, Feature, Label, Reader, Splits, Transform

FORMS = ("parquet", "csv")
DTYPES = ("float32", "float16", "float64", "int8")
TASKS = ("classification", "regression", "link_prediction")
SPLITS = "custom_split_filenames"
NUMERIC = ("max_min_norm", "standard", "rank_gauss", "bucket_numerical")
HARD_NEGATIVES = "edge_dst_hard_negative"
TRANSFORMS = ("no-op", *NUMERIC, "to_categorical", HARD_NEGATIVES)
OF_MODELS = ("tokenize_hf", "bert_hf", "tabular", "huggingface")
MODEL_HINT = "compute it first, give it as a vector column"
MOST_UNDER_ONE = 1 + 1e-9
NO_SHARES = (0.0, 0.0, 0.0)


def read_nodes(reader: Reader) -> Iterator[Entry]:
    """Read the tables of nodes."""
    for entry in reader.objects("nodes"):
        ntype = checked_type(entry, "node_type")
        ids = entry.texts("node_id_col", "the name of a column", ())
        yield _entry(entry, ntype, ids, is_edges=False)


def read_edges(reader: Reader) -> Iterator[Entry]:
    """Read the tables of edges."""
    for entry in reader.objects("edges"):
        given = entry.take("relation", list, "source type, relation and destination type")
        is_three = given is not None and len(given) == 3 and all(isinstance(name, str) and name for name in given)
        if given is not None and not is_three:
            expected = "source type, relation and destination type"
            entry.add("relation", "not a relation", expected=expected, found=repr(given))
        ids = tuple(entry.text(key, "a column", "") for key in ("source_id_col", "dest_id_col"))
        if any(ids) and not all(ids):
            key = "source_id_col" if not ids[0] else "dest_id_col"
            entry.add(key, "missing", expected="the columns of both ends, or of none")
        etype = checked_etype(entry, "relation", given) if is_three else ""
        yield _entry(entry, etype, ids if all(ids) else (), is_edges=True)


def checked_type(reader: Reader, key: str) -> str:
    """Return the name of a node type."""
    if name := reader.text(key, "a node type"):
        reader.faults.check_name(reader.at(key), name, "type")
    return name


def checked_etype(reader: Reader, key: str, names: Any) -> str:
    """Return the name of an edge type."""
    for name in names:
        reader.faults.check_name(reader.at(key), name, "type")
    return ":".join(names)


def _entry(reader: Reader, of_type: str, ids: tuple[str, ...], *, is_edges: bool) -> Entry:
    form = reader.object("format")
    reader.take("format", dict, '{"name": "parquet"} or {"name": "csv"}')
    name = form.choice("name", FORMS, "parquet") if form.text("name", "parquet or csv") else "parquet"
    delimiter = form.text("separator", "one character", ",")
    files = reader.texts("files", "a path or a list of paths")
    features = tuple(_feature(item, is_edges=is_edges) for item in reader.objects("features"))
    labels = tuple(read_label(item, is_edges=is_edges) for item in reader.objects("labels"))
    return Entry(reader.place, of_type, name, delimiter, files, ids, features, labels)


def _feature(reader: Reader, *, is_edges: bool) -> Feature:
    columns = reader.texts("feature_col", "the name of a column, or a list")
    default = reader.content.get("feature_col")
    if isinstance(default, list) and not reader.has("feature_name"):
        reader.add("feature_name", "missing", expected="a name for the list of columns")
    name = reader.text("feature_name", "a name", columns[0] if columns else "-")
    dtype = reader.choice("out_dtype", DTYPES, "float32")
    inner = reader.object("transform") if reader.has("transform") else reader
    kind = inner.text("name", "a transform") if reader.has("transform") else "no-op"
    transform = _transform(inner, kind, columns, dtype, is_edges=is_edges)
    return Feature(reader.place, name, columns, feature_dtype(transform, dtype), transform)


def feature_dtype(transform: Transform, dtype: str) -> str:
    """Return the final dtype of rows."""
    if transform.name == HARD_NEGATIVES:
        return "int64"
    if transform.name == "to_categorical":
        return "float32" if transform.by_frequency else "int8"
    return dtype


def _transform(inner: Reader, kind: str, columns: tuple[str, ...], dtype: str, *, is_edges: bool) -> Transform:
    if not is_known(inner, "name", kind, TRANSFORMS, is_edges=is_edges):
        return Transform(UNKNOWN)
    if kind == "no-op":
        return Transform(separator=separator_of(inner), truncate_dim=width_of(inner))
    if kind == "max_min_norm":
        return _max_min_norm(inner, columns, dtype)
    if kind == "standard":
        return _standard(inner, columns)
    if kind == "rank_gauss":
        return Transform(kind, epsilon=epsilon_of(inner), uniquify=inner.take("uniquify", bool, "true or false", False))
    if kind == "bucket_numerical":
        return Transform(kind, **buckets_of(inner))
    if len(columns) > 1:
        inner.add("name", f"{kind} takes one column", found=", ".join(columns))
    if kind == HARD_NEGATIVES:
        return Transform(kind, separator=separator_of(inner))
    return Transform(kind, separator=separator_of(inner), mapping=_mapping(inner))


def is_known(reader: Reader, key: str, kind: str, known: tuple[str, ...], *, is_edges: bool) -> bool:
    """Refuse a transform that is unknown, needs a model, or belongs to edges."""
    if kind in OF_MODELS:
        reader.add(key, f"{kind} needs a model from a hub", hint=MODEL_HINT)
    elif kind and kind not in known:
        reader.add(key, "unknown transform", expected=", ".join(known), found=repr(kind))
    elif kind == HARD_NEGATIVES and not is_edges:
        reader.add(key, f"{kind} is for features of edges", hint="remove it from the nodes")
    return kind in known


def separator_of(reader: Reader) -> str | None:
    """Return the separator of values in a cell."""
    return reader.text("separator", "text between the values of a cell", None) or None


def width_of(reader: Reader) -> int | None:
    """Return how many numbers of a vector to keep."""
    width: int | None = reader.take("truncate_dim", int, "a number of columns", None)
    if width is not None and width < 1:
        reader.add("truncate_dim", "invalid value", expected="1 or more", found=width)
    return width


def epsilon_of(reader: Reader) -> float:
    """Return how far ranks stay from the ends."""
    epsilon = float(reader.number("epsilon", "a number", 1e-6))
    if not 0 < epsilon < 1:
        reader.add("epsilon", "invalid value", expected="more than 0, less than 1", found=epsilon)
        return 1e-6
    return epsilon


def buckets_of(reader: Reader) -> dict[str, Any]:
    """Return the parameters of buckets."""
    count = reader.take("bucket_cnt", int, "a number of buckets")
    if count is not None and count < 1:
        reader.add("bucket_cnt", "invalid value", expected="1 or more", found=count)
    if not reader.has("range"):
        reader.add("range", "missing", expected="the lowest and the highest value")
    ends = reader.numbers("range", 2) or (0.0, 1.0)
    if ends[0] == ends[1]:
        reader.add("range", "empty", expected="two different numbers", found=list(ends))
    window = reader.number("slide_window_size", "a number", 0)
    if window < 0:
        reader.add("slide_window_size", "invalid value", expected="0 or more", found=window)
    return {"bucket_cnt": max(1, count or 1), "range": (min(ends), max(ends)), "slide_window_size": float(window)}


def _standard(inner: Reader, columns: tuple[str, ...]) -> Transform:
    total = inner.numbers("sum")
    if total is not None and not all(total):
        inner.add("sum", "nothing can be divided by it", found=repr(inner.content["sum"]))
    if len(columns) > 1 and total is None:
        inner.add("sum", "missing", expected="the sum of each column, as there are several")
    return Transform("standard", sum=_fitting(inner, "sum", total, columns))


def _max_min_norm(inner: Reader, columns: tuple[str, ...], dtype: str) -> Transform:
    limits = {key: _fitting(inner, key, inner.numbers(key), columns) for key in ("max_val", "min_val")}
    if len(columns) > 1:
        for key, value in limits.items():
            if value is None:
                inner.add(key, "missing", expected="the bounds of each column, as there are several")
    high, low = limits["max_val"], limits["min_val"]
    if high and low and any(a <= b for a, b in zip(high, low, strict=False)):
        inner.add("max_val", "not above min_val", expected=f"more than {_listed(low)}", found=_listed(high))
    if dtype == "int8":
        inner.add("name", "max_min_norm gives no int8", hint="give another out_dtype")
    limit = 65504.0 if dtype == "float16" else math.inf
    top, bottom = (inner.number(key, "a number", bound) for key, bound in (("max_bound", limit), ("min_bound", -limit)))
    if bottom >= top:
        inner.add("max_bound", "not above min_bound", expected=f"more than {bottom}", found=top)
    return Transform("max_min_norm", max_val=high, min_val=low, max_bound=top, min_bound=bottom)


def _fitting(reader: Reader, key: str, values: Any, columns: tuple[str, ...]) -> tuple[float, ...] | None:
    if values is not None and len(columns) > 1 and len(values) not in (1, len(columns)):
        reader.add(key, "invalid value", expected=f"{len(columns)} numbers", found=list(values))
        return None
    fitting: tuple[float, ...] | None = values
    return fitting


def _listed(numbers: tuple[float, ...]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _mapping(reader: Reader) -> dict[str, int] | None:
    given = reader.take("mapping", dict, "an object of numbers from 0", None)
    for key, value in (given or {}).items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < len(given):
            expected = f"a number from 0 and below {len(given)}, the number of categories"
            reader.add(f"mapping.{key}", "invalid value", expected=expected, found=repr(value))
            return None
    if given is not None and not given:
        reader.add("mapping", "empty", expected="at least one category")
        return None
    return None if given is None else {str(key): int(value) for key, value in given.items()}


def read_label(reader: Reader, *, is_edges: bool) -> Label:
    """Read a label."""
    task, column = task_of(reader, "task_type", "label_col", is_edges=is_edges)
    splits = read_splits(reader)
    shares = NO_SHARES if splits is not None else _shares(reader)
    stats = reader.text("label_stats_type", "frequency_cnt", "")
    if stats not in ("", "frequency_cnt"):
        reader.add("label_stats_type", "unknown", expected="frequency_cnt", found=repr(stats))
    has_stats = stats != "" and task == "classification"
    return Label(reader.place, task, column, shares, splits, read_masks(reader), has_stats)


def task_of(reader: Reader, key: str, column: str, *, is_edges: bool) -> tuple[str, str]:
    """Return a label's task and column, given their keys; nodes have no links to predict.

    With sets in files, any other task will do, such as `reconstruct_node_feat`: it needs no column.
    """
    task = reader.text(key, "a task")
    if task and task not in TASKS:
        if reader.has(SPLITS):
            return task, reader.text(column, "the name of a column", "")
        expected = f"{', '.join(TASKS[:-1])} or {TASKS[-1]}"
        hint = f"a task of your own has its sets in files, by {SPLITS}"
        reader.add(key, "unknown", expected=expected, found=repr(task), hint=hint)
        task = ""
    if task == "link_prediction" and not is_edges:
        reader.add(key, "link prediction is a task of edges", expected="classification or regression", found=task)
    is_named = task in ("classification", "regression")
    return task or TASKS[2], reader.text(column, "the name of a column") if is_named else ""


def read_masks(reader: Reader) -> tuple[str, ...]:
    """Return the names of the masks."""
    names = reader.texts("mask_field_names", "three names") if reader.has("mask_field_names") else MASKS
    if len(names) != 3 or len(set(names)) != 3:
        reader.add("mask_field_names", "not three names", expected="those of train, valid and test", found=list(names))
        return MASKS
    return names


def _shares(reader: Reader) -> tuple[float, ...]:
    given = reader.numbers("split_pct", 3) or (0.8, 0.1, 0.1)
    total = math.fsum(given)
    if not all(0 <= share <= 1 for share in given) or total > MOST_UNDER_ONE:
        expected = "three shares, at most 1 together"
        reader.add("split_pct", "the shares do not add up", expected=expected, found=f"{list(given)}, {total:g}")
    return given


def read_splits(reader: Reader) -> Splits | None:
    """Read the files of each set's IDs."""
    if not reader.has(SPLITS):
        return None
    inner = reader.object(SPLITS)
    files = {key: inner.texts(key, "a path or a list of paths", ()) for key in ("train", "valid", "test")}
    if not any(files.values()):
        inner.add("train", "no files", expected="files for train, valid or test")
    return Splits(inner.place, files, inner.texts("column", "the names of the columns of IDs", ()))
