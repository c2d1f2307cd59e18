"""Transform columns into features, by block and in row order; each becomes an npy file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.construction.statistics import TEXT, TEXTS, VECTOR, bounds, divisor
from daskgraphpart.readers.construction.tables import ROW, Ids
from daskgraphpart.readers.database import read, run, translated_errors
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from daskgraphpart.readers.construction.config import Feature, Label, Transform
    from daskgraphpart.readers.construction.statistics import Described, TransformColumn


BYTES_PER_BLOCK = 8 << 20
_QUANTILES = np.frompyfunc(NormalDist().inv_cdf, 1, 1)
NO_CLASS = -(2**31)
"""Label of a row without one, as gconstruct writes it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Target:
    """A file to fill, its columns, and its rows so far."""

    region: Region
    columns: tuple[TransformColumn, ...]
    of: Feature | Label


def write_features(described: Described, directory: Path) -> dict[str, Region]:
    """Write all features and labels of a table in one pass; return them by place.

    Ranks take further passes. Holds a block and its numbers.
    """
    entry, number = described.table.entry, described.table.entry.place.translate({ord(c): "-" for c in ".[]"})
    by_place: dict[str, Region] = {}
    targets = []
    for i, feature in enumerate(entry.features):
        columns, path = described.columns[feature.place], directory / f"{number}{i}.npy"
        if feature.transform.name == "edge_dst_hard_negative":
            continue  # their IDs are not known yet
        if feature.transform.name == "rank_gauss":
            region = _write_ranks(described, feature, columns, path)
        else:
            width = feature_width(feature, columns)
            region = create_npy(path, np.dtype(feature.dtype), (described.num_rows, width))
            targets.append(_Target(region, columns, feature))
        by_place[feature.place] = region
    for i, label in enumerate(entry.labels):
        if label.column:
            columns = described.columns[label.place]
            dtype, shape = _label_form(label, columns[0], described.num_rows)
            region = create_npy(directory / f"{number}label{i}.npy", dtype, shape)
            targets.append(_Target(region, columns, label))
            by_place[label.place] = region
    if targets:
        with translated_errors(described.table.files[0]):
            _fill(described, targets)
    return by_place


def feature_width(feature: Feature, columns: Sequence[TransformColumn]) -> int:
    """Return the numbers per row of a feature."""
    how = feature.transform
    if how.name == "to_categorical":
        return len(how.mapping if how.mapping is not None else columns[0].categories)
    if how.name == "bucket_numerical":
        return how.bucket_cnt * len(columns)
    if how.name == "edge_dst_hard_negative":
        return columns[0].width
    width = sum(column.width for column in columns)
    return width if how.truncate_dim is None else sum(min(how.truncate_dim, column.width) for column in columns)


def _label_form(label: Label, column: TransformColumn, num_rows: int) -> tuple[np.dtype, tuple[int, ...]]:
    """Return dtype and shape of a label: classes are int32, or int64 if coded; numbers keep their dtype."""
    if label.task == "classification":
        return np.dtype(np.int64 if label.is_coded else np.int32), (num_rows,)
    by_name = {
        "TINYINT": "i1", "SMALLINT": "i2", "INTEGER": "i4", "BIGINT": "i8", "UTINYINT": "u1", "USMALLINT": "u2",
        "UINTEGER": "u4", "FLOAT": "f4", "FLOAT[]": "f4",
    }  # fmt: skip
    dtype = np.dtype(by_name.get(column.type_name, "f8"))
    if column.kind == VECTOR:
        return dtype, (num_rows, column.width)
    return (dtype if column.num_values == num_rows or dtype.kind == "f" else np.dtype("f8")), (num_rows,)


def _fill(described: Described, targets: list[_Target]) -> None:
    every = list(dict.fromkeys(column for target in targets for column in target.columns))
    asked = ", ".join(f"{column.sql} AS c{i}" for i, column in enumerate(every))
    done = 0
    for batch in read(described.table.connection, f"SELECT {asked}, {ROW} FROM {described.table.numbered}"):
        rows = batch.column(len(every)).to_numpy()
        ends = [*(np.flatnonzero(np.diff(rows) != 1) + 1).tolist(), len(rows)]
        for start, stop in zip([0, *ends], ends, strict=False):  # one piece, unless DuckDB has changed the order
            for target in targets:
                arrays = [batch.column(every.index(column)).slice(start, stop - start) for column in target.columns]
                _write(target, arrays, int(rows[start]), described)
        done += batch.num_rows
    assert done == described.num_rows, "a table changed while it was read"


def _write(target: _Target, arrays: list[Any], done: int, described: Described) -> None:
    """Write a batch in blocks that are small for any width."""
    step = max(1, BYTES_PER_BLOCK // max(8, 8 * target.region.row_nbytes))
    for start in range(0, len(arrays[0]), step):
        sliced = [array.slice(start, step) for array in arrays]
        block = _block(target, sliced, described, done + start)
        target.region.write(block.astype(target.region.dtype, copy=False), done + start)


def _block(target: _Target, arrays: list[Any], described: Described, first: int) -> np.ndarray:
    of, columns = target.of, target.columns
    if not hasattr(of, "transform"):
        return _labels(of, columns[0], arrays[0], target.region)
    blocks = []
    for i, (column, array) in enumerate(zip(columns, arrays, strict=True)):
        if of.transform.name == "to_categorical":
            blocks.append(_one_hot(of.transform, column, array))
            continue
        values = _values(column, array)
        if not np.isfinite(values).all():
            row = first + int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
            place, what = of.column_place, "a vector has a missing or infinite value"
            raise InputFileError(what, file=described.table.files[0], place=f"{place}, row {row:,} of all files")
        blocks.append(_normalised(of.transform, column, values, i))
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)


def _values(column: TransformColumn, array: Any) -> np.ndarray:
    """Return a batch's numbers, float64 (rows, width)."""
    if column.kind == VECTOR:
        flat: np.ndarray = array.flatten().to_numpy(zero_copy_only=False)
        return flat.astype(np.float64, copy=False).reshape(len(array), column.width)
    numbers: np.ndarray = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
    if column.fill is not None:
        numbers = np.where(np.isnan(numbers), column.fill, numbers)
    return numbers.reshape(-1, 1)


def _normalised(how: Transform, column: TransformColumn, values: np.ndarray, number: int) -> np.ndarray:
    """Normalise numbers by statistics of all rows; `number` is the column's position in the feature."""
    if how.name == "no-op":
        return values if how.truncate_dim is None else values[:, : how.truncate_dim]
    if how.name == "standard":
        shares: np.ndarray = values / divisor(how, column, number)
        return shares
    if how.name == "bucket_numerical":
        return _buckets(how, values[:, 0])
    low, high = bounds(how, column, number)
    clipped: np.ndarray = np.clip((values - low) / (high - low), 0, 1)
    return clipped


def _buckets(how: Transform, values: np.ndarray) -> np.ndarray:
    """Set the buckets within a window around each value; GraphStorm's transform.py, BucketTransform."""
    (low, high), count, half = sorted(how.range), how.bucket_cnt, how.slide_window_size / 2
    width = (high - low) / count
    first = np.maximum((np.maximum(values - half, low) - low) // width, 0)
    last = np.minimum((np.minimum(values + half, high) - low) // width + 1, count)
    numbers = np.arange(count)
    block = (numbers >= first[:, None]) & (numbers < last[:, None])
    block[values >= high, count - 1] = True
    block[values <= low, 0] = True
    return block


def _one_hot(how: Transform, column: TransformColumn, array: Any) -> np.ndarray:
    """Set the columns of each row's categories; none for missing or unknown values."""
    mapping = mapping_of(how, column)
    block = np.zeros((len(array), len(mapping)), np.int8)
    parents, values = None, array
    if column.kind == TEXTS:
        parents, values = pc.list_parent_indices(array).to_numpy(zero_copy_only=False), pc.list_flatten(array)
    known = pa.array(list(mapping), pa.string())
    codes = pc.index_in(values.cast(pa.string()), value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
    if column.has_other:
        is_other = pc.fill_null(pc.not_equal(values, ""), False).to_numpy(zero_copy_only=False) & (codes < 0)
        codes = np.where(is_other, len(mapping) - 1, codes)
    rows = np.arange(len(codes)) if parents is None else parents
    places = np.array(list(mapping.values()), np.int64)
    block[rows[codes >= 0], places[codes[codes >= 0]]] = 1
    return block


def mapping_of(how: Transform, column: TransformColumn) -> dict[str, int]:
    """Return the column of each category."""
    if how.mapping is not None:
        return dict(how.mapping)
    return {category: i for i, category in enumerate(column.categories)}


def _labels(label: Any, column: TransformColumn, array: Any, region: Region) -> np.ndarray:
    if column.kind == TEXT:
        codes = pc.index_in(array.cast(pa.string()), value_set=pa.array(column.categories, pa.string()))
        of_classes: np.ndarray = codes.cast(pa.int64()).fill_null(NO_CLASS).to_numpy(zero_copy_only=False)
        return of_classes
    if column.kind == VECTOR:
        filled = pc.fill_null(array, pa.scalar([None] * column.width, array.type)) if array.null_count else array
        return _values(column, filled)
    numbers = _values(column, array)[:, 0]
    return np.where(np.isnan(numbers), NO_CLASS, numbers) if label.task == "classification" else numbers


def write_hard_negatives(ids: Ids, described: Described, column: TransformColumn, ntype: str, path: Path) -> Region:
    """Write the nodes that cells list, int64 (edges, longest list): unknown IDs are left out, -1 fills the rows."""
    region = create_npy(path, np.dtype(np.int64), (described.num_rows, column.width))
    source = f"SELECT {ROW} AS row, {column.sql} AS x FROM {described.table.numbered}"
    run(ids.connection, f"CREATE TABLE listed AS {source}")
    pairs = "SELECT unnest(x) AS id, generate_subscripts(x, 1) AS i, row FROM listed"
    is_same = f"try_cast(p.id AS {ids.sql_type(ntype)}) = d.id"
    query = (
        f"SELECT p.row AS row, d.n AS n, row_number() OVER (PARTITION BY p.row ORDER BY p.i) - 1 AS place "
        f"FROM ({pairs}) p JOIN {ids.numbers(ntype)} d ON {is_same} ORDER BY p.row, place"
    )
    step = max(1, BYTES_PER_BLOCK // max(8, region.row_nbytes))
    for start in range(0, region.num_rows, step):
        region.write(np.full((min(step, region.num_rows - start), column.width), -1), start)
    for batch in read(ids.connection, query):
        rows, nodes, places = (batch.column(i).to_numpy(zero_copy_only=False) for i in range(3))
        for start in range(int(rows[0]), int(rows[-1]) + 1, step):
            stop = min(start + step, region.num_rows)
            block = region.read(start, stop)
            is_here = (rows >= start) & (rows < stop)
            block[rows[is_here] - start, places[is_here]] = nodes[is_here]
            region.write(block, start)
    run(ids.connection, "DROP TABLE listed")
    return region


def _write_ranks(described: Described, feature: Feature, columns: Sequence[TransformColumn], path: Path) -> Region:
    """Write ranks as values of a normal distribution; equal values are ranked by row, or share a rank."""
    how, connection = feature.transform, described.table.connection
    region = create_npy(path, np.dtype(feature.dtype), (described.num_rows, len(columns)))
    over = "dense_rank() OVER (ORDER BY x)" if how.uniquify else "row_number() OVER (ORDER BY x, n)"
    for i, column in enumerate(columns):
        with translated_errors(described.table.files[0]):
            x = column.sql if column.fill is None else f"coalesce({column.sql}, {column.fill!r})"
            run(connection, f"CREATE TABLE ranked AS SELECT {ROW} AS n, {x} AS x FROM {described.table.numbered}")
            run(connection, f"CREATE TABLE ranks AS SELECT n, {over} - 1 AS rank FROM ranked")
        ((highest,),) = run(connection, "SELECT max(rank) FROM ranks")
        done = 0
        for batch in read(connection, "SELECT rank FROM ranks ORDER BY n"):
            ranks = batch.column(0).to_numpy(zero_copy_only=False)
            share = (ranks / highest - 0.5) * 2 if highest else np.zeros(len(ranks))  # a single value is in the middle
            rows = region.read(done, done + len(ranks))
            clipped = np.clip(share, -1 + how.epsilon, 1 - how.epsilon)
            rows[:, i] = _QUANTILES((1 + clipped) / 2) / math.sqrt(2)  # the inverse of erf, as gconstruct has it
            region.write(rows, done)
            done += len(ranks)
        run(connection, "DROP TABLE ranked")
        run(connection, "DROP TABLE ranks")
    return region
