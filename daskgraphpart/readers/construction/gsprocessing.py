"""Translate a construction config from GSProcessing's dialect to gconstruct's.

Follows GraphStorm 0.5.1: graphstorm_processing/config/config_parser.py and numerical_configs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskgraphpart.readers.construction.config import PLACES, PROCESSING, Faults
from daskgraphpart.readers.construction.gconstruct import HARD_NEGATIVES, is_known

IMPUTERS = ("none", "mean", "median", "most_frequent")
NORMALIZERS = {"none": "no-op", "min-max": "max_min_norm", "standard": "standard", "rank-gauss": "rank_gauss"}
TRANSFORMS = {
    "no-op": ("no-op", "separator", "truncate_dim"),
    "numerical": ("", "epsilon"),
    "multi-numerical": ("", "separator"),
    "bucket-numerical": ("bucket_numerical", "bucket_cnt", "range", "slide_window_size"),
    "categorical": ("to_categorical",),
    "multi-categorical": ("to_categorical", "separator"),
    HARD_NEGATIVES: (HARD_NEGATIVES, "separator"),
}
"""Name of each transform in gconstruct, nothing if a normalizer tells, and its keys."""
DTYPES = ("float32", "float64")
OF_TABLES = ("files", "format.name", "format.separator")


def as_gconstruct(graph: dict[str, Any], faults: Faults) -> dict[str, Any]:
    """Return a config in gconstruct's dialect; note what it cannot say. What is no object is left to its reader."""
    return {
        "nodes": _each(graph.get("nodes", []), f"{PROCESSING}nodes", faults, _nodes),
        "edges": _each(graph.get("edges", []), f"{PROCESSING}edges", faults, _edges),
    }


def _each(items: Any, place: str, faults: Faults, translate: Callable[[Any, str, Faults], dict[str, Any]]) -> Any:
    if not isinstance(items, list):
        return items
    return [
        translate(item, f"{place}[{i}]", faults) if isinstance(item, dict) else item for i, item in enumerate(items)
    ]


def _moved(given: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return what there is of the keys of an object."""
    moved: dict[str, Any] = {}
    for key in keys:
        if (value := _at(given, PLACES.get(key, key))) not in (None, ""):
            outer, _, inner = key.rpartition(".")
            (moved.setdefault(outer, {}) if outer else moved)[inner] = value
    return moved


def _at(given: Any, place: str) -> Any:
    for key in place.split("."):
        given = given.get(key) if isinstance(given, dict) else None
    return given


def _nodes(given: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    return _moved(given, "node_type", "node_id_col", *OF_TABLES) | _columns(given, place, faults)


def _edges(given: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    if _at(given, "relation.column") is not None:
        hint = "split the table by it first, or build the graph with --edge-types-from"
        faults.add(f"{place}.relation.column", "cannot read relations from a column", hint=hint)
    names = {"relation": [_at(given, PLACES[f"relation[{i}]"]) for i in range(3)]}
    return names | _moved(given, "source_id_col", "dest_id_col", *OF_TABLES) | _columns(given, place, faults)


def _columns(given: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    return {
        key: _each(given[key], f"{place}.{key}", faults, translate)
        for key, translate in (("features", _feature), ("labels", _label))
        if given.get(key)
    }


def _feature(given: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    moved = _moved(given, "feature_col", "feature_name", "out_dtype", "transform.name")
    if isinstance(moved.get("feature_col"), list) and moved["feature_col"][1:]:
        faults.add(f"{place}.feature_col", "several columns", expected="one", found=moved["feature_col"])
    if "out_dtype" in moved:
        faults.choose(f"{place}.out_dtype", moved["out_dtype"], DTYPES)
    kind, at = moved.get("transform", {}).get("name", "no-op"), f"{place}.transform"
    kwargs = faults.read(dict[str, Any], _at(given, PLACES["transform"]) or {}, at) or {}
    if is_known(kind, tuple(TRANSFORMS), f"{at}.name", faults):
        moved["transform"] = _transform(kind, kwargs, at, faults)
    return moved


def _transform(kind: str, kwargs: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    name, *keys = TRANSFORMS[kind]
    moved: dict[str, Any] = {key: kwargs[key] for key in keys if key in kwargs}
    if name == "to_categorical":
        return {"name": name, **moved, "by_frequency": True}
    if kind.endswith("numerical"):
        imputer = faults.choose(f"{place}.imputer", kwargs.get("imputer", "none"), IMPUTERS)
        moved |= {"imputer": imputer} if imputer != "none" else {}
    if not name:
        normalizer = faults.choose(f"{place}.normalizer", kwargs.get("normalizer", "none"), tuple(NORMALIZERS))
        name = NORMALIZERS[normalizer]
    if kind == "multi-numerical":
        if name == "rank_gauss":
            what = "ranks of vectors are not defined"
            faults.add(f"{place}.normalizer", what, expected="none, min-max or standard")
        if "imputer" in moved:
            what, imputer = "missing numbers inside vectors are not filled", moved["imputer"]
            faults.add(f"{place}.imputer", what, expected="none", found=imputer)
    return {"name": name, **moved}


def _label(given: dict[str, Any], place: str, faults: Faults) -> dict[str, Any]:
    if given.get("separator") is not None:
        hint = "compute the multi-hot rows first, give them as a vector column"
        faults.add(f"{place}.separator", "cannot read several labels from a cell", hint=hint)
    moved = _moved(given, "task_type", "label_col", "split_pct", "custom_split_filenames", "mask_field_names")
    if isinstance(rates := moved.get("split_pct"), dict):
        moved["split_pct"] = [rates.get(key, 0) for key in ("train", "val", "test")]
    return moved
