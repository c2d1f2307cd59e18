"""The nouns `Table`, files of one table, and `Description`, all tables of a graph; how to open a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.transforms.check_changes import split_feature
from daskgraphpart.ids.id_map import read_map_header
from daskgraphpart.readers.tables.describe.column_file import ColumnFile, open_parquet_file
from daskgraphpart.readers.tables.describe.columns import (
    BYTES,
    INTEGERS,
    STRINGS,
    TIMES,
    UNKNOWN,
    Column,
    are_strings,
    microseconds_of,
)
from daskgraphpart.readers.tables.describe.map_arrays import open_array_file
from daskgraphpart.readers.tables.describe.split_sets import SETS
from daskgraphpart.readers.tables.describe.table_files import TableFile, check_packed, with_form
from daskgraphpart.readers.tables.describe.text_file import TextFile, open_text_file
from daskgraphpart.readers.tables.read_options import SPLIT

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.readers.tables.read_options import ReadOptions
    from daskgraphpart.source import Source
    from daskgraphpart.storage.paths import Location

OpenFile: TypeAlias = TextFile | ColumnFile


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Files of one table of edges, of nodes, of a mask, or of features.

    Its first columns are the IDs of `ends`, none if rows follow edges or nodes; then come `features`, of one column or,
    for vectors, several: names and numbers of columns.
    """

    name: str
    of_type: str
    ends: tuple[str, ...]
    files: tuple[OpenFile, ...]
    features: dict[str, tuple[int, ...]] = field(default_factory=dict)
    mask: str = ""
    is_list: bool = False  # from --nodes, so rows without IDs follow it

    @property
    def num_rows(self) -> int | None:
        """Number of rows of all files; unknown for text."""
        counts = [file.num_rows for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def numbers(self) -> list[int]:
        """Numbers of the columns of features."""
        return [number for numbers in self.features.values() for number in numbers]

    def column(self, number: int) -> Column:
        """A column as described by the first file with rows that tells what it holds, or else by any."""
        columns = [file.columns[number] for file in sorted(self.files, key=lambda file: file.num_rows == 0)]
        return next((column for column in columns if column.kind != UNKNOWN), columns[0])

    def kind(self, number: int) -> str:
        """Kind of a column of a feature."""
        kind = self.column(number).kind
        return STRINGS if kind == BYTES else kind

    def kind_of(self, feature: str) -> str:
        """Kind of a feature; unknown for rows that only follow the table."""
        return self.kind(self.features[feature][0]) if feature in self.features else UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """All input: tables, edges first, node types, and features whose rows need no reading.

    None is an unknown number of nodes. From an earlier graph come ID maps by node type, and code files by type and
    feature.
    """

    options: ReadOptions
    etypes: tuple[str, ...]
    tables: tuple[Table, ...]
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
        paths = [file.path for table in self.tables for file in table.files]
        paths += [
            path for features in self.rows.values() for rows in features.values() for path in map(str, rows.paths)
        ]
        paths += [str(path) for path in (*self.old_ids.values(), *self.old_codes.values())]
        return [path for path in paths if os.path.isfile(path)]

    @property
    def of_edges(self) -> tuple[Table, ...]:
        """Tables of edges."""
        return self.tables[: len(self.etypes)]

    def features(self, of_type: str) -> list[str]:
        """Names of the features of a type."""
        of_tables = [(*table.features, table.mask) for table in self.tables if table.of_type == of_type]
        names = [name for names in of_tables for name in names if name]
        return [*(mask for name in names for mask in (SETS if name == SPLIT else [name])), *self.rows.get(of_type, {})]

    def of_nodes(self, ntype: str) -> list[Table]:
        """Tables of the nodes of a type, lists and features."""
        return [table for table in self.tables if table.ends == (ntype,) and not table.mask]

    def lists(self, ntype: str) -> list[Table]:
        """Tables that say which nodes of a type there are: lists, or else the features."""
        files = self.of_nodes(ntype)
        return [table for table in files if table.is_list] or files

    def ends_in_edges(self, ntype: str) -> list[tuple[Table, int]]:
        """Columns of edges with IDs of a node type, by table and number."""
        return [(table, i) for table in self.of_edges for i, end in enumerate(table.ends) if end == ntype]

    def drops_missing(self, table: Table) -> bool:
        """Whether a table's rows without ID are marked and dropped."""
        return self.options.missing_ids == "drop" and bool(table.ends)

    def is_split(self, table: Table, feature: str) -> bool:
        """Whether edges are split by a feature, whose values become names."""
        return table.of_type in self.etypes and feature == split_feature(self.changes, table.of_type)

    def fill(self, table: Table, feature: str) -> str | None:
        """Return a feature's fill value, if any; that for all features is not one of strings."""
        fills, kind = self.options.fills, table.kind_of(feature)
        every = None if kind == STRINGS else fills.get("")
        fill = fills.get(f"{table.of_type}/{feature}", fills.get(feature, every))
        return microseconds_of(fill) if fill is not None and kind == TIMES else fill

    def ordered(self, of_type: str) -> Table | None:
        """Return the table that rows without IDs follow: edges, or a list of nodes; None if there is none."""
        tables = (table for table in self.tables if table.of_type == of_type)
        return next((table for table in tables if len(table.ends) == 2 or table.is_list), None)


def open_file(file: TableFile, directory: Path, wanted: Sequence[str], num_ids: int) -> OpenFile:
    """Open a file of any format."""
    file = with_form(file, directory)
    if file.packing != "none":
        file = check_packed(file, directory)
    if file.form == "text":
        return open_text_file(file, wanted, num_ids)
    if file.form == "parquet":
        opened = open_parquet_file(file, wanted, num_ids)
    else:
        opened = open_array_file(file, wanted, num_ids, directory)
    for column in opened.columns[:num_ids] if opened.num_rows else ():
        is_wrong = column.kind != INTEGERS and not column.is_text
        if is_wrong and (file.options.map_ids is False or (file.options.map_ids is None and not are_strings(column))):
            place, expected = f"column {column.name!r}", "integers from 0"
            what, hint = "IDs are not integers", "add --map-ids to use any IDs"
            raise InputFileError(what, file=file.path, place=place, expected=expected, found=column.kind, hint=hint)
    return opened


def with_strings(file: OpenFile, number: int, what: str, **details: str) -> OpenFile:
    """Read a column as strings, whatever it looks like; refuse one that holds something else."""
    column = file.columns[number]
    if not column.is_text and column.kind not in (STRINGS, BYTES, UNKNOWN):
        raise InputFileError(what, file=file.path, found=column.kind, **details)
    columns = list(file.columns)
    columns[number] = replace(column, kind=BYTES if column.kind == BYTES else STRINGS)
    return replace(file, columns=tuple(columns))


def first_strings(tables: Sequence[Table]) -> tuple[str, str] | None:
    """Find a node type whose IDs are strings, and say where; None if there is none."""
    for table in tables:
        for file in table.files:
            for end, column in zip(table.ends, file.columns, strict=False):
                if are_strings(column):
                    return end, f"{file.path}, {column.example}".removesuffix(", ")
    return None


def kinds_of_ids(described: Description) -> dict[str, tuple[str, str]]:
    """Tell by node type whether IDs are integers or strings, and why, for messages.

    Unless given, column types and first rows of text tell.
    """
    options = described.options
    if not options.map_ids or options.id_type == "string":
        known = (STRINGS, "text") if options.map_ids else (INTEGERS, "an integer from 0")
        return dict.fromkeys(described.num_nodes, known)
    kinds = dict.fromkeys(described.num_nodes, (INTEGERS, "an integer of 64 bits"))
    if options.id_type == "auto":
        for ntype, path in described.old_ids.items():  # if no table tells more
            kinds[ntype] = (kind := read_map_header(path)[0]), f"{kind}, as in {path}"
        ids = [(end, file, i) for table in described.tables for file in table.files for i, end in enumerate(table.ends)]
        ids.sort(key=lambda of: of[1].num_rows == 0)  # pandas writes float64 for columns without rows
        for ntype, file, i in reversed(ids):  # the first one counts
            column = file.columns[i]
            if column.kind != UNKNOWN:  # text without rows
                kind = STRINGS if column.is_string else INTEGERS
                kinds[ntype] = kind, f"{kind}, as in {file.path}, {column.example}"
    return kinds


def check_row_count(
    described: Description, of_type: str, name: str, paths: Sequence[str], num_rows: int, expected: int | None
) -> None:
    """Refuse a feature whose number of rows differs from its type's, if known."""
    if expected in (None, num_rows):
        return
    hint = f"give --num-nodes {of_type}={num_rows} if some nodes have no edges"
    if described.ordered(of_type) is not None:
        hint = "give one row per edge, or per node of the --nodes list, in order"
    elif not described.of_edges:  # features for a graph that is there
        hint = "give one row per node, in the order of their original IDs"
    what = f"feature {name!r} of {of_type!r} has the wrong number of rows"
    file, place = paths[0] if paths else None, f"and {len(paths) - 1} more files" if len(paths) > 1 else None
    raise InputFileError(what, file=file, place=place, expected=f"{expected:,} rows", found=f"{num_rows:,}", hint=hint)
