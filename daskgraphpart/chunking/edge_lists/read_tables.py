"""Read blocks of parquet, npz and npy files: columns as Arrow arrays or as arrays of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from daskgraphpart.chunked.blocks import Block
from daskgraphpart.chunked.read_parquet import VALUES_PER_BATCH, read_parquet_batches
from daskgraphpart.chunking.edge_lists.open_arrays import read_array_rows
from daskgraphpart.chunking.edge_lists.tables import PARQUET, TableBlock
from daskgraphpart.errors import InputFileError


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Chosen columns of a block.

    Parameters
    ----------
    block : TableBlock
        Where they are from.
    columns : tuple
        For each column an Arrow array (of what a dictionary stands for), or an array of numbers.
    """

    block: TableBlock
    columns: tuple[Any, ...]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.block.stop - self.block.start

    def arrow(self, column: int) -> Any:
        """Column as an Arrow array without nulls.

        Raises
        ------
        InputFileError
            If one is missing.
        """
        import pyarrow as pa

        found = self.columns[column]
        if isinstance(found, np.ndarray):
            return pa.array(_as_text(found) if found.dtype.kind in "US" else found)
        if found.null_count:
            row = int(np.flatnonzero(found.is_null().to_numpy(zero_copy_only=False))[0])
            raise self.fault("value is missing", column, row, expected="a value")
        return found

    def numbers(self, column: int) -> np.ndarray:
        """Column of a feature."""
        found = self.columns[column]
        if isinstance(found, np.ndarray):
            return found
        numbers: np.ndarray = self.arrow(column).to_numpy(zero_copy_only=False)
        return numbers

    def text(self, column: int, row: int) -> str:
        """One value, for messages."""
        found = self.columns[column]
        value = found[row].item() if isinstance(found, np.ndarray) else found[row].as_py()
        text = "null" if value is None else repr(value)
        return text if len(text) <= 60 else text[:60] + "..."

    def place(self, column: int, row: int) -> str:
        """Row and column of a value, for messages."""
        return f"row {self.block.start + row:,}, column {self.block.table.columns[column].name!r}"

    def fault(
        self, what: str, column: int, row: int, *, expected: object = None, hint: str | None = None
    ) -> InputFileError:
        """Describe what is wrong with a value."""
        return InputFileError(
            what,
            file=self.block.table.path,
            place=self.place(column, row),
            expected=expected,
            found=self.text(column, row),
            hint=hint,
        )


def read_table(block: TableBlock) -> TableRows:
    """Read the chosen columns of a block of rows."""
    if block.table.format == PARQUET:
        return _read_parquet(block)
    return TableRows(block, tuple(read_array_rows(column, block.start, block.stop) for column in block.table.columns))


def _read_parquet(block: TableBlock) -> TableRows:
    import pyarrow as pa

    names = [column.name for column in block.table.columns]
    rows = Block(block.table.path, "parquet", "", block.start, block.stop, 0, block.stop - block.start, block.start)
    batches = list(
        read_parquet_batches(rows, list(dict.fromkeys(names)), width=max(1, VALUES_PER_BATCH // rows.num_rows))
    )
    found = sum(batch.num_rows for batch in batches)
    if found != rows.num_rows:
        raise InputFileError(
            "parquet file has changed since it was opened",
            file=block.table.path,
            expected=f"{rows.num_rows:,} rows",
            found=f"{found:,}",
        )
    columns = []
    for name in names:
        pieces = [_plain(batch.column(name)) for batch in batches]
        columns.append(pa.concat_arrays(pieces) if pieces else pa.array([], pa.int64()))
    return TableRows(block, tuple(columns))


def _plain(array: Any) -> Any:
    """Array without dictionary, its strings with offsets of 64 bits, since the strings of a block may be long."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type) or pa.types.is_boolean(array.type):
        return array
    return array.cast(pa.large_binary())


def _as_text(array: np.ndarray) -> list[bytes] | list[str]:
    values: list[bytes] | list[str] = array.tolist()
    return values
