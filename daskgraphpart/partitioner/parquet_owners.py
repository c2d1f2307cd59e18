"""Owners in parquet files of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import AssignmentError
from daskgraphpart.graph.read_parquet import open_parquet
from daskgraphpart.partitioner.assignment import ROWS_PER_BATCH
from daskgraphpart.partitioner.owner_form import OwnerForm
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from daskgraphpart.storage.region import Region


def read_owners(path: str, _: int | None) -> Iterator[np.ndarray]:
    """Yield the one column in batches."""
    import pyarrow as pa

    with open_parquet(path) as file:
        schema = file.schema_arrow
        if len(schema) != 1 or not pa.types.is_integer(schema.field(0).type):
            raise AssignmentError("not one column of integers", file=path, found=f"columns {schema.names}")
        for batch in file.iter_batches(ROWS_PER_BATCH, use_threads=False):
            if batch.column(0).null_count:
                raise AssignmentError("owners are missing", file=path, found=f"{batch.column(0).null_count} nulls")
            yield batch.column(0).to_numpy()


def write_owners(region: Region, path: str) -> None:
    """Write a column `owner`."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("owner", pa.from_numpy_dtype(region.dtype))])
    with attach_path_to_error(path), parquet.ParquetWriter(path, schema) as writer:
        for _, owners in region.pieces(ROWS_PER_BATCH):
            writer.write_batch(pa.record_batch([pa.array(owners)], schema=schema))


PARQUET = OwnerForm(read_owners, write_owners)
