"""Find missing and invalid values of loaded rows, and say in which file and line the first is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.database import run
from daskgraphpart.readers.tables.describe.columns import MAX_ID, MISSING, TIME_HINT, TIMES, VECTORS
from daskgraphpart.readers.tables.describe.split_sets import EXPECTED, SPLIT, set_of
from daskgraphpart.readers.tables.describe.text_file import TextFile

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import OpenFile, Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load


def find_faults(load: Load, table: Table) -> list[InputFileError]:
    """Return an error for each ID column and feature with missing or invalid values."""
    bad = _conditions(load, table)
    counted = ", ".join(f"min(row) FILTER ({of}), count(*) FILTER ({of})" for of in bad.values())
    (counts,) = run(load.connection, f"SELECT {counted} FROM {table.name}") if bad else ((),)
    columns = [
        (row, number, count) for number, row, count in zip(bad, counts[::2], counts[1::2], strict=False) if count
    ]
    columns += [(row, number, count) for of in load.files_of(table) for number, (row, count) in of.bad.items()]
    of_ids = sorted(column for column in columns if column[1] < len(table.ends))[:1]
    of_features = sorted(column for column in columns if column[1] >= len(table.ends))
    # a bad line lacks all values, as the first fault tells
    return [_fault(load, table, number, row, count) for row, number, count in sorted([*of_ids, *of_features])]


def _conditions(load: Load, table: Table) -> dict[int, str]:
    bad = {i: f"c{i} IS NULL" for i in range(len(table.ends))}
    for i in load.strings(table):
        bad[i] = f"n{i}"
        if i in table.features.get(SPLIT, ()):
            bad[i] += f" OR (trim(c{i}) <> '' AND {set_of(f'c{i}')} IS NULL)"
    limits = [] if load.described.options.map_ids else [load.described.num_nodes[end] for end in table.ends]
    for i, limit in enumerate(limits):
        bad[i] += f" OR c{i} NOT BETWEEN 0 AND {MAX_ID if limit is None else limit - 1}"
    if load.described.drops_missing(table):
        return {i: f"({of}) AND NOT no_id" for i, of in bad.items()}
    return bad


def _fault(load: Load, table: Table, number: int, row: int, count: int) -> InputFileError:
    file, place, text, shown_value = load.locate(table, row, number)
    if count > 1:
        shown_value = f"{shown_value}, and {count - 1:,} more of {load.num_read(table):,} rows"
    hint: str | None
    if number < len(table.ends):
        ((value,),) = run(load.connection, f"SELECT c{number} FROM {table.name} WHERE row = {row}")
        what, expected, hint = _explain_id(load, table.ends[number], value, file)
        if text is None:
            what, hint = "ID is missing", "drop rows without an ID by --missing-ids drop"
    else:
        what, expected, hint = _explain_feature(load, table, number, text)
    return InputFileError(what, file=file.path, place=place, expected=expected, found=shown_value, hint=hint)


def _explain_feature(load: Load, table: Table, number: int, text: str | None) -> tuple[str, str, str | None]:
    """Say what is wrong with a feature's value, what was expected, and what to do."""
    kind = table.kind(number)
    feature = next(name for name, numbers in table.features.items() if number in numbers)
    expected = f"{kind}, as in {table.column(number).example}" if kind else "a value"
    if kind == VECTORS:
        expected = f"{load.staged[table.name, feature][0].width} numbers"
    if feature == SPLIT:
        return "not the name of a set", EXPECTED, None
    if text is None or text in MISSING:
        return "value is missing", expected, f"give a value by --fill {feature}=VALUE"
    if kind == VECTORS:
        return "not a vector like the first one", expected, None
    if kind == TIMES:
        return "not a timestamp", expected, TIME_HINT
    return "not a number", expected, "if the comma separates fractions: --decimal comma" if "," in text else None


def _explain_id(load: Load, ntype: str, value: Any, file: OpenFile) -> tuple[str, str, str]:
    """Say what is wrong with an ID (None if of the wrong kind), what was expected, and what to do."""
    kind, known = load.kinds[ntype]
    what, limit = f"not all IDs of {ntype!r} nodes are {kind}", load.described.num_nodes[ntype]
    if load.described.options.map_ids:
        return what, known, "make all of them strings by --id-type string"
    hint = "add --map-ids to use any IDs" + ("" if limit is None else ", or check --num-nodes")
    if value is not None:
        first = file.first_id
        if value < 0 and not first:
            return f"ID of a {ntype!r} node is negative", "an integer from 0", hint
        if value == limit and not first:
            hint += ". If IDs begin at 1, map them by --map-ids"
        expected = f"an integer of 63 bits from {first}"
        if limit is not None:
            expected = f"an ID from {first} and below {limit + first:,}"
        return f"ID of a {ntype!r} node out of range", expected, hint
    if isinstance(file, TextFile) and not file.has_header:
        hint += ". Add --header if the first line names the columns"
    return what, known, hint
