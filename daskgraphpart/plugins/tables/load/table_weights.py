"""Refuse edge weights that partitioners cannot take where they are read: by file, line and column."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError
from daskgraphpart.plugins.tables.describe.columns import BYTES, STRINGS, VECTORS, shown
from daskgraphpart.schema import EDGE_WEIGHT
from daskgraphpart.sources.database import run, translated_errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.plugins.tables.describe.tables import TableGroup
    from daskgraphpart.plugins.tables.load.read_table import TableJob


def find_bad_weights(
    job: TableJob, weights: Sequence[str], starts: Mapping[str, Sequence[int]], given: Mapping[str, int]
) -> Iterator[InputFileError]:
    """Yield an error for each weight, ``ETYPE/FEATURE``, with bad values; `starts` are the first rows of tables' files.

    Weights of types that are yet to be split or to lose edges are left to the pass that weighs edges.
    """
    if job.inputs.changes.read_edges:
        return
    etypes = job.inputs.etypes
    for where in weights:
        etype, _, feature = where.rpartition("/")
        etype = etypes[0] if not etype and len(etypes) == 1 else etype
        for group in job.inputs.groups:
            if group.of_type == etype and feature in group.features and not _lost_rows(job, group, given):
                yield from _faults(job, group, feature, starts[group.name])


def _lost_rows(job: TableJob, group: TableGroup, given: Mapping[str, int]) -> bool:
    """Whether a table follows edges of which some were dropped."""
    edges = job.inputs.ordered(group.of_type)
    return edges is not None and edges is not group and job.num_rows(edges) != given[edges.name]


def _faults(job: TableJob, group: TableGroup, feature: str, starts: Sequence[int]) -> Iterator[InputFileError]:
    number, *others = group.features[feature]
    if others or group.kind(number) in (STRINGS, BYTES, VECTORS):
        return  # no weight at all
    is_bad = f"NOT (c{number} > 0 AND isfinite(c{number}))"
    ((row, count),) = run(job.connection, f"SELECT min(row), count(*) FROM {group.name} WHERE {is_bad}")
    if count:
        index = bisect_right(starts, row) - 1
        table = group.tables[index]
        with translated_errors(table.path):
            place, text = table.locate(row - starts[index], number)
        found = f"nothing, filled with {job.fill(group, feature)}" if text is None else shown(text)
        found = found if count == 1 else f"{found}, and {count - 1:,} more of {starts[-1]:,} rows"
        what = f"invalid edge weight: {group.of_type}/{feature}"
        yield InputFileError(what, file=table.path, place=place, expected=EDGE_WEIGHT, found=found)
