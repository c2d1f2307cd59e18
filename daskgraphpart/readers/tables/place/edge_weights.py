"""Refuse edge weights that partitioners cannot take where they are read: by file, line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.rows import ArrayRows, KeptRows
from daskgraphpart.readers.database import read
from daskgraphpart.readers.tables.describe.columns import BYTES, STRINGS, VECTORS
from daskgraphpart.readers.tables.load.feature_file import staged_rows
from daskgraphpart.schema import EDGE_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load


def find_bad_weights(load: Load, weights: Sequence[str]) -> Iterator[InputFileError]:
    """Yield an error for each weight, ``ETYPE/FEATURE``, with bad values.

    Weights of types that are yet to be split or to lose edges are left to the pass that weighs edges.
    """
    if load.described.changes.read_edges:
        return
    etypes = load.described.etypes
    for where in weights:
        etype, _, feature = where.rpartition("/")
        etype = etypes[0] if not etype and len(etypes) == 1 else etype
        for table in load.described.tables:
            if table.of_type == etype and feature in table.features and not _lost_rows(load, table):
                yield from _faults(load, table, feature)


def _lost_rows(load: Load, table: Table) -> bool:
    """Whether a table follows edges of which some were dropped."""
    edges = load.described.ordered(table.of_type)
    return edges is not None and edges is not table and load.num_rows(edges) != load.num_read(edges)


def _faults(load: Load, table: Table, feature: str) -> Iterator[InputFileError]:
    number, *others = table.features[feature]
    if others or table.kind(number) in (STRINGS, BYTES, VECTORS):
        return  # no weight at all
    weights, row, count = staged_rows(table, feature, load.staged[table.name, feature]), 0, 0
    for batch in read(load.connection, f"SELECT row FROM {table.name} ORDER BY row"):
        rows = batch.column(0).to_numpy()
        values = KeptRows(weights, ArrayRows(rows)).read(0, len(rows))
        is_bad = ~((values > 0) & np.isfinite(values))
        row = row if count else int(rows[is_bad.argmax()])
        count += int(np.count_nonzero(is_bad))
    if count:
        file, place, text, shown_weight = load.locate(table, row, number)
        shown_weight += f", filled with {load.described.fill(table, feature)}" if text is None else ""
        shown_weight = (
            shown_weight if count == 1 else f"{shown_weight}, and {count - 1:,} more of {load.num_read(table):,} rows"
        )
        what = f"invalid edge weight: {table.of_type}/{feature}"
        yield InputFileError(what, file=file.path, place=place, expected=EDGE_WEIGHT, found=shown_weight)
