"""The nouns `TableGroup`, files of one table, and `Inputs`, all tables of a graph; how to open a file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import InputFileError
from daskgraphpart.plugins.tables.describe.column_file import ColumnTable, open_array_table, open_parquet_table
from daskgraphpart.plugins.tables.describe.columns import BYTES, INTEGERS, STRINGS, UNKNOWN, Column
from daskgraphpart.plugins.tables.describe.split_sets import SETS, SPLIT
from daskgraphpart.plugins.tables.describe.table_files import TableFile, check_packed, with_form
from daskgraphpart.plugins.tables.describe.text_file import TextTable, open_text_table
from daskgraphpart.sources.id_map import read_map_header

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.changes import GraphChanges
    from daskgraphpart.plugins.tables.options import ReadOptions
    from daskgraphpart.source import Source
    from daskgraphpart.storage.paths import Location

Table: TypeAlias = TextTable | ColumnTable


@dataclass(frozen=True, slots=True, eq=False)
class TableGroup:
    """Files of one table of edges, of nodes, of a mask, or of features.

    Its first columns are the IDs of `ends`, none if rows follow edges or nodes; then come `features`, of one column or,
    for vectors, several: names and numbers of columns.
    """

    name: str
    of_type: str
    ends: tuple[str, ...]
    tables: tuple[Table, ...]
    features: dict[str, tuple[int, ...]] = field(default_factory=dict)
    mask: str = ""
    is_list: bool = False  # from --nodes, so rows without IDs follow it

    @property
    def num_rows(self) -> int | None:
        """Number of rows of all files; unknown for text."""
        counts = [table.num_rows for table in self.tables]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def numbers(self) -> list[int]:
        """Numbers of the columns of features."""
        return [number for numbers in self.features.values() for number in numbers]

    def column(self, number: int) -> Column:
        """A column as described by the first file that tells what it holds."""
        columns = [table.columns[number] for table in self.tables]
        return next((column for column in columns if column.kind != UNKNOWN), columns[0])

    def kind(self, number: int) -> str:
        """Kind of a column of a feature."""
        kind = self.column(number).kind
        return STRINGS if kind == BYTES else kind

    def kind_of(self, feature: str) -> str:
        """Kind of a feature; unknown for rows that only follow the table."""
        return self.kind(self.features[feature][0]) if feature in self.features else UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All input: tables, edges first, node types, and features whose rows need no reading.

    None is an unknown number of nodes. From an earlier graph come ID maps by node type, and code files by type and
    feature.
    """

    options: ReadOptions
    etypes: tuple[str, ...]
    groups: tuple[TableGroup, ...]
    num_nodes: Mapping[str, int | None]
    rows: Mapping[str, Mapping[str, Source]]
    notes: tuple[str, ...]
    changes: GraphChanges
    num_edges: Mapping[str, int]
    old_ids: Mapping[str, Location]
    old_codes: Mapping[tuple[str, str], Location]

    @property
    def paths(self) -> list[str]:
        """All files."""
        paths = [table.path for group in self.groups for table in group.tables]
        paths += [
            path for features in self.rows.values() for rows in features.values() for path in map(str, rows.paths)
        ]
        paths += [str(path) for path in (*self.old_ids.values(), *self.old_codes.values())]
        return [path for path in paths if os.path.isfile(path)]

    @property
    def of_edges(self) -> tuple[TableGroup, ...]:
        """Tables of edges."""
        return self.groups[: len(self.etypes)]

    def features(self, of_type: str) -> list[str]:
        """Names of the features of a type."""
        of_tables = [(*group.features, group.mask) for group in self.groups if group.of_type == of_type]
        names = [name for names in of_tables for name in names if name]
        return [*(mask for name in names for mask in (SETS if name == SPLIT else [name])), *self.rows.get(of_type, {})]

    def of_nodes(self, ntype: str) -> list[TableGroup]:
        """Tables of the nodes of a type, lists and features."""
        return [group for group in self.groups if group.ends == (ntype,) and not group.mask]

    def lists(self, ntype: str) -> list[TableGroup]:
        """Tables that say which nodes of a type there are: lists, or else the features."""
        tables = self.of_nodes(ntype)
        return [group for group in tables if group.is_list] or tables

    def ordered(self, of_type: str) -> TableGroup | None:
        """Return the table that rows without IDs follow: edges, or a list of nodes; None if there is none."""
        found = (group for group in self.groups if group.of_type == of_type)
        return next((group for group in found if len(group.ends) == 2 or group.is_list), None)


def open_table(file: TableFile, directory: Path, wanted: Sequence[str], num_ids: int) -> Table:
    """Open a file of any format."""
    file = with_form(file, directory)
    if file.packing != "none":
        check_packed(file.content, file.packing, file.path)
    if file.form == "text":
        return open_text_table(file, wanted, num_ids)
    if file.form == "parquet":
        opened = open_parquet_table(file, wanted, num_ids)
    else:
        opened = open_array_table(file, wanted, num_ids, directory)
    for column in opened.columns[:num_ids]:
        if column.kind != INTEGERS and not column.is_text and not file.options.map_ids:
            place, expected = f"column {column.name!r}", "integers from 0"
            what, hint = "IDs are not integers", "use --map-ids"
            raise InputFileError(what, file=file.path, place=place, expected=expected, found=column.kind, hint=hint)
    return opened


def kinds_of_ids(inputs: Inputs) -> dict[str, tuple[str, str]]:
    """Tell by node type whether IDs are integers or strings, and why, for messages.

    Unless given, column types and first rows of text tell.
    """
    options = inputs.options
    if not options.map_ids or options.id_type == "string":
        known = (STRINGS, "text") if options.map_ids else (INTEGERS, "an integer from 0")
        return dict.fromkeys(inputs.num_nodes, known)
    kinds = dict.fromkeys(inputs.num_nodes, (INTEGERS, "an integer of 64 bits"))
    if options.id_type == "auto":
        for ntype, path in inputs.old_ids.items():  # if no table tells more
            kinds[ntype] = (kind := read_map_header(path)[0]), f"{kind}, as in {path}"
        ids = [(end, table, i) for group in inputs.groups for table in group.tables for i, end in enumerate(group.ends)]
        for ntype, table, i in reversed(ids):  # the first one counts
            column = table.columns[i]
            if column.kind != UNKNOWN:  # text without rows
                kind = STRINGS if column.is_string else INTEGERS
                kinds[ntype] = kind, f"{kind}, as in {table.path}, {column.example}"
    return kinds


def check_row_count(
    inputs: Inputs, of_type: str, name: str, paths: Sequence[str], found: int, expected: int | None
) -> None:
    """Refuse a feature whose number of rows differs from its type's, if known."""
    if expected in (None, found):
        return
    hint = f"give --num-nodes {of_type}={found} if some nodes have no edges"
    if inputs.ordered(of_type) is not None:
        hint = "give one row per edge, or per node of the --nodes list, in order"
    elif inputs.options.map_ids:
        hint = "rows follow the sorted IDs; list nodes by --nodes for another order, or more nodes"
    what = f"feature {name!r} of {of_type!r} has the wrong number of rows"
    file, place = paths[0] if paths else None, f"and {len(paths) - 1} more files" if len(paths) > 1 else None
    raise InputFileError(what, file=file, place=place, expected=f"{expected:,} rows", found=f"{found:,}", hint=hint)


def check_edge_counts(inputs: Inputs, given: Mapping[str, int]) -> None:
    """Refuse an edge type whose number of rows differs from its data set's; `given` are rows by table."""
    for group in inputs.of_edges:
        expected, found = inputs.num_edges.get(group.of_type), given[group.name]
        if expected not in (None, found):
            what = f"wrong number of {group.of_type!r} edges"
            raise InputFileError(what, file=group.tables[0].path, expected=f"{expected:,}", found=f"{found:,}")
