"""Find what is wrong with a table's rows: per column the number of bad values, the first one, and what to do."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.sources.columns import MISSING, TIME_HINT, TIMES, VECTORS, shown
from daskgraphpart.sources.database import run, translated_errors
from daskgraphpart.sources.read_table import TableJob, drops_missing, feature_columns, first_id, width_of
from daskgraphpart.sources.text_table import TextTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.sources.tables import Table, TableGroup

MAX_ID = 2**63 - 2


def find_faults(job: TableJob, group: TableGroup, starts: Sequence[int]) -> list[InputFileError]:
    """Return an error for each ID column and feature with missing or invalid values.

    `starts` are the first rows of files.

    Raises
    ------
    InputFileError
        If the first bad row is no row at all, so that all its values are missing.
    """
    bad = _conditions(job, group)
    counted = ", ".join(f"min(rowid) FILTER ({of}), count(*) FILTER ({of})" for of in bad.values())
    (found,) = run(job.connection, f"SELECT {counted or 'NULL, 0'} FROM {group.name}")
    columns = [(row, number, count) for number, row, count in zip(bad, found[::2], found[1::2], strict=False) if count]
    of_ids = sorted(column for column in columns if column[1] < len(group.ends))[:1]
    of_features = sorted(column for column in columns if column[1] >= len(group.ends))
    # a bad line lacks all values, as the first fault tells
    return [_fault(job, group, number, row, count, starts) for row, number, count in sorted([*of_ids, *of_features])]


def _conditions(job: TableJob, group: TableGroup) -> dict[int, str]:
    bad = {i: f"c{i} IS NULL" for i in [*range(len(group.ends)), *feature_columns(group)]}
    for i in feature_columns(group):
        if group.kind(i) == VECTORS:
            bad[i] += f" OR len(c{i}) <> {width_of(job, group, i)} OR list_count(c{i}) <> len(c{i})"
    limits = [] if job.inputs.options.map_ids else [job.inputs.num_nodes[end] for end in group.ends]
    for i, limit in enumerate(limits):
        bad[i] += f" OR c{i} NOT BETWEEN 0 AND {MAX_ID if limit is None else limit - 1}"
    if drops_missing(job, group):
        return {i: f"({of}) AND NOT no_id" for i, of in bad.items()}
    return bad


def _fault(
    job: TableJob, group: TableGroup, number: int, row: int, count: int, starts: Sequence[int]
) -> InputFileError:
    index = bisect_right(starts, row) - 1
    table = group.tables[index]
    with translated_errors(table.path):
        place, text = table.locate(job.connection, row - starts[index], number)
    found = "nothing" if text is None else shown(text)
    found = found if count == 1 else f"{found}, and {count - 1:,} more of {starts[-1]:,} rows"
    if number < len(group.ends):
        ((value,),) = run(job.connection, f"SELECT c{number} FROM {group.name} WHERE rowid = {row}")
        what, expected, hint = _explain_id(job, group.ends[number], value, table)
        if text is None:
            what, hint = "ID is missing", "drop rows without an ID by --missing-ids drop"
    else:
        what, expected, hint = _explain_feature(job, group, number, text)
    return InputFileError(what, file=table.path, place=place, expected=expected, found=found, hint=hint)


def _explain_feature(job: TableJob, group: TableGroup, number: int, text: str | None) -> tuple[str, str, str | None]:
    """Say what is wrong with a feature's value, what was expected, and what to do."""
    kind = group.kind(number)
    feature = next(name for name, numbers in group.features.items() if number in numbers)
    expected = f"{kind}, as in {group.column(number).example}" if kind else "a value"
    if kind == VECTORS:
        expected = f"{width_of(job, group, number)} numbers"
    if text is None or text in MISSING:
        return "value is missing", expected, f"give a value by --fill {feature}=VALUE"
    if kind == VECTORS:
        return "not a vector like the first one", expected, None
    return ("not a timestamp", expected, TIME_HINT) if kind == TIMES else ("not a number", expected, None)


def _explain_id(job: TableJob, ntype: str, value: Any, table: Table) -> tuple[str, str, str | None]:
    """Say what is wrong with an ID (None if of the wrong kind), what was expected, and what to do."""
    kind, known = job.kinds[ntype]
    what, limit = f"not all IDs of {ntype!r} nodes are {kind}", job.inputs.num_nodes[ntype]
    if job.inputs.options.map_ids:
        return what, known, "make all of them strings by --id-type string"
    hint = "use --map-ids" + ("" if limit is None else ", or check --num-nodes")
    if value is not None:
        first = first_id(table)
        if value == limit and not first:
            hint += "; if IDs begin at 1, map them by --map-ids"
        expected = f"an integer of 63 bits from {first}"
        if limit is not None:
            expected = f"an ID from {first} and below {limit + first:,}"
        return f"ID of a {ntype!r} node out of range", expected, hint
    if isinstance(table, TextTable) and not table.skipped:
        hint += "; or --header if the first line names the columns"
    return what, known, hint
