"""Keep long texts once: rows of the database have a key of each, so that few categories of megabytes stay few.

A key is a prefix and a hash of the text. Short texts that begin so get keys, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.readers.tables.describe.parquet_batches import TEXTS

if TYPE_CHECKING:
    import duckdb

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
