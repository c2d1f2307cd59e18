"""The lazy view of a map of IDs."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.open_parquet import open_parquet, row_group_lengths
from daskgraphpart.chunking.edge_lists.write_id_map import COLUMN, FORMAT, FORMAT_KEY
from daskgraphpart.errors import InputFileError, InputFileNotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

ROWS_PER_PARTITION = 1 << 22


def id_map_frame(path: Path) -> Any:
    """Dask DataFrame with the column `id`; its index is the new ID.

    Raises
    ------
    InputFileNotFoundError
        If there is no map.
    InputFileError
        If the file is not one.
    """
    import dask.dataframe as dd

    if not path.is_file():
        raise InputFileNotFoundError(
            "no map of IDs", file=str(path), hint="chunk writes one for each node type with --map-ids"
        )
    with open_parquet(str(path)) as file:
        found = (file.metadata.metadata or {}).get(FORMAT_KEY)
        group_rows = row_group_lengths(file)
    if found != FORMAT:
        raise InputFileError("not a map of IDs", file=str(path), expected=FORMAT.decode(), found=found)
    ends = list(accumulate(group_rows))
    starts = [0, *ends[:-1]]
    # groups of one partition: so many that it has about the rows it should
    parts: list[list[int]] = []
    for group in range(len(ends)):
        if parts and ends[group] - starts[parts[-1][0]] <= ROWS_PER_PARTITION:
            parts[-1].append(group)
        else:
            parts.append([group])
    meta = _read_groups([], path=str(path), starts=starts)
    if not parts:
        return dd.from_pandas(meta, npartitions=1)
    divisions = [*(starts[groups[0]] for groups in parts), ends[-1] - 1]
    read = partial(_read_groups, path=str(path), starts=starts)
    return dd.from_map(read, parts, meta=meta, divisions=divisions, label="read-id-map")


def _read_groups(groups: list[int], path: str, starts: list[int]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    types = {pa.string(): pd.StringDtype("pyarrow"), pa.large_string(): pd.StringDtype("pyarrow")}
    with open_parquet(path) as file:
        schema = pa.schema([file.schema_arrow.field(COLUMN)])
        batches = file.iter_batches(ROWS_PER_PARTITION, row_groups=groups, columns=[COLUMN], use_threads=False)
        table = pa.Table.from_batches(batches, schema)
    frame: pd.DataFrame = table.to_pandas(types_mapper=types.get)
    first = starts[groups[0]] if groups else 0
    frame.index = pd.RangeIndex(first, first + len(frame))
    return frame
