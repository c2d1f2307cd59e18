"""Open the files of tables: what headers and first rows tell, and whether the files of a table are alike."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError, InputFileError, OptionError
from daskgraphpart.readers.tables.describe.collect_faults import collect_fault, raise_together
from daskgraphpart.readers.tables.describe.columns import BYTES, OTHERS, OTHERS_AND_CONSTANTS, STRINGS, UNKNOWN
from daskgraphpart.readers.tables.describe.description import OpenFile, Table, open_file
from daskgraphpart.readers.tables.describe.split_sets import EXPECTED, SPLIT
from daskgraphpart.readers.tables.describe.table_words import EVERY_COLUMN
from daskgraphpart.readers.tables.describe.text_file import TextFile
from daskgraphpart.schema import plain_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.readers.tables.describe.table_files import TableFile
    from daskgraphpart.readers.tables.describe.table_requests import TableRequest


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
    return file.columns or file.options.columns or request.ids if len(request.ids) == 2 else request.ids


def _open(directory: Path, given: TableFile, request: TableRequest, first: OpenFile | None) -> OpenFile:
    """Open a file, and compare it with the first one."""
    ids, of_first = _ids_in(given, request), request.files[0].columns
    if len(request.ids) != 2 and given.columns != of_first:
        what, expected = f"two columns of {request.of_type!r} nodes", ":".join(of_first) or "none"
        raise OptionError(what, place=given.path, expected=expected, found=":".join(given.columns) or "none")
    file = open_file(given, directory, [*ids, *request.features.values()], len(ids))
    if SPLIT in request.features:
        file = _with_words(file, len(ids) + list(request.features).index(SPLIT))
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


def _with_words(file: OpenFile, number: int) -> OpenFile:
    """Read a column as words, whatever it looks like; refuse numbers."""
    column = file.columns[number]
    if not column.is_text and column.kind not in (STRINGS, BYTES, UNKNOWN):
        place, hint = (
            f"--split, column {column.name!r}",
            "give node data such as train_mask, of 0 and 1, by --node-data",
        )
        raise InputFileError(
            "not the names of sets", file=file.path, place=place, expected=EXPECTED, found=column.kind, hint=hint
        )
    columns = list(file.columns)
    columns[number] = replace(column, kind=BYTES if column.kind == BYTES else STRINGS)
    return replace(file, columns=tuple(columns))


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
