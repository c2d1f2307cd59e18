"""Read the columns of one file into temporary files, with every value checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from daskgraphpart.chunked.rows import ArrayRows
from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import shown
from daskgraphpart.sources.database import read, stage_batches, translated_errors
from daskgraphpart.sources.text_table import TextTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.sources.edge_list_inputs import Table
    from daskgraphpart.storage.region import Region

_INT64 = np.dtype(np.int64)


class TableReading:
    """One file while it is read: its columns of IDs, of some node types, and then its features."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        table: Table,
        path: str,
        ntypes: Sequence[str] = (),
        num_nodes: Mapping[str, int] | None = None,
    ) -> None:
        self.connection, self.table, self.path, self.ntypes = connection, table, path, ntypes
        self.num_nodes = num_nodes or {}
        self.largest = [-1] * len(ntypes)
        self.num_features = len(table.columns) - len(ntypes)
        self.are_integers = [True] * self.num_features
        self.num_rows = 0

    def stage(self, kinds: Sequence[str]) -> tuple[list[Region], list[Rows]]:
        """Read all rows: columns of IDs of some kinds, if they are wanted, and of features."""
        arrays: list[Rows] = []
        if not isinstance(self.table, TextTable):
            arrays += [ArrayRows(array) for array in self.table.arrays[len(kinds) :]]
        num_read = 0 if arrays else self.num_features
        if not kinds and not num_read:
            return [], arrays
        with translated_errors(self.table.path):
            regions = self._stage_regions(kinds, num_read)
        ids, features = regions[: len(kinds)], regions[len(kinds) :]
        if isinstance(self.table, TextTable):
            pairs = zip(features[::2], features[1::2], self.are_integers, strict=True)
            features = [integers if is_integer and self.num_rows else floats for integers, floats, is_integer in pairs]
        return ids, [*arrays, *features]

    def _stage_regions(self, kinds: Sequence[str], num_read: int) -> list[Region]:
        """Write the columns that are read into files; those of features in text twice, as integers and as floats."""
        table = self.table
        dtypes: list[np.dtype] = [_INT64] * len(kinds)
        if isinstance(table, TextTable):
            batches = read(self.connection, table.query(kinds, "integer", num_read))
            dtypes += [_INT64, np.dtype(np.float64)] * num_read
        else:
            batches = table.batches(kinds, num_read)
            dtypes += [_INT64] * num_read
        paths = [f"{self.path}-{i}" for i in range(len(dtypes))]
        return stage_batches((self._checked(batch, len(kinds)) for batch in batches), paths, dtypes)

    def _checked(self, batch: Any, num_ids: int) -> Any:
        """Refuse the first row with a value that is missing or cannot be, and return numbers without nulls."""
        columns, is_text = batch.columns, isinstance(self.table, TextTable)
        for i in range(num_ids):
            self._check_ids(columns[i], i)
        step = 2 if is_text else 1
        for i in range(num_ids, len(columns), step):
            number = (i - num_ids) // step
            if columns[i + step - 1].null_count:
                self._refuse(columns[i + step - 1], num_ids + number, "feature")
            if is_text and columns[i].null_count:
                self.are_integers[number] = False
                columns[i] = columns[i].fill_null(0)
        self.num_rows += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])

    def _refuse(self, column: Any, number: int, wanted: str) -> None:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise self.table.explain(self.connection, self.num_rows + row, number, wanted)

    def _check_ids(self, column: Any, number: int) -> None:
        if column.null_count:
            self._refuse(column, number, "ID")
        if not len(column):
            return
        ids, ntype = column.to_numpy(zero_copy_only=False), self.ntypes[number]
        limit = self.num_nodes.get(ntype)
        bad = np.flatnonzero((ids < 0) | (ids >= (np.iinfo(np.int64).max if limit is None else limit)))
        if bad.size:
            place, found = self.table.place(self.connection, self.num_rows + int(bad[0]), number)
            is_negative = ids[bad[0]] < 0
            expected = "an integer of 63 bits" if limit is None else f"an ID below {limit:,}"
            raise InputFileError(
                f"negative ID of a {ntype!r} node" if is_negative else f"ID of a {ntype!r} node too large",
                file=self.table.path,
                place=place,
                expected="0 or more" if is_negative else expected,
                found=shown(str(found)),
                hint="use --map-ids" + ("" if is_negative or limit is None else ", or check --num-nodes"),
            )
        self.largest[number] = max(self.largest[number], int(ids.max()))
