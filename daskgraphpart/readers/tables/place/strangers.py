"""Refuse a column of IDs hardly any of which are those of other tables, with a guess what was meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError
from daskgraphpart.readers.compare_ids import (
    IDS_OF_STRANGERS,
    are_strangers,
    count_matches,
    do_most_match,
    guess_column,
    guess_spelling,
    not_listed,
    some_ids,
)
from daskgraphpart.readers.tables.place.node_ids import select_ids
from daskgraphpart.schema import plain_name

if TYPE_CHECKING:
    from daskgraphpart.readers.tables.describe.description import Table
    from daskgraphpart.readers.tables.load.loaded_tables import Load


def refuse_strangers(load: Load, ntype: str) -> None:
    """Refuse an end of edges, or features, hardly any ID of which is in the list of nodes; before rows are dropped."""
    lists = load.described.lists(ntype)
    for table in load.described.of_edges:
        numbers = [i for i, end in enumerate(table.ends) if end == ntype]
        for i in numbers:
            # of two ends of one type, a small one may be new nodes as a whole
            at_least = IDS_OF_STRANGERS if numbers[1:] else 1
            _compare(load, table, [i], lists, at_least)
        if numbers[1:]:
            _compare(load, table, numbers, lists)
    for table in load.described.of_nodes(ntype):
        if table not in lists:
            _compare(load, table, [0], lists)


def refuse_strange_rows(load: Load, table: Table) -> None:
    """Refuse features, or a mask, hardly any ID of which is in edges or the list of nodes."""
    described, ntype = load.described, table.of_type
    others = [other for other in described.of_nodes(ntype) if other is not table and (other.is_list or table.mask)]
    columns = [*described.ends_in_edges(ntype), *((other, 0) for other in others)]
    if columns and not table.is_list and described.options.ids_from is None:  # nodes that are gone may have rows
        _compare(load, table, [0], [other for other, _ in columns], columns=columns)


def _compare(
    load: Load, table: Table, numbers: list[int], others: list[Table], at_least: int = 1,
    columns: list[tuple[Table, int]] | None = None,
) -> None:  # fmt: skip
    connection, ntype = load.connection, table.ends[numbers[0]]
    columns = columns or [(other, 0) for other in others]
    ids, listed = select_ids((table, i) for i in numbers), select_ids(columns)
    count, matching = count_matches(connection, ids, listed)
    if count < at_least or not are_strangers(connection, count, matching, listed):
        return
    other, number = columns[0]
    is_list = len(other.ends) == 1
    where = "in the list of these nodes" if is_list else "in other tables"
    of_table = table.of_type if len(table.ends) == 2 else f"mask {table.mask!r}" if table.mask else "features"
    names = " and ".join(repr(table.column(i).name) for i in numbers)
    raise InputFileError(
        f"{matching:,} of {count:,} IDs of {ntype!r} nodes in {of_table} are {where}",
        file=table.files[0].path,
        place=f"column {names}",
        expected=f"IDs such as {some_ids(connection, listed)}, as in {other.files[0].path}, column "
        f"{other.column(number).name!r}",
        found=some_ids(connection, not_listed(ids, listed)),
        hint=_guess(load, table, numbers, other, listed),
    )


def _guess(load: Load, table: Table, numbers: list[int], other: Table, listed: str) -> str:
    """Try what would make the IDs match: the other end, blanks, case, another column of either table."""
    connection, ids, i = load.connection, select_ids((table, i) for i in numbers), numbers[0]
    names = [plain_name(column.name) for column in table.files[0].columns[: len(table.ends)]]
    is_one = len(load.described.etypes) == 1
    if len(names) == 2 and table.ends[0] != table.ends[1]:
        far = f"SELECT c{1 - i}::VARCHAR AS id FROM {table.name}"
        if do_most_match(connection, far, f"SELECT id::VARCHAR AS id FROM ({listed})"):
            words = f"--endpoints {names[1]},{names[0]}" if is_one else f"--edges FILE:{names[1]},{names[0]}"
            return f"the ends seem to be swapped: {words}"
    if hint := guess_spelling(connection, ids, listed):
        return hint
    file, path = table.files[0], Path(table.files[0].path).name
    if name := guess_column(connection, file.other_columns(), listed):
        names[i if len(names) == 2 else 0] = plain_name(name)
        columns = ",".join(names)
        words = f"--endpoints {columns}" if len(names) == 2 and is_one else f"{path}:{columns}"
        return f"column {plain_name(name)!r} of this table seems to hold them: {words}"
    name = guess_column(connection, other.files[0].other_columns(), ids) if len(other.ends) == 1 else None
    if name:
        path = Path(other.files[0].path).name
        return f"column {plain_name(name)!r} of {path} seems to hold these IDs: {path}:{plain_name(name)}"
    return "name the columns of IDs: --edges FILE:SRC,DST and --nodes FILE:COLUMN"
