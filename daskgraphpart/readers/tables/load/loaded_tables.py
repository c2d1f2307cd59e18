"""The noun `Load`: described tables in a database, and long texts, each once, with a key in rows in its place.

A key is a prefix and a hash of the text. Short texts that begin so get keys, too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.readers.database import count_rows, translated_errors
from daskgraphpart.readers.tables.describe.columns import STRINGS
from daskgraphpart.readers.tables.describe.parquet_batches import TEXTS

if TYPE_CHECKING:
    import duckdb

    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.readers.tables.describe.description import Description, OpenFile, Table
    from daskgraphpart.readers.tables.load.feature_file import FeatureFile
    from daskgraphpart.readers.tables.load.plain_edges import PlainEdges


TABLE = "long_texts"
LONG = 1 << 14
PREFIX = "\x02long:"


@dataclass(slots=True)
class LongTexts:
    """Texts of more than `LONG` bytes in a table of the database, `key` and `text`; and the bytes of all."""

    keys: set[str] = field(default_factory=set)
    nbytes: int = 0

    def shorten(self, connection: duckdb.DuckDBPyConnection, texts: Any) -> Any:
        """Return texts with keys in place of long ones, which are kept; a statement may be running."""
        if texts.type not in TEXTS:
            return texts
        is_long = pc.or_(pc.greater(pc.binary_length(texts), LONG), pc.starts_with(texts, PREFIX))
        is_long = pc.fill_null(is_long, fill_value=False)
        if not is_long.true_count:
            return texts
        coded = texts.filter(is_long).dictionary_encode()
        every = [(text if isinstance(text, bytes) else text.encode()) for text in coded.dictionary.to_pylist()]
        keys = [f"{PREFIX}{blake2b(text, digest_size=16).hexdigest()}" for text in every]
        fresh = {
            key: decoded
            for key, text in zip(keys, every, strict=True)
            if key not in self.keys and (decoded := _decoded(text)) is not None
        }
        self._keep(connection, fresh)
        # bytes that are no text stay, for the database to refuse
        short = [
            key if key in self.keys else text for key, text in zip(keys, coded.dictionary.to_pylist(), strict=True)
        ]
        values = pa.array(short, pa.binary() if texts.type in (pa.binary(), pa.large_binary()) else pa.string())
        return pc.replace_with_mask(texts, is_long, values.cast(texts.type).take(coded.indices))

    def _keep(self, connection: duckdb.DuckDBPyConnection, fresh: dict[str, str]) -> None:
        if not fresh:
            return
        with connection.cursor() as own:
            own.register("fresh", pa.table({"key": [*fresh], "text": pa.array(fresh.values(), pa.large_string())}))
            own.execute(f"CREATE TABLE IF NOT EXISTS {TABLE} (key VARCHAR, text VARCHAR)")
            own.execute(f"INSERT INTO {TABLE} SELECT key, text FROM fresh")
        self.keys |= fresh.keys()
        self.nbytes += sum(map(len, fresh.values()))


def _decoded(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Tables in a database, each under its name: IDs c0 and c1; features of strings c2, n2 where they cannot be read.

    Long strings of features are keys, of `long_texts`. `no_id` marks rows to drop. `row` is the number of the row:
    nothing else tells the order, as DuckDB promises none beyond a scan. Invalid values are NULL. Other features are in
    files, `staged`, by table and feature.

    `kinds` are of IDs, by node type. `plain` edges, by table, are not in the database. `starts` has the first rows of
    each table's files, and the number of all rows, as read. `memory` is the budget, in bytes.
    """

    described: Description
    kinds: Mapping[str, tuple[str, str]]
    plain: Mapping[str, PlainEdges]
    connection: duckdb.DuckDBPyConnection
    progress: ProgressListener
    directory: Path
    memory: int
    counts_only: bool
    staged: dict[tuple[str, str], list[FeatureFile]] = field(default_factory=dict)
    starts: dict[str, list[int]] = field(default_factory=dict)
    long_texts: LongTexts = field(default_factory=LongTexts)

    @property
    def tables(self) -> list[Table]:
        """The tables that are in the database."""
        return [table for table in self.described.tables if table.name not in self.plain]

    def num_read(self, table: Table) -> int:
        """Number of rows of a table's files."""
        return self.plain[table.name].num_rows if table.name in self.plain else self.starts[table.name][-1]

    def num_rows(self, table: Table) -> int:
        """Count the rows of a table that are left."""
        return self.plain[table.name].num_rows if table.name in self.plain else count_rows(self.connection, table.name)

    def locate(self, table: Table, row: int, number: int) -> tuple[OpenFile, str, str | None, str]:
        """Return the file of a value, its place there, its text, None if it is missing, and how to show it."""
        starts = self.starts[table.name]
        index = bisect_right(starts, row) - 1
        file = table.files[index]
        with translated_errors(file.path):
            return file, *file.locate(row - starts[index], number)

    def strings(self, table: Table) -> list[int]:
        """Numbers of the columns that are strings, not IDs."""
        return [i for i in table.numbers if table.kind(i) == STRINGS]

    def files_of(self, table: Table) -> list[FeatureFile]:
        """Files of all features of a table."""
        return [file for feature in table.features for file in self.staged.get((table.name, feature), ())]
