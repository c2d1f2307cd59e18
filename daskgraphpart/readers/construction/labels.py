"""Masks of labels: random rows over all files, or rows listed in files; counts of classes.

A row's random number depends on its position, type, label and seed: equal for any cut into files. Draws the floor of
each share of all labelled rows; GraphStorm floors per file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.kernels.hashing import distinct_words
from daskgraphpart.readers.construction.tables import Ids, Table, columns_of, find_files, name
from daskgraphpart.readers.construction.write_features import NO_CLASS
from daskgraphpart.readers.database import quote, read, run, translated_errors
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.readers.construction.config import Construction, Entry, Faults, Label, Splits

ROWS = 1 << 18
SETS = ("train", "valid", "test")
IN_NONE = len(SETS)
NO_KEY = np.uint64(2**64 - 1)


def draw_masks(label: Label, values: Region | None, num_rows: int, key: np.uint64, path: Path) -> dict[str, Region]:
    """Draw the sets among labelled rows by their keys, which a mapped file holds; write int8 masks."""
    blocks = [(start, min(start + ROWS, num_rows)) for start in range(0, num_rows, ROWS)]
    keys, num_labelled = np.memmap(f"{path}-keys", np.uint64, "w+", shape=(num_rows,)), 0
    for start, stop in blocks:
        keys[start:stop] = _keys(values, start, stop, key)
        num_labelled += int(np.count_nonzero(keys[start:stop] < NO_KEY))
    ends = list(accumulate(int(num_labelled * share) for share in label.shares))
    keys.partition([min(end, num_rows - 1) for end in ends])
    limits = np.array([keys[end] if end < num_labelled else NO_KEY for end in ends])
    places = (np.searchsorted(limits, _keys(values, start, stop, key), side="right") for start, stop in blocks)
    regions, _ = _write_masks(places, label, num_rows, path)
    os.unlink(f"{path}-keys")
    return regions


def _keys(values: Region | None, start: int, stop: int, key: np.uint64) -> np.ndarray:
    """Return a random number of each row, no two of them equal; the largest where there is no label."""
    keys = np.empty(stop - start, np.uint64)
    distinct_words(key, start, keys)
    return keys if values is None else np.where(_is_labelled(values.read(start, stop)), keys, NO_KEY)


def _is_labelled(block: np.ndarray) -> np.ndarray:
    has_value = ~np.isnan(block) if block.dtype.kind == "f" else block != NO_CLASS
    is_labelled: np.ndarray = has_value.reshape(len(block), -1).all(axis=1)
    return is_labelled


def _write_masks(
    places: Iterable[np.ndarray], label: Label, num_rows: int, path: Path
) -> tuple[dict[str, Region], int]:
    """Write the masks of rows, given the number of each one's set in order; return how many are in one."""
    regions = {name: create_npy(f"{path}-{name}.npy", np.dtype(np.int8), (num_rows,)) for name in label.masks}
    done = num_found = 0
    for of_rows in places:
        for place, region in enumerate(regions.values()):
            region.write((of_rows == place).astype(np.int8), done)
        done += len(of_rows)
        num_found += int(np.count_nonzero(of_rows < IN_NONE))
    return regions, num_found


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


def list_masks(ids: Ids, table: Table, label: Label, num_rows: int, path: Path) -> dict[str, Region]:
    """Write masks of listed IDs; an ID in several sets belongs to the first of train, valid and test."""
    assert label.splits is not None, "sets are in files"
    entry, sets = table.entry, table.sets[label.splits.place]
    casts = zip(entry.keys, entry.ends, strict=True)
    values = ", ".join(f"CAST({key} AS {ids.sql_type(end)}) AS {key}" for key, end in casts)
    listed = " UNION ALL ".join(
        f"SELECT {values}, {SETS.index(which)} AS place FROM ({sql})" for which, sql in sets.items()
    )
    keys = ", ".join(entry.keys)
    with translated_errors(label.splits.place):
        run(ids.connection, f"CREATE TABLE sets AS SELECT {keys}, min(place) AS place FROM ({listed}) GROUP BY {keys}")
    row = "row" if entry.is_edges else "new_id"
    joined = f"{ids.table(entry.of_type)} t LEFT JOIN sets s USING ({keys})"
    query = f"SELECT coalesce(s.place, {IN_NONE}) FROM {joined} ORDER BY t.{row}"
    places = (batch.column(0).to_numpy(zero_copy_only=False) for batch in read(ids.connection, query))
    regions, num_found = _write_masks(places, label, num_rows, path)
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
