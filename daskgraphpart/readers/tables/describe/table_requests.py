"""Find the files of all tables, and say which columns of each are wanted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.graph.rows import JoinedRows, array_rows
from daskgraphpart.graph.transforms.check_changes import features_of_table
from daskgraphpart.readers.object_values import file_rows
from daskgraphpart.readers.tables.describe.columns import OTHERS, OTHERS_AND_CONSTANTS
from daskgraphpart.readers.tables.describe.map_arrays import map_rows
from daskgraphpart.readers.tables.describe.split_sets import DEFAULT_COLUMN, SPLIT
from daskgraphpart.readers.tables.describe.table_files import (
    TableFile,
    find_files,
    is_pipe,
    refuse_pipes_twice,
    with_form,
)
from daskgraphpart.readers.tables.describe.table_words import EVERY_COLUMN
from daskgraphpart.source import Source

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from daskgraphpart.errors import GraphPartError
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.readers.tables.read_options import ReadOptions


@dataclass(frozen=True, slots=True, eq=False)
class TableRequest:
    """Files of one table, its ID columns (empty: to be guessed), and a column per feature."""

    of_type: str
    ends: tuple[str, ...]
    files: tuple[TableFile, ...]
    ids: tuple[str, ...]
    features: dict[str, str]
    mask: str = ""
    is_list: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TableOptions:
    """What is wanted so far: tables, rows that need no reading, and faults; `directory` is for copies."""

    directory: Path
    options: ReadOptions
    faults: list[GraphPartError]
    requests: list[TableRequest] = field(default_factory=list)
    rows: dict[str, dict[str, Source]] = field(default_factory=dict)
    seen: list[TableFile] = field(default_factory=list)

    def add_edges(self, etype: str, paths: Any, changes: GraphChanges, others: Collection[str]) -> None:
        """Add a table of edges; `others` are features in other files."""
        ends = tuple(etype.split(":")[::2])
        files = tuple(replace(file, ends=ends) for file in self._find(paths, "--edges"))
        names = features_of_table(changes, etype, files[0].options.columns_of(etype), others)
        self.requests.append(TableRequest(etype, ends, files, ("", ""), names))

    def add_nodes(self, ntype: str, given: Any) -> None:
        """Add a list of nodes: files, or files and the column of their IDs."""
        paths, column = given if isinstance(given, tuple) else (given, "")
        files = self._find(paths, "--nodes", (column,) if column else ())
        self.requests.append(TableRequest(ntype, (ntype,), files, files[0].columns[:1] or ("",), {}, is_list=True))

    def add_feature(self, place: str, known: Collection[str], of_type: str, name: str, given: Any) -> None:
        """Add a feature, a mask or a split of a type that should be a known one."""
        if of_type not in known:
            raise OptionError("unknown type", place=place, expected=" or ".join(known), found=of_type)
        if isinstance(given, Source):
            self.rows.setdefault(of_type, {})[name] = given
        elif place == "--mask":
            files = self._find(given, place)
            self.requests.append(TableRequest(of_type, (of_type,), files, files[0].columns[:1] or ("",), {}, name))
        elif name == EVERY_COLUMN:
            self._add_columns(of_type, self._find(given, place), place)
        else:
            files = self._find(given, place, (DEFAULT_COLUMN,) if name == SPLIT else ())
            if self.faults and any(map(is_pipe, files)):
                return  # a fault need not wait for its end
            self._add_column(of_type, name, tuple(with_form(file, self.directory) for file in files), place)

    def _find(self, paths: Any, place: str, columns: tuple[str, ...] = ()) -> tuple[TableFile, ...]:
        files = find_files(paths, place, self.options, columns)
        self.seen.extend(files)
        refuse_pipes_twice(self.seen)
        return files

    def _add_column(self, of_type: str, name: str, files: tuple[TableFile, ...], place: str) -> None:
        """Request a feature from the table with its IDs, or from one read once for all its features.

        Rows of npy and parquet files need no reading.
        """
        rows = _rows_of(name, files, place, self.directory)
        if rows is not None:
            self.rows.setdefault(of_type, {})[name] = rows
            return
        *before, column = files[0].columns or (OTHERS,)
        is_array = any(file.form in ("npy", "npz") for file in files)
        if place == "--edge-data" or not files[0].columns or (is_array and not before):
            self.requests.append(TableRequest(of_type, (), files, (), {name: column}))
            return
        ids = tuple(before) or self._ids_of_list(of_type)
        for request in self.requests:
            if (
                _are_same(request.files, files)
                and request.ends == (of_type,)
                and request.ids == ids
                and not {OTHERS, OTHERS_AND_CONSTANTS} & {column, *request.features.values()}
            ):
                request.features[name] = column
                return
        self.requests.append(TableRequest(of_type, (of_type,), files, ids, {name: column}))

    def _add_columns(self, of_type: str, files: tuple[TableFile, ...], place: str) -> None:
        """Request every column of a table but its IDs; the edges' own table gives its other columns."""
        each, named = {EVERY_COLUMN: OTHERS_AND_CONSTANTS}, _with_names(files, place)
        if place == "--node-data":
            ids = named[0].columns or self._ids_of_list(of_type)
            self.requests.append(TableRequest(of_type, (of_type,), named, ids, each))
            return
        for i, request in enumerate(self.requests):
            if request.of_type == of_type and _are_same(request.files, files):
                files = _with_names(request.files, "--edges")
                self.requests[i] = replace(request, files=files, features={**request.features, **each})
                return
        self.requests.append(TableRequest(of_type, (), named, (), each))

    def _ids_of_list(self, ntype: str) -> tuple[str, ...]:
        """ID column of a node type's first table; empty if there is none."""
        return next((request.ids for request in self.requests if request.ends == (ntype,)), ("",))


def _rows_of(name: str, files: tuple[TableFile, ...], place: str, directory: Path) -> Source | None:
    """Rows of files that are whole features, if they are."""
    forms = {file.form for file in files}
    if forms <= {"npy", "parquet"} and not files[0].columns:
        try:
            return file_rows(name, [file.path for file in files], place)
        except InputFileError as error:
            if forms == {"parquet"}:
                error.add_hint("name a column by FILE:COLUMN, or with IDs by FILE:ID:COLUMN")
            raise
    if forms <= {"raw", "npy", "npz"} and len(files[0].columns) < 2 and name != SPLIT:
        arrays = [map_rows(file, directory) for file in files]
        if all(array is not None and array.shape[1:] == arrays[0].shape[1:] for array in arrays):
            return JoinedRows(tuple(map(array_rows, arrays)))
    return None


def _are_same(files: tuple[TableFile, ...], others: tuple[TableFile, ...]) -> bool:
    return [file.path for file in files] == [file.path for file in others]


def _with_names(files: tuple[TableFile, ...], place: str) -> tuple[TableFile, ...]:
    """Return files whose columns have names: text needs a header."""
    named = []
    for file in files:
        if file.options.header is False or file.dtype:
            what, hint = "columns without names cannot become features", "name them: NAME=FILE:COLUMN"
            raise OptionError(what, file=file.path, place=place, hint=hint)
        ids = file.columns[:-1] if file.columns[-1:] == (EVERY_COLUMN,) else file.columns
        named.append(replace(file, options=replace(file.options, header=True), columns=ids))
    return tuple(named)
