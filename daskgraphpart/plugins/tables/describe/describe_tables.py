"""Find and open all files of an edge list job; check what options, headers and first rows tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.check_changes import check_changes
from daskgraphpart.chunked.metadata import check_num_nodes
from daskgraphpart.errors import (
    GraphPartError,
    InputFileError,
    MetadataError,
    OptionError,
    check_choice,
    raise_together,
)
from daskgraphpart.plugins.tables.describe.columns import (
    BYTES,
    FLOATS,
    INTEGERS,
    OTHERS,
    OTHERS_AND_CONSTANTS,
    STRINGS,
    UNKNOWN,
)
from daskgraphpart.plugins.tables.describe.description import Description, OpenFile, Table, check_row_count, open_file
from daskgraphpart.plugins.tables.describe.earlier_graph import continue_codes, find_old_ids
from daskgraphpart.plugins.tables.describe.split_sets import EXPECTED, SPLIT
from daskgraphpart.plugins.tables.describe.table_requests import TableRequest, TableRequests
from daskgraphpart.plugins.tables.describe.table_words import EACH
from daskgraphpart.plugins.tables.describe.text_file import TextFile
from daskgraphpart.schema import DataSpec, check_name
from daskgraphpart.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.plugins.tables.table_scan import TableScan


def describe_tables(directory: Path, scan: TableScan) -> Description:
    """Find and open all files; what has to be unpacked is unpacked into the directory.

    A column by which edges are split counts as a feature until then.
    """
    options, changes = scan.reading, scan.changes
    _check_types(scan)
    etypes = tuple(sorted(scan.tables.edges))
    ends = {etype: tuple(etype.split(":")[::2]) for etype in etypes}
    ntypes = sorted({end for pair in ends.values() for end in pair} | {*scan.tables.nodes, *scan.tables.num_nodes})
    requests = TableRequests(directory, scan.reading)
    for etype in etypes:
        requests.add_edges(etype, scan.tables.edges[etype], changes, scan.tables.edge_data.get(etype, ()))
    for ntype, given in sorted(scan.tables.nodes.items()):
        requests.add_nodes(ntype, given)
    for place, of_type, name, given in sorted(scan.features, key=lambda feature: not isinstance(feature[-1], Source)):
        requests.add_feature(place, etypes if place == "--edge-data" else ntypes, of_type, name, given)
    notes: list[str] = []
    tables = _open_all(directory, requests.found, notes, [*requests.unknown.values()])
    tables, old_codes = continue_codes(options.codes_from, tables, changes)
    old_ids = find_old_ids(options.ids_from, ntypes)
    counts = _known_counts(scan, ntypes, tables)
    described = Description(
        options, etypes, tables, counts, requests.rows, tuple(notes), changes, scan.tables.num_edges, old_ids, old_codes
    )
    _check_names(described)
    check_changes(changes, ntypes, etypes, {of_type: described.features(of_type) for of_type in (*ntypes, *etypes)})
    _check_rows(described)
    return described


def _known_counts(scan: TableScan, ntypes: Sequence[str], tables: Sequence[Table]) -> dict[str, int | None]:
    """Return numbers of nodes as they are given, or as sparse matrices tell them."""
    counts: dict[str, int | None] = {**dict.fromkeys(ntypes), **scan.tables.num_nodes}
    for table in tables if not scan.reading.map_ids else ():
        for end, count in (pair for file in table.files for pair in zip(table.ends, file.num_nodes, strict=False)):
            if end not in scan.tables.num_nodes:
                counts[end] = max(counts[end] or 0, count)
    return counts


def _check_rows(described: Description) -> None:
    """Refuse rows in files of a different number than is known."""
    for of_type, name, rows in [(t, name, rows) for t, of in described.rows.items() for name, rows in of.items()]:
        ordered = described.ordered(of_type)
        expected = described.num_nodes[of_type] if ordered is None else ordered.num_rows
        check_row_count(described, of_type, name, [*map(str, rows.paths)], rows.shape[0], expected)


def _open_all(
    directory: Path,
    requests: Sequence[TableRequest],
    notes: list[str],
    faults: list[GraphPartError],
) -> tuple[Table, ...]:
    """Open all tables; raise all faults, with those already known, as one error."""
    tables = []
    for number, request in enumerate(requests):
        try:
            tables.append(_open(directory, number, request, notes))
        except (InputFileError, OptionError) as fault:
            faults.append(fault)
    raise_together(faults)
    return tuple(tables)


def _open(directory: Path, number: int, request: TableRequest, notes: list[str]) -> Table:
    files: list[OpenFile] = []
    said: dict[str, list[str]] = {}
    for given in request.files:
        ids = request.ids
        if len(ids) == 2:
            ids = given.columns or given.options.columns or ids
        elif given.columns != request.files[0].columns:
            what, expected = f"two columns of {request.of_type!r} nodes", ":".join(request.files[0].columns) or "none"
            raise OptionError(what, place=given.path, expected=expected, found=":".join(given.columns) or "none")
        file = open_file(given, directory, [*ids, *request.features.values()], len(ids))
        if SPLIT in request.features:
            file = _with_words(file, len(ids) + list(request.features).index(SPLIT))
        if files and len(file.columns) != len(files[0].columns):
            expected = f"{len(files[0].columns)}, as in {files[0].path}"
            raise InputFileError("wrong number of columns", file=file.path, expected=expected, found=len(file.columns))
        if EACH in request.features:
            _check_columns(file, (files or [file])[0], len(ids))
        files.append(file)
        request.features.update({name: name for name in file.features})
        guess = _guess(file, ids)
        if guess:
            said.setdefault(guess, []).append(file.path)
    for guess, paths in said.items():
        others = f" and {len(paths) - 1:,} more" if paths[1:] else ""
        notes.append(f"{paths[0]}{others}: {guess}")
    first = len(request.ends)
    wide = len(files[0].columns) - first - len(request.features) + 1  # columns of "*"
    features: dict[str, tuple[int, ...]] = {}
    for name, column in request.features.items():
        numbers = tuple(range(first, first + (wide if column in (OTHERS, OTHERS_AND_CONSTANTS) else 1)))
        features |= {files[0].columns[i].name: (i,) for i in numbers} if name == EACH else {name: numbers}
        first += len(numbers)
    return Table(f"t{number}", request.of_type, request.ends, tuple(files), features, request.mask, request.is_list)


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
    names, expected = ([column.name for column in of.columns[num_ids:]] for of in (file, first))
    if not names:
        hint = "--nodes takes a list of IDs"
        raise InputFileError("no columns besides the IDs", file=file.path, expected="features", hint=hint)
    if len(set(names)) < len(names):
        what, hint = "several columns have one name", "rename them, or name features: NAME=FILE:COLUMN"
        raise InputFileError(what, file=file.path, found=", ".join(names), hint=hint)
    if names != expected:
        what, hint = "columns differ from the first file's", "write all files alike, or name features: NAME=FILE:COLUMN"
        found = ", ".join(names)
        raise InputFileError(what, file=file.path, expected=", ".join(expected), found=found, hint=hint)


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


def _check_types(scan: TableScan) -> None:
    if not scan.tables.edges:
        raise OptionError("no edges", place="--edges", expected="files of edges")
    for etype in scan.tables.edges:
        if etype.count(":") != 2:
            raise OptionError("not an edge type", place="--edges", expected="SRC:REL:DST", found=etype)
    for etype in scan.reading.edge_columns.keys() - {""}:
        check_choice("edge type", "--edge-columns", etype, sorted(scan.tables.edges))
    for name in [*":".join(scan.tables.edges).split(":"), *scan.tables.nodes, *scan.tables.num_nodes]:
        check_name(name, "type", OptionError)
    for ntype, count in scan.tables.num_nodes.items():
        check_num_nodes(count, f"--num-nodes {ntype}")


def _check_names(described: Description) -> None:
    """Refuse columns that cannot be features, repeated features, and options without a subject."""
    if described.options.map_ids and any(count is not None for count in described.num_nodes.values()):
        what = "mapped IDs tell the number of nodes"
        raise OptionError(what, place="--num-nodes", hint="leave it out; list further nodes by --nodes")
    seen = [f"{t}:{name}" for t in (*described.num_nodes, *described.etypes) for name in described.features(t)]
    for table in described.tables:
        path = table.files[0].path
        features = {name: numbers for name, numbers in table.features.items() if name != SPLIT}
        for name, numbers in ({table.mask: ()} if table.mask else features).items():
            columns = [table.column(i) for i in numbers]
            try:
                DataSpec(name, next((c.dtype for c in columns if c.dtype is not None), np.dtype(np.float64)))
            except MetadataError as error:
                raise error.restated(InputFileError, file=path, place=None) from None
            for column in columns if columns[1:] else ():
                if column.kind not in (INTEGERS, FLOATS, UNKNOWN):
                    what, expected = f"column {column.name!r} does not hold numbers", "only such columns in a vector"
                    raise InputFileError(what, file=path, expected=expected, found=column.kind)
    for full_name in seen:
        if seen.count(full_name) > 1:
            raise OptionError("feature is given twice", found=full_name, hint="remove one")
    known = {"", *seen, *(name.rpartition(":")[2] for name in seen)}
    for name in described.options.fills.keys() - known:
        raise OptionError("unknown feature", place="--fill", expected=f"one of {', '.join(seen)}", found=name)
