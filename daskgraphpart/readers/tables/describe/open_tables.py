"""Find the files of all tables, and open them: which columns are wanted, what headers and first rows tell."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, InputFileError, OptionError, collect_fault, raise_together
from daskgraphpart.graph.rows import JoinedRows, array_rows
from daskgraphpart.graph.transforms.check_changes import features_of_table
from daskgraphpart.readers.object_values import file_rows
from daskgraphpart.readers.tables.describe.columns import OTHERS, OTHERS_AND_CONSTANTS
from daskgraphpart.readers.tables.describe.description import OpenFile, Table, open_file, with_strings
from daskgraphpart.readers.tables.describe.map_arrays import map_rows
from daskgraphpart.readers.tables.describe.split_sets import DEFAULT_COLUMN, EXPECTED
from daskgraphpart.readers.tables.describe.table_files import (
    TableFile,
    find_files,
    is_pipe,
    refuse_pipes_twice,
    with_form,
)
from daskgraphpart.readers.tables.describe.table_words import EVERY_COLUMN
from daskgraphpart.readers.tables.describe.text_file import TextFile
from daskgraphpart.readers.tables.read_options import SPLIT
from daskgraphpart.schema import plain_name
from daskgraphpart.source import Source

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.readers.tables.read_options import ReadOptions

TEXT_SUFFIXES = ("", ".csv", ".tsv", ".txt")  # without a byte, these hold no row; others are cut off
PACKED_SUFFIXES = (".gz", ".zst", ".lz4", ".bz2", ".xz")


def open_table(directory: Path, number: int, request: TableRequest, notes: list[str]) -> Table:
    """Open all files of a table; raise the faults of all. Adds to the notes what was guessed."""
    files, faults, said = list[OpenFile](), list[GraphPartError](), dict[str, list[str]]()
    for given in request.files:
        with collect_fault(faults):
            file = _open(directory, given, request, files[0] if files else None)
            files.append(file)
            request.features.update({name: name for name in file.features})
            if guess := _guess(file, _ids_in(given, request)):
                said.setdefault(guess, []).append(file.path)
    raise_together(faults)
    for guess, paths in said.items():
        others = f" and {len(paths) - 1:,} more" if paths[1:] else ""
        notes.append(f"{paths[0]}{others}: {guess}")
    features = _number_features(request, files[0])
    names = [(files[0].columns[of[0]].name, name) for name, of in features.items() if not of[1:]]
    if renamed := [f"{before!r} is {name}" for before, name in names if before != name == plain_name(before)]:
        notes.append(f"{files[0].path}: columns get names that files can hold: {', '.join(renamed)}")
    return Table(f"t{number}", request.of_type, request.ends, tuple(files), features, request.mask, request.is_list)


def _ids_in(file: TableFile, request: TableRequest) -> tuple[str, ...]:
    """Return the ID columns of a file; those of edges may differ from the other files' ones."""
    return file.columns or file.options.endpoints or request.ids if len(request.ids) == 2 else request.ids


def _open(directory: Path, given: TableFile, request: TableRequest, first: OpenFile | None) -> OpenFile:
    """Open a file, and compare it with the first one."""
    ids, of_first = _ids_in(given, request), request.files[0].columns
    if len(request.ids) != 2 and given.columns != of_first:
        what, expected = f"two columns of {request.of_type!r} nodes", ":".join(of_first) or "none"
        raise OptionError(what, place=given.path, expected=expected, found=":".join(given.columns) or "none")
    file = open_file(given, directory, [*ids, *request.features.values()], len(ids))
    if SPLIT in request.features:
        number, hint = len(ids) + list(request.features).index(SPLIT), "give node data of 0 and 1, by --node-data"
        place = f"--split, column {file.columns[number].name!r}"
        file = with_strings(file, number, "not the names of sets", place=place, expected=EXPECTED, hint=hint)
    if first is not None and len(file.columns) != len(first.columns):
        expected = f"{len(first.columns)}, as in {first.path}"
        raise InputFileError("wrong number of columns", file=file.path, expected=expected, found=len(file.columns))
    if EVERY_COLUMN in request.features:
        _check_columns(file, first or file, len(ids))
    return file


def _number_features(request: TableRequest, file: OpenFile) -> dict[str, tuple[int, ...]]:
    """Return the numbers of each feature's columns, which follow those of IDs."""
    number = len(request.ends)
    wide = len(file.columns) - number - len(request.features) + 1  # columns of "*"
    features: dict[str, tuple[int, ...]] = {}
    for name, column in request.features.items():
        numbers = tuple(range(number, number + (wide if column in (OTHERS, OTHERS_AND_CONSTANTS) else 1)))
        features |= (
            {plain_name(file.columns[i].name): (i,) for i in numbers} if name == EVERY_COLUMN else {name: numbers}
        )
        number += len(numbers)
    return features


def _check_columns(file: OpenFile, first: OpenFile, num_ids: int) -> None:
    """Check that a file has the first file's columns, in order, when each is a feature."""
    names, expected = ([plain_name(column.name) for column in of.columns[num_ids:]] for of in (file, first))
    if not names:
        hint = "--nodes takes a list of IDs"
        raise InputFileError("no columns besides the IDs", file=file.path, expected="features", hint=hint)
    if len(set(names)) < len(names):
        what, hint = "several columns have one name", "rename them, or name features: NAME=FILE:COLUMN"
        raise InputFileError(what, file=file.path, found=", ".join(names), hint=hint)
    if names != expected:
        what, hint = "columns differ from the first file's", "write all files alike, or name features: NAME=FILE:COLUMN"
        listed = ", ".join(names)
        raise InputFileError(what, file=file.path, expected=", ".join(expected), found=listed, hint=hint)


def _guess(file: OpenFile, ids: Sequence[str]) -> str:
    """Say what was skipped and guessed about a file, and how to say otherwise."""
    guesses = {**file.guesses}
    if ids and not any(ids):
        names = [repr(column.name) for column in file.columns[: len(ids)]]
        guesses |= (
            {f"edges from column {' to '.join(names)}": "FILE:SRC,DST"}
            if names[1:]
            else {f"IDs in column {names[0]}": "FILE:COLUMN"}
        )
    said = [f"{', '.join(guesses)} (guessed; to say otherwise: {', '.join(guesses.values())})"] if guesses else []
    if isinstance(file, TextFile) and (count := file.num_comments):
        said.insert(0, f"{count:,} line{'s' if count > 1 else ''} of comments at the top skipped")
    return "; ".join(said)


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
    """What is wanted so far: tables, rows that need no reading, faults and notes; `directory` is for copies."""

    directory: Path
    options: ReadOptions
    faults: list[GraphPartError]
    notes: list[str]
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
        for (path, *_), count in Counter((file.path, file.content, file.columns) for file in files).items():
            if count > 1 and (note := f"{path}: given and read {count} times") not in self.notes:
                self.notes.append(note)
        there = tuple(file for file in files if not _is_empty_text(file))
        if 0 < len(there) < len(files):  # Hadoop and Spark write them for partitions without rows
            note = f"{os.path.dirname(files[0].path)}: empty files left out: {len(files) - len(there):,}"
            self.notes.extend([note] if note not in self.notes else ())
            files = there
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


def _is_empty_text(file: TableFile) -> bool:
    path = Path(file.path)
    is_packed = path.suffix.lower() in PACKED_SUFFIXES
    is_text = not file.dtype and (path.with_suffix("") if is_packed else path).suffix.lower() in TEXT_SUFFIXES
    if not is_text or not path.is_file():
        return False
    return not path.stat().st_size or (is_packed and _is_empty_gzip(path))


def _is_empty_gzip(path: Path) -> bool:
    with suppress(EOFError, gzip.BadGzipFile, zlib.error), gzip.open(path) as unpacked:
        return not unpacked.read(1)
    return False


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
