"""Ask tables for statistics that transforms need, and for rows they cannot take: one SELECT per table.

Sums are of integers, so that the order of threads does not matter: values are scaled by a power of two that leaves the
largest 90 bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from daskgraphpart.readers.construction.config import (
    UNKNOWN,
    Entry,
    Faults,
    Feature,
    Label,
    Numbers,
    Transform,
    is_in_processing,
)
from daskgraphpart.readers.construction.tables import INTEGERS, Table, element, is_number, name
from daskgraphpart.readers.database import quote, run, translated_errors

NUMBER, VECTOR, TEXT, TEXTS = "number", "vector", "text", "texts"
MAX_CATEGORIES = 100_000
MOST_OF_FREQUENT = 100
OTHER = "GSP_CONSTANT_OTHER"
KEYS_OF_READING = ("feature_col", "transform.name", "transform", "label_col", "task_type")
"""What says of a feature or label how its column is read."""
_BITS = 90


@dataclass(frozen=True, slots=True)
class TransformColumn:
    """A column of a feature or label as its transform reads it: SQL, kind, width, and statistics.

    `low`, `high` and `total` have a value per number of a row; `fill` replaces missing values.
    """

    sql: str
    kind: str
    type_name: str = ""
    width: int = 1
    num_values: int = 0
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    total: tuple[float, ...] = ()
    fill: float | None = None
    categories: tuple[str, ...] = ()
    has_other: bool = False


@dataclass(frozen=True, slots=True)
class Described:
    """A table with its number of rows, and the columns of features and labels by place."""

    table: Table
    num_rows: int
    columns: dict[str, tuple[TransformColumn, ...]]


def _plan_columns(table: Table, faults: Faults) -> dict[str, tuple[TransformColumn, ...]]:
    """Plan how to read each feature and label, by column types; note the impossible."""
    by_place: dict[str, tuple[TransformColumn, ...]] = {}
    for feature in table.entry.features:
        if all(column in table.types for column in feature.columns):
            by_place[feature.place] = tuple(_of_feature(feature, table, column, faults) for column in feature.columns)
    for label in table.entry.labels:
        if label.column and label.column in table.types:
            by_place[label.place] = (_of_label(label, table, faults),)
    return by_place


def _of_feature(feature: Feature, table: Table, column: str, faults: Faults) -> TransformColumn:
    how, of_type, sql = feature.transform, table.types[column], name(column)
    place, inner = feature.column_place, element(of_type)
    if how.name == UNKNOWN:
        return TransformColumn(sql, TEXT, of_type)
    if how.name in ("to_categorical", "edge_dst_hard_negative"):
        has_lists = how.separator is not None or inner is not None
        if how.name == "to_categorical" and not has_lists:
            return TransformColumn(_text(sql, of_type), TEXT, of_type)
        if inner is not None:
            return TransformColumn(f"CAST({sql} AS VARCHAR[])", TEXTS, of_type)
        if how.separator is None:
            expected = "lists of IDs, or text and a separator"
            faults.add(place, "cells with one ID", file=table.files[0], expected=expected, found=of_type)
        return TransformColumn(f"string_split({_text(sql, of_type)}, {quote(how.separator or ' ')})", TEXTS, of_type)
    takes_vectors = how.name in ("no-op", "max_min_norm", "standard")
    if inner is not None and is_number(inner) and takes_vectors:
        return TransformColumn(f"CAST({sql} AS DOUBLE[])", VECTOR, of_type)
    if how.separator is not None and of_type == "VARCHAR":
        return TransformColumn(f"TRY_CAST(string_split({sql}, {quote(how.separator)}) AS DOUBLE[])", VECTOR, of_type)
    is_loose = how.name != "no-op" or is_in_processing(feature.place)  # gconstruct's no-op takes numbers only
    if is_number(of_type) or (is_loose and of_type in ("VARCHAR", "BOOLEAN")):
        return TransformColumn(_number(sql, of_type), NUMBER, of_type)
    expected = "numbers or vectors" if takes_vectors else "numbers"
    what, hint = f"column {column!r} cannot be transformed by {how.name}", None
    if of_type == "VARCHAR":
        hint = "to_categorical takes text; a separator makes vectors of it"
    faults.add(place, what, file=table.files[0], expected=expected, found=of_type, hint=hint)
    return TransformColumn(sql, NUMBER, of_type)


def _of_label(label: Label, table: Table, faults: Faults) -> TransformColumn:
    of_type, sql = table.types[label.column], name(label.column)
    place, inner = label.column_place, element(of_type)
    if label.is_coded:
        return TransformColumn(_text(sql, of_type), TEXT, of_type)
    if label.task != "classification" and inner is not None and is_number(inner):
        return TransformColumn(f"CAST({sql} AS DOUBLE[])", VECTOR, of_type)
    if not is_number(of_type):
        what = f"column {label.column!r} cannot be a label of {label.task}"
        expected = "classes as numbers from 0" if label.task == "classification" else "numbers"
        hint = "give each class a number" if label.task == "classification" else None
        faults.add(place, what, file=table.files[0], expected=expected, found=of_type, hint=hint)
        return TransformColumn("NULL::DOUBLE", NUMBER, of_type)
    return TransformColumn(_number(sql, of_type), NUMBER, of_type)


def _number(sql: str, of_type: str) -> str:
    """Return SQL of numbers in which NaN, NULL and other text are missing."""
    if of_type in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({sql}) THEN NULL ELSE CAST({sql} AS DOUBLE) END"
    if of_type == "VARCHAR":
        return f"nullif(TRY_CAST({sql} AS DOUBLE), 'nan'::DOUBLE)"
    return f"CAST({sql} AS DOUBLE)"


def _text(sql: str, of_type: str) -> str:
    """Return SQL of a value's text, as Python writes it."""
    if of_type == "BOOLEAN":
        return f"CASE WHEN {sql} THEN 'True' WHEN NOT {sql} THEN 'False' END"
    if of_type in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN isnan({sql}) THEN NULL ELSE CAST({sql} AS VARCHAR) END"
    return sql if of_type == "VARCHAR" else f"CAST({sql} AS VARCHAR)"


def describe_rows(table: Table, faults: Faults) -> Described:
    """Read statistics of all columns without faults; note rows that transforms cannot take."""
    plan = _plan_columns(table, faults)
    table = replace(table, entry=_sound(table.entry, faults))
    sound = {of.place for of in table.entry.features} | {of.place for of in table.entry.labels}
    plan = {place: columns for place, columns in plan.items() if place in sound}
    with translated_errors(table.files[0]):
        columns, num_rows = _first_pass(table, plan)
        described = Described(table, num_rows, columns)
        _check_rows(described, faults)
        rest = replace(table, entry=_sound(table.entry, faults))
        return replace(_further_passes(replace(described, table=rest), faults), table=table)


def _sound(entry: Entry, faults: Faults) -> Entry:
    """Leave out features and labels that cannot be read."""

    def is_sound(of: Feature | Label) -> bool:
        return not faults.has(*(f"{of.place}.{key}" for key in KEYS_OF_READING))

    return replace(
        entry, features=tuple(filter(is_sound, entry.features)), labels=tuple(filter(is_sound, entry.labels))
    )


def _first_pass(
    table: Table, plan: dict[str, tuple[TransformColumn, ...]]
) -> tuple[dict[str, tuple[TransformColumn, ...]], int]:
    """Count values and find extremes of all columns in one SELECT."""
    every = list(dict.fromkeys(column for columns in plan.values() for column in columns))
    asked = ["count(*)"]
    for column in every:
        x = column.sql
        if column.kind == NUMBER:
            asked += [f"count({x})", f"min({x})", f"max({x})"]
        elif column.kind == VECTOR:
            asked += [f"count({x})", f"min(len({x}))", f"max(len({x}))"]
        else:
            asked += [f"count({x})", "NULL", f"max(len({x}))" if column.kind == TEXTS else "NULL"]
    (values,) = run(table.connection, f"SELECT {', '.join(asked)} FROM {table.relation}")
    by_column = {}
    for i, column in enumerate(every):
        count, low, high = values[1 + 3 * i : 4 + 3 * i]
        changed = replace(column, num_values=count)
        if column.kind == NUMBER and count:
            changed = replace(changed, low=(low + 0.0,), high=(high + 0.0,))  # which zero is found depends on threads
        elif column.kind in (VECTOR, TEXTS):
            changed = replace(changed, width=int(high or 0), low=(float(low or 0),))
        by_column[column] = changed
    return {place: tuple(by_column[column] for column in columns) for place, columns in plan.items()}, values[0]


def _check_rows(described: Described, faults: Faults) -> None:
    """Note missing and infinite values, vectors of different lengths, and invalid classes."""
    for feature in described.table.entry.features:
        for column, of in zip(feature.columns, described.columns.get(feature.place, ()), strict=False):
            where = feature.column_place
            _check_column(described, where, column, of, faults, may_miss=feature.transform.imputer != "none")
    for label in described.table.entry.labels:
        for of in described.columns.get(label.place, ()):
            where, file = label.column_place, described.table.files[0]
            _check_column(described, where, label.column, of, faults, may_miss=True)
            if label.task == "classification" and of.kind == NUMBER and of.low:
                lowest, highest = of.low[0], of.high[0]
                if lowest < 0 or highest >= 2**31:
                    what, hint = "classes out of range", "leave the label of unlabelled rows empty"
                    expected, range_of_values = "numbers from 0", f"{lowest:g} to {highest:g}"
                    faults.add(where, what, file=file, expected=expected, found=range_of_values, hint=hint)


def _check_column(
    described: Described, place: str, column: str, of: TransformColumn, faults: Faults, *, may_miss: bool
) -> None:
    file, missing = described.table.files[0], described.num_rows - of.num_values
    if of.kind in (NUMBER, VECTOR):
        if described.num_rows and not of.num_values:
            faults.add(place, f"no value in column {column!r} is a number", file=file, found=of.type_name)
            return
        if missing and not may_miss:
            what, hint = f"column {column!r} has missing values", "fill them first; GSProcessing's dialect has imputers"
            shown = f"{missing:,} of {described.num_rows:,}, or text that is no number"
            faults.add(place, what, file=file, expected="a number in every row", found=shown, hint=hint)
    if of.kind == NUMBER and of.low and (math.isinf(of.low[0]) or math.isinf(of.high[0])):
        faults.add(place, f"column {column!r} has infinite values", file=file, expected="finite numbers")
    if of.kind == VECTOR and of.low and of.low[0] != of.width:
        shown = f"{of.low[0]:g} to {of.width} numbers"
        faults.add(place, f"vectors of different lengths in column {column!r}", file=file, found=shown)


def _further_passes(described: Described, faults: Faults) -> Described:
    table, columns = described.table, dict(described.columns)
    for label in table.entry.labels:
        for of in columns.get(label.place, ()):
            place = label.column_place
            if label.is_coded:
                columns[label.place] = (_with_categories(table, of, place, faults, by_frequency=True),)
            elif label.task == "classification" and of.kind == NUMBER:
                ((broken,),) = run(table.connection, f"SELECT min(x) FROM ({_rows(table, of)}) WHERE x <> floor(x)")
                if broken is not None:
                    faults.add(place, "not a class", file=table.files[0], expected="a whole number", found=broken)
    for feature in table.entry.features:
        columns[feature.place] = tuple(
            _with_statistics(described, feature, i, of, faults) for i, of in enumerate(columns[feature.place])
        )
    return replace(described, columns=columns)


def _with_statistics(
    described: Described, feature: Feature, number: int, of: TransformColumn, faults: Faults
) -> TransformColumn:
    """Add what a feature's transform needs of one of its columns."""
    how, table = feature.transform, described.table
    place, file = feature.column_place, table.files[0]
    if how.imputer != "none":
        of = replace(of, fill=_fill(table, of, how.imputer))
    if how.name == "to_categorical" and how.mapping is None:
        of = _with_categories(table, of, place, faults, by_frequency=how.by_frequency)
        if how.by_frequency and of.kind == TEXT and len(of.categories) > MOST_OF_FREQUENT:
            return replace(of, categories=(*of.categories[: MOST_OF_FREQUENT - 1], OTHER), has_other=True)
    if how.name == "standard" and how.sum is None:
        of = _with_sums(described, of)
        if described.num_rows and not all(of.total):
            hint = "use another transform, or leave the feature out"
            faults.add(place, "the values add up to 0, which cannot be a divisor", file=file, hint=hint)
    if how.name == "max_min_norm":
        of = _with_bounds(table, of)
        low, high = bounds(how, of, number)
        if np.any(low >= high):
            hint = "give max_val and min_val, or leave the feature out"
            bounds_left = f"{np.max(low):g} to {np.min(high):g}"
            faults.add(place, "no range is left between the bounds", file=file, found=bounds_left, hint=hint)
    return of


def _rows(table: Table, of: TransformColumn) -> str:
    return f"SELECT {of.sql} AS x FROM {table.relation}"


def _elements(table: Table, of: TransformColumn) -> str:
    return f"SELECT unnest(x) AS x, generate_subscripts(x, 1) AS i FROM ({_rows(table, of)})"


def _with_bounds(table: Table, of: TransformColumn) -> TransformColumn:
    if of.kind != VECTOR:
        return of
    rows = run(table.connection, f"SELECT min(x), max(x) FROM ({_elements(table, of)}) GROUP BY i ORDER BY i")
    return replace(of, low=tuple(low + 0.0 for low, _ in rows), high=tuple(high + 0.0 for _, high in rows))


def _with_sums(described: Described, of: TransformColumn) -> TransformColumn:
    table = described.table
    if of.kind == VECTOR:
        of = _with_bounds(table, of)
        sums = [_exact("x", low, high) for low, high in zip(of.low, of.high, strict=True)]
        parts = (
            run(table.connection, f"SELECT {sql} FROM ({_elements(table, of)}) WHERE i = {i}")[0][0] if sql else 0
            for i, (sql, _) in enumerate(sums, 1)
        )
        totals = [math.ldexp(int(part or 0), -bits) for part, (_, bits) in zip(parts, sums, strict=True)]
        return replace(of, total=tuple(totals))
    missing = described.num_rows - of.num_values
    return replace(of, total=(_sum(table, of) + missing * (of.fill or 0.0),))


def _sum(table: Table, of: TransformColumn) -> float:
    if not of.low:
        return 0.0
    if of.type_name in INTEGERS:
        unscaled = of.sql.removeprefix("CAST(").removesuffix(" AS DOUBLE)")
        ((total,),) = run(table.connection, f"SELECT sum({unscaled}) FROM {table.relation}")
        return float(total or 0)
    sql, bits = _exact("x", of.low[0], of.high[0])
    ((total,),) = run(table.connection, f"SELECT {sql} FROM ({_rows(table, of)})")
    return math.ldexp(int(total or 0), -bits)


def _exact(x: str, low: float, high: float) -> tuple[str, int]:
    """Return SQL of a sum of integers, and the bits by which values were scaled."""
    largest = max(abs(low), abs(high))
    bits = _BITS - math.frexp(largest)[1] if largest else 0
    return f"sum(CAST({x} * pow(2::DOUBLE, {bits}) AS HUGEINT))", bits


def _fill(table: Table, of: TransformColumn, imputer: str) -> float:
    if imputer == "mean":
        return _sum(table, of) / max(1, of.num_values)
    if imputer == "median":
        ((median,),) = run(table.connection, f"SELECT median(x) FROM ({_rows(table, of)})")
    else:
        query = f"SELECT x FROM ({_rows(table, of)}) WHERE x IS NOT NULL GROUP BY x ORDER BY count(*) DESC, x LIMIT 1"
        ((median,),) = run(table.connection, query)
    return float(median) + 0.0


def _with_categories(
    table: Table, of: TransformColumn, place: str, faults: Faults, *, by_frequency: bool
) -> TransformColumn:
    """Add the categories: all, by text; or the most frequent, without the empty text."""
    values = f"SELECT unnest(x) AS x FROM ({_rows(table, of)})" if of.kind == TEXTS else _rows(table, of)
    is_some, order = ("x <> ''", "count(*) DESC, x") if by_frequency else ("x IS NOT NULL", "x")
    query = f"SELECT x FROM ({values}) WHERE {is_some} GROUP BY x ORDER BY {order} LIMIT {MAX_CATEGORIES + 1}"
    categories = tuple(value for (value,) in run(table.connection, query))
    if not categories:
        faults.add(place, "no categories: every value is missing", file=table.files[0])
    if len(categories) > MAX_CATEGORIES:
        hint = "a column of IDs is no category; give a mapping, or leave it out"
        faults.add(place, f"more than {MAX_CATEGORIES:,} categories", file=table.files[0], hint=hint)
    return replace(of, categories=categories)


def divisor(how: Transform, column: TransformColumn, number: int) -> np.ndarray:
    """Return what `standard` divides by."""
    return np.array(column.total) if how.sum is None else _given(how.sum, column, number)


def bounds(how: Transform, column: TransformColumn, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that map to 0 and 1."""
    low = np.maximum(column.low, -np.inf if how.min_bound is None else how.min_bound)
    high = np.minimum(column.high, np.inf if how.max_bound is None else how.max_bound)
    if how.min_val is not None:
        low = _given(how.min_val, column, number)
    if how.max_val is not None:
        high = _given(how.max_val, column, number)
    return low, high


def _given(values: Numbers, column: TransformColumn, number: int) -> np.ndarray:
    """Return a column's values: its own numbers, or one of all columns'."""
    given = np.array(values, np.float64, ndmin=1)
    return given if len(given) in (1, column.width) and column.width > 1 else given[min(number, len(given) - 1)]
