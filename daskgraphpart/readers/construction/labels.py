"""Masks of labels: random rows over all files, or rows listed in files; counts of classes.

A row's random number depends on its position, type, label and seed: equal for any cut into files. Draws the floor of
each share of all labelled rows; GraphStorm floors per file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.construction.tables import Ids, columns_of, find_files, name
from daskgraphpart.readers.construction.write_features import NO_CLASS
from daskgraphpart.readers.database import quote, read, run, translated_errors
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.readers.construction.config import Construction, Entry, Faults, Label, Splits

ROWS = 1 << 18
SETS = ("train", "valid", "test")
_BINS = 1 << 16
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def draw_masks(label: Label, values: Region | None, num_rows: int, key: np.uint64, path: Path) -> dict[str, Region]:
    """Draw the sets among labelled rows, and write int8 masks."""
    counts = np.zeros(_BINS, np.int64)
    num_labelled = 0
    for keys in _drawn(values, num_rows, key):
        counts += np.bincount((keys >> np.uint64(48)).astype(np.int64), minlength=_BINS)
        num_labelled += len(keys)
    ends = np.cumsum([int(num_labelled * share) for share in label.shares])
    limits = _limits(values, num_rows, key, counts, ends)
    regions = _mask_files(label, num_rows, path)
    for start in range(0, num_rows, ROWS):
        stop = min(start + ROWS, num_rows)
        keys, is_labelled = _keys(start, stop, key), _is_labelled(values, start, stop)
        which = np.searchsorted(np.array(limits, np.uint64), keys, side="right")
        for i, region in enumerate(regions.values()):
            region.write((is_labelled & (which == i)).astype(np.int8), start)
    return regions


def _limits(values: Region | None, num_rows: int, key: np.uint64, counts: np.ndarray, ends: np.ndarray) -> list[int]:
    """Return the keys below which each of `ends` rows lie; no two keys are equal, since scrambling is a bijection."""
    totals = np.cumsum(counts)
    bins = [int(np.searchsorted(totals, end, side="right")) for end in ends]
    kept: dict[int, list[np.ndarray]] = {of_bin: [] for of_bin in bins if of_bin < _BINS}
    for keys in _drawn(values, num_rows, key):
        of_keys = (keys >> np.uint64(48)).astype(np.int64)
        for of_bin, keys_of_bin in kept.items():
            keys_of_bin.append(keys[of_keys == of_bin])
    limits = []
    for of_bin, end in zip(bins, ends, strict=True):
        if of_bin >= _BINS:
            limits.append(2**64 - 1)
            continue
        before = int(totals[of_bin] - counts[of_bin])
        limits.append(int(np.sort(np.concatenate(kept[of_bin]))[end - before]))
    return limits


def _drawn(values: Region | None, num_rows: int, key: np.uint64) -> Iterator[np.ndarray]:
    """Yield the keys of labelled rows, block by block."""
    for start in range(0, num_rows, ROWS):
        stop = min(start + ROWS, num_rows)
        yield _keys(start, stop, key)[_is_labelled(values, start, stop)]


def _keys(start: int, stop: int, key: np.uint64) -> np.ndarray:
    """Scramble row numbers; SplitMix, as in kernels/hashing.py."""
    with np.errstate(over="ignore"):
        value = key + np.arange(start, stop, dtype=np.uint64) * _GOLDEN
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: np.ndarray = value ^ (value >> np.uint64(31))
    return mixed


def _is_labelled(values: Region | None, start: int, stop: int) -> np.ndarray:
    if values is None:
        return np.ones(stop - start, bool)
    block = values.read(start, stop)
    if block.dtype.kind == "f":
        has_label: np.ndarray = ~np.isnan(block.reshape(len(block), -1)).any(axis=1)
        return has_label
    has_class: np.ndarray = (block != NO_CLASS).reshape(len(block), -1).all(axis=1)
    return has_class


def _mask_files(label: Label, num_rows: int, path: Path) -> dict[str, Region]:
    return {name: create_npy(f"{path}-{name}.npy", np.dtype(np.int8), (num_rows,)) for name in label.masks}


def open_splits(
    connection: duckdb.DuckDBPyConnection, config: Construction, entry: Entry, splits: Splits, faults: Faults
) -> dict[str, str]:
    """Find the files of the sets; return SQL of each set's IDs, with columns of ends or nodes."""
    unions = {}
    for which, given in splits.files.items():
        place = f"{splits.place}.{which}"
        files = find_files(config, place, given, faults) if given else ()
        queries = []
        for path in files:
            if not path.endswith(".json"):
                known = columns_of(connection, f"read_parquet([{quote(path)}])", path)
                for column in splits.columns:
                    if column not in known:
                        expected = f"one of {', '.join(known)}"
                        faults.add(f"{splits.place}.column", f"no column {column!r}", file=path, expected=expected)
            queries.append(_ids_in(path, splits.columns, entry.keys))
        if queries:
            unions[which] = " UNION ALL ".join(queries)
    return unions


def _ids_in(path: str, columns: tuple[str, ...], names: tuple[str, ...]) -> str:
    if not path.endswith(".json"):
        listed = ", ".join(f"CAST({name(c)} AS VARCHAR) AS {n}" for c, n in zip(columns, names, strict=False))
        return f"SELECT {listed} FROM read_parquet([{quote(path)}])"
    paths = ["$"] if len(names) == 1 else ["$[0]", "$[1]"]
    listed = ", ".join(f"line::JSON->>'{p}' AS {n}" for p, n in zip(paths, names, strict=True))
    line = "columns = {'line': 'VARCHAR'}, auto_detect = false, header = false, quote = '', escape = ''"
    return f"SELECT {listed} FROM read_csv([{quote(path)}], delim = '\x01', {line})"


def list_masks(
    ids: Ids, entry: Entry, label: Label, sets: dict[str, str], num_rows: int, path: Path
) -> dict[str, Region]:
    """Write masks of listed IDs; an ID in several sets belongs to the first of train, valid and test."""
    assert label.splits is not None, "sets are in files"
    casts = zip(entry.keys, entry.ends, strict=True)
    values = ", ".join(f"CAST({key} AS {ids.sql_type(end)}) AS {key}" for key, end in casts)
    listed = " UNION ALL ".join(
        f"SELECT {values}, {SETS.index(which)} AS place FROM ({sql})" for which, sql in sets.items()
    )
    keys = ", ".join(entry.keys)
    with translated_errors(label.splits.place):
        run(ids.connection, f"CREATE TABLE sets AS SELECT {keys}, min(place) AS place FROM ({listed}) GROUP BY {keys}")
    row = "row" if entry.is_edges else "new_id"
    table = f"{ids.table(entry.of_type)} t LEFT JOIN sets s USING ({keys})"
    query = f"SELECT coalesce(s.place, 3) AS place FROM {table} ORDER BY t.{row}"
    regions = _mask_files(label, num_rows, path)
    done = num_found = 0
    for batch in read(ids.connection, query):
        places = batch.column(0).to_numpy(zero_copy_only=False)
        for i, region in enumerate(regions.values()):
            region.write((places == i).astype(np.int8), done)
        done += len(places)
        num_found += int(np.count_nonzero(places < 3))
    run(ids.connection, "DROP TABLE sets")
    if not num_found:
        what, hint = "the table has none of the sets' IDs", "compare some IDs, and their types"
        raise InputFileError(what, place=label.splits.place, hint=hint)
    return regions


def count_classes(values: Region, mask: Region) -> dict[str, int]:
    """Count the rows of each class in a mask."""
    counter: Counter[int] = Counter()
    for (_, rows), (_, marks) in zip(values.pieces(ROWS), mask.pieces(ROWS), strict=True):
        classes, counts = np.unique(rows[marks != 0], return_counts=True)
        counter.update(dict(zip(classes.tolist(), counts.tolist(), strict=True)))
    return {str(of_class): counter[of_class] for of_class in sorted(counter)}
