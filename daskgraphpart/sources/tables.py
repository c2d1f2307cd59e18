"""The noun `TableGroup`, files that are one table, and how a file of any format is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.column_table import ColumnTable, open_array_table, open_parquet_table
from daskgraphpart.sources.columns import BYTES, INTEGERS, STRINGS, UNKNOWN, Column
from daskgraphpart.sources.database import translated_errors
from daskgraphpart.sources.table_files import TableFile, read_form
from daskgraphpart.sources.text_table import TextTable, open_text_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

Table: TypeAlias = TextTable | ColumnTable


@dataclass(frozen=True, slots=True, eq=False)
class TableGroup:
    """Files that are one table of edges, of nodes, of a mask, or of features alone.

    Its first columns are the IDs of `ends`, none if rows are in the order of edges or nodes; then come `features`, each
    of one column or, a vector, of several: names and numbers of columns.
    """

    name: str
    of_type: str
    ends: tuple[str, ...]
    tables: tuple[Table, ...]
    features: dict[str, tuple[int, ...]] = field(default_factory=dict)
    mask: str = ""
    is_list: bool = False  # given to --nodes, so that rows without IDs follow it

    @property
    def num_rows(self) -> int | None:
        """Number of rows of all files; text tells none."""
        counts = [table.num_rows for table in self.tables]
        return None if None in counts else sum(count or 0 for count in counts)

    def column(self, number: int) -> Column:
        """A column as the first file describes it that tells what it holds."""
        columns = [table.columns[number] for table in self.tables]
        return next((column for column in columns if column.kind != UNKNOWN), columns[0])

    def kind(self, number: int) -> str:
        """What a feature is read as."""
        kind = self.column(number).kind
        return STRINGS if kind == BYTES else kind


def open_table(
    connection: duckdb.DuckDBPyConnection, file: TableFile, directory: Path, wanted: Sequence[str], num_ids: int
) -> Table:
    """Open a file, whatever its format."""
    file, form, packing = read_form(file, directory)
    if form == "text":
        with translated_errors(file.path):
            return open_text_table(connection, file, packing, wanted, num_ids)
    if form == "parquet":
        opened = open_parquet_table(file, wanted, num_ids)
    else:
        opened = open_array_table(file, form, wanted, num_ids, directory)
    for column in opened.columns[:num_ids]:
        if column.kind != INTEGERS and not column.is_text and not file.options.map_ids:
            place, expected = f"column {column.name!r}", "integers from 0"
            what, hint = "IDs are not integers", "use --map-ids"
            raise InputFileError(what, file=file.path, place=place, expected=expected, found=column.kind, hint=hint)
    return opened
