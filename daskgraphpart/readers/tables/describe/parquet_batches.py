"""Read columns of a parquet file in batches of some megabytes, whatever its rows hold.

A dictionary may have a string of megabytes, and each row may repeat it: columns with long strings in dictionaries are
read as codes, which the caller expands a few rows at a time.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.readers.database import ROWS_PER_BATCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BYTES_PER_READ = 4 << 20
LONG = 1024
"""Bytes of strings that are long: a batch of them takes several times what a batch should."""
TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def read_batches(path: str, names: Sequence[str]) -> Iterator[Any]:
    """Yield batches of the named columns; those with long strings are dictionaries."""
    with open_parquet(path) as file:
        rows = _rows_at_once(file.metadata, names)
        texts = [name for name in names if file.schema_arrow.field(name).type in TEXTS]
    with open_parquet(path, _find_long(path, texts)) as file:
        yield from file.iter_batches(rows, columns=list(names), use_threads=False)


def _rows_at_once(metadata: Any, names: Sequence[str]) -> int:
    """Return how many rows to read, by the largest average of a row group."""
    most = 1.0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        columns = map(group.column, range(group.num_columns))
        sizes = (of.total_uncompressed_size for of in columns if of.path_in_schema.startswith(tuple(names)))
        most = max(most, sum(sizes) / max(1, group.num_rows))
    return max(1, min(ROWS_PER_BATCH, int(BYTES_PER_READ / most)))


def _find_long(path: str, names: Sequence[str]) -> list[str]:
    """Find columns whose dictionaries have long strings; the first row of a row group brings the whole dictionary."""
    wide = set[str]()
    with open_parquet(path, names) as file:
        for group in range(file.num_row_groups if names else 0):
            rows = file.iter_batches(1, row_groups=[group], columns=list(names), use_threads=False)
            for batch in islice(rows, 1):
                words = zip(batch.schema.names, batch.columns, strict=True)
                wide |= {name for name, of in words if (pc.max(pc.binary_length(of.dictionary)).as_py() or 0) > LONG}
    return sorted(wide)
