"""Step 1: find and open all files of a graph's tables; check what options, headers and first rows tell.

All faults are reported at once, in two rounds: those of options and files, then those of what the tables hold together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import (
    GraphPartError,
    InputFileError,
    MetadataError,
    OptionError,
    PlanError,
    check_choice,
    collect_fault,
    raise_together,
)
from daskgraphpart.graph.metadata import check_num_nodes
from daskgraphpart.graph.transforms.check_changes import check_changes
from daskgraphpart.readers.tables.describe.column_file import ColumnFile
from daskgraphpart.readers.tables.describe.columns import FLOATS, INTEGERS, UNKNOWN
from daskgraphpart.readers.tables.describe.description import Description, Table, check_row_count, first_strings
from daskgraphpart.readers.tables.describe.earlier_graph import continue_codes, find_old_codes, find_old_ids
from daskgraphpart.readers.tables.describe.open_tables import TableOptions, open_table
from daskgraphpart.readers.tables.describe.table_files import is_pipe
from daskgraphpart.readers.tables.read_options import SPLIT, ReadOptions, Tables
from daskgraphpart.readers.type_names import check_type_name
from daskgraphpart.schema import DataSpec
from daskgraphpart.source import Source
from daskgraphpart.storage.paths import Location
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges


def describe_tables(directory: Path, given: Tables, options: ReadOptions, changes: GraphChanges) -> Description:
    """Find and open all files; what has to be unpacked is unpacked into the directory.

    A column by which edges are split counts as a feature until then.
    """
    notes = list[str]()
    _check_types(given, options)
    etypes = tuple(sorted(given.edges))
    ends = {end for etype in etypes for end in etype.split(":")[::2]}
    ntypes = sorted(ends | {*given.nodes, *given.num_nodes})
    requests = _request_tables(TableOptions(directory, options, [], notes), given, changes, ntypes)
    faults = requests.faults
    tables, old_ids, codes = list[Table](), dict[str, Location](), None
    for number, request in enumerate(requests.requests):
        if faults and any(map(is_pipe, request.files)):
            continue  # a fault need not wait for its end
        with collect_fault(faults):
            tables.append(open_table(directory, number, request, notes))
    with collect_fault(faults):
        old_ids = find_old_ids(options.ids_from, ntypes)
    with collect_fault(faults):
        codes = find_old_codes(options.codes_from)
    raise_together(faults)
    if options.map_ids is None:
        strings = first_strings(tables)
        options = replace(options, map_ids=strings is not None and not given.num_nodes)
        if strings is not None and options.map_ids:
            notes.append(f"IDs of {strings[0]!r} nodes are strings, as in {strings[1]}: all IDs are mapped")
    continued, old_codes = continue_codes(codes, tuple(tables), changes)
    counts = _known_counts(given, ntypes, () if options.map_ids else continued)
    described = Description(
        options, etypes, continued, counts, requests.rows, tuple(notes), changes,
        given.num_edges, old_ids, old_codes,
    )  # fmt: skip
    _check_together(described)
    return described


def check_memory(described: Description, memory: int) -> None:
    """Refuse a budget too small for the rows of a file, or the pages of one of parquet."""
    files = [file for table in described.tables for file in table.files]
    file = max(files, key=lambda file: file.least_memory, default=None)
    if isinstance(file, ColumnFile) and file.least_memory > memory:
        what, hint = "wide rows need more memory", f"use {-(-file.least_memory // 1_000_000)}MB or more"
        budget = f"{memory / 1e6:.6g}MB, for rows of {format_size(file.sizes.row)}"
        if file.sizes.page:
            budget += f" in pages of {format_size(file.sizes.page)}"
        raise PlanError(what, file=file.path, option="memory", found=budget, hint=hint)


def _request_tables(
    requests: TableOptions, given: Tables, changes: GraphChanges, ntypes: Sequence[str]
) -> TableOptions:
    """Find the files of all tables, edges first."""
    faults = requests.faults
    for etype in sorted(given.edges):
        with collect_fault(faults):
            requests.add_edges(etype, given.edges[etype], changes, given.edge_data.get(etype, ()))
    for ntype in sorted(given.nodes):
        with collect_fault(faults):
            requests.add_nodes(ntype, given.nodes[ntype])
    for place, of_type, name, values in sorted(given.features, key=lambda of: not isinstance(of[-1], Source)):
        known = sorted(given.edges) if place == "--edge-data" else ntypes
        with collect_fault(faults):
            requests.add_feature(place, known, of_type, name, values)
    return requests


def _known_counts(given: Tables, ntypes: Sequence[str], tables: Sequence[Table]) -> dict[str, int | None]:
    """Return numbers of nodes as they are given, or as sparse matrices tell them."""
    counts: dict[str, int | None] = {**dict.fromkeys(ntypes), **given.num_nodes}
    for table in tables:
        for end, count in (pair for file in table.files for pair in zip(table.ends, file.num_nodes, strict=False)):
            if end not in given.num_nodes:
                counts[end] = max(counts[end] or 0, count)
    return counts


def _check_types(given: Tables, options: ReadOptions) -> None:
    """Refuse names that are no types."""
    faults = list[GraphPartError]()
    if not any((given.edges, given.nodes, given.num_nodes)):
        raise OptionError("no edges", option="edges", expected="files of edges")
    for etype in given.edges:
        if etype.count(":") != 2:
            faults.append(OptionError("not an edge type", option="edges", expected="SRC:REL:DST", found=etype))
    for etype in options.edge_features.keys() - {""}:
        with collect_fault(faults):
            check_choice("edge type", "--edge-features", etype, sorted(given.edges))
    parts = [name for etype in given.edges for name in etype.split(":")]
    for name in [*parts, *given.nodes, *given.num_nodes]:
        with collect_fault(faults):
            check_type_name(name, OptionError)
    for ntype, count in given.num_nodes.items():
        with collect_fault(faults):
            check_num_nodes(count, f"--num-nodes {ntype}")
    raise_together(faults)


def _check_together(described: Description) -> None:
    """Refuse columns that cannot be features, repeated features, wrong counts, and options without a subject."""
    faults = list[GraphPartError]()
    if described.options.map_ids and any(count is not None for count in described.num_nodes.values()):
        what, hint = "mapped IDs tell the number of nodes", "leave it out; list further nodes by --nodes"
        faults.append(OptionError(what, option="num_nodes", hint=hint))
    for table in described.tables:
        with collect_fault(faults):
            _check_features(table)
    names = {of_type: described.features(of_type) for of_type in (*described.num_nodes, *described.etypes)}
    seen = [f"{of_type}/{name}" for of_type, of in names.items() for name in of]
    for full_name in dict.fromkeys(seen):
        if seen.count(full_name) > 1:
            faults.append(OptionError("feature is given twice", found=full_name, hint="remove one"))
    expected = f"one of {', '.join(seen)}" if seen else "none: there are no features"
    known = {"", *seen, *(name.rpartition("/")[2] for name in seen)}
    for name in sorted(described.options.fills.keys() - known):
        faults.append(OptionError("unknown feature", option="fill", expected=expected, found=name))
    with collect_fault(faults):
        check_changes(described.changes, [*described.num_nodes], described.etypes, names)
    with collect_fault(faults):
        _refuse_rows_without_order(described)
    for of_type, features in described.rows.items():
        ordered = described.ordered(of_type)
        num_rows = described.num_nodes[of_type] if ordered is None else ordered.num_rows
        for name, rows in features.items():
            with collect_fault(faults):
                check_row_count(described, of_type, name, [*map(str, rows.paths)], rows.shape[0], num_rows)
    raise_together(faults)


def _refuse_rows_without_order(described: Description) -> None:
    """Refuse rows of nodes without IDs if IDs are mapped and no list of nodes says whose they are."""
    rows = {ntype: [*described.rows.get(ntype, {})] for ntype in described.num_nodes}
    for table in described.tables:
        if not table.ends and table.of_type in rows:
            rows[table.of_type] += [name for name in table.features if name != SPLIT] or ["split"]
    faults = list[GraphPartError]()
    for ntype, names in rows.items():
        if names and described.options.map_ids and described.ordered(ntype) is None:
            what = (
                f"rows of {', '.join(f'{ntype}/{name}' for name in names)} have no IDs, and no list of nodes has them"
            )
            hint = (
                f"list the {ntype!r} nodes in the order of the rows by --nodes {ntype}=FILE:COLUMN, "
                "or join rows by a column of IDs"
            )
            faults.append(OptionError(what, option="node_data", hint=hint))
    raise_together(faults)


def _check_features(table: Table) -> None:
    """Refuse names that are none, and vectors of other than numbers."""
    path, faults = table.files[0].path, list[GraphPartError]()
    features = {name: numbers for name, numbers in table.features.items() if name != SPLIT}
    for name, numbers in ({table.mask: ()} if table.mask else features).items():
        columns = [table.column(i) for i in numbers]
        dtypes = [column.dtype for column in columns if column.dtype is not None]
        try:
            DataSpec(name, next(iter(dtypes), np.dtype(np.float64)))
        except MetadataError as error:
            faults.append(error.restated(InputFileError, file=path, place=None))
        for column in columns if columns[1:] else ():
            if column.kind not in (INTEGERS, FLOATS, UNKNOWN):
                what, expected = f"column {column.name!r} does not hold numbers", "only such columns in a vector"
                faults.append(InputFileError(what, file=path, expected=expected, found=column.kind))
    raise_together(faults)
