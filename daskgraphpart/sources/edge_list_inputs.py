"""Find and open all files of an edge list job, and check everything that options, headers and first rows tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.schema import DataSpec, check_name
from daskgraphpart.sources.arrays import file_rows
from daskgraphpart.sources.columns import INTEGERS, NO_IDS, STRINGS
from daskgraphpart.sources.open_table import Paths, Table, expand_paths, open_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb

    from daskgraphpart.chunked.rows import ReadRows
    from daskgraphpart.sources.edge_list_options import ReadOptions

FeaturePaths: TypeAlias = Mapping[str, Mapping[str, Paths]]


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that is read: tables of edges and lists of nodes by type, all node types, features in files.

    A number of nodes is None where none was given.
    """

    options: ReadOptions
    edges: Mapping[str, tuple[Table, ...]]
    nodes: Mapping[str, tuple[Table, ...]]
    num_nodes: Mapping[str, int | None]
    node_data: Mapping[str, Mapping[str, ReadRows]]
    edge_data: Mapping[str, Mapping[str, ReadRows]]
    notes: tuple[str, ...]

    @property
    def paths(self) -> list[str]:
        """All files."""
        tables = [table.path for of in (self.edges, self.nodes) for tables in of.values() for table in tables]
        data = [*self.node_data.values(), *self.edge_data.values()]
        return tables + [path for of_type in data for rows in of_type.values() for path in rows.paths]


def open_inputs(
    connection: duckdb.DuckDBPyConnection,
    directory: Path,
    options: ReadOptions,
    *,
    edges: Mapping[str, Paths],
    nodes: Mapping[str, tuple[Paths, str]],
    num_nodes: Mapping[str, int],
    node_data: FeaturePaths,
    edge_data: FeaturePaths,
) -> Inputs:
    """Find and open all files; `nodes` are paths and the column of IDs, empty for the first, by node type.

    What npz files hold is unpacked into the directory.
    """
    _check_types(edges, nodes, num_nodes, options)
    notes: list[str] = []

    def open_tables(paths: Paths, wanted: Sequence[str], num_ids: int) -> tuple[Table, ...]:
        found = expand_paths(paths, "--edges" if num_ids == 2 else "--nodes")
        return tuple(open_table(connection, path, directory, wanted, options, num_ids, notes) for path in found)

    wanted = [*(options.columns or ("", "")), *options.edge_columns]
    tables = {etype: open_tables(edges[etype], wanted, 2) for etype in sorted(edges)}
    lists = {ntype: open_tables(paths, [column], 1) for ntype, (paths, column) in sorted(nodes.items())}
    ntypes = sorted({end for etype in tables for end in etype.split(":")[::2]} | set(lists) | set(num_nodes))
    inputs = Inputs(
        options,
        tables,
        lists,
        {ntype: num_nodes.get(ntype) for ntype in ntypes},
        _open_features(node_data, ntypes, "--node-data"),
        _open_features(edge_data, list(tables), "--edge-data"),
        tuple(notes),
    )
    _check_names(inputs)
    known = {name: _known_rows(found) for name, found in (*tables.items(), *lists.items())}
    check_feature_rows(inputs, {**inputs.num_nodes, **known})
    return inputs


def kinds_of_ids(inputs: Inputs) -> dict[str, tuple[str, str]]:
    """Tell for each node type whether its IDs are integers or strings, and how that is known, for messages.

    Types of columns and first rows of text tell it, if nobody has said.
    """
    options = inputs.options
    if not options.map_ids or options.id_type == "string":
        return dict.fromkeys(
            inputs.num_nodes, (STRINGS, "text") if options.map_ids else (INTEGERS, "an integer from 0")
        )
    kinds = dict.fromkeys(inputs.num_nodes, (INTEGERS, "an integer of 64 bits"))
    if options.id_type == "auto":
        ids = [(end, t, i) for e, of in inputs.edges.items() for t in of for i, end in enumerate(e.split(":")[::2])]
        ids += [(ntype, table, 0) for ntype, of in inputs.nodes.items() for table in of]
        for ntype, table, i in reversed(ids):  # the first one counts
            column = table.columns[i]
            if column.kind != NO_IDS:  # text without rows
                kind = STRINGS if column.is_string else INTEGERS
                kinds[ntype] = kind, f"{kind}, as in {table.path}, {column.example}"
    return kinds


def check_feature_rows(inputs: Inputs, counts: Mapping[str, int | None]) -> None:
    """Refuse features in files that have another number of rows than their types, as far as that is known."""
    for type_name, features in (*inputs.node_data.items(), *inputs.edge_data.items()):
        expected = counts.get(type_name)
        for name, rows in features.items():
            if expected in (None, rows.shape[0]):
                continue
            hint = f"say --num-nodes {type_name}={rows.shape[0]} if some nodes have no edges"
            if type_name in (*inputs.edges, *inputs.nodes):
                hint = "one row for each edge, or for each node of the list given to --nodes, in their order"
            elif inputs.options.map_ids:
                hint = "rows are taken in the order of the sorted IDs; --nodes gives another order, and more nodes"
            raise InputFileError(
                f"feature {name!r} of {type_name!r} has a wrong number of rows",
                file=rows.paths[0],
                place=f"and {len(rows.paths) - 1} more files" if len(rows.paths) > 1 else None,
                expected=f"{expected:,} rows",
                found=f"{rows.shape[0]:,}",
                hint=hint,
            )


def _check_types(
    edges: Mapping[str, Paths],
    nodes: Mapping[str, tuple[Paths, str]],
    num_nodes: Mapping[str, int],
    options: ReadOptions,
) -> None:
    if not edges:
        raise OptionError("no edges", place="--edges", expected="files of edges")
    for etype in edges:
        if etype.count(":") != 2:
            raise OptionError("not an edge type", place="--edges", expected="SRC:REL:DST", found=etype)
    for name in [part for etype in edges for part in etype.split(":")] + [*nodes, *num_nodes]:
        check_name(name, "type", OptionError)
    if nodes and not options.map_ids:
        what = "lists of nodes are of use only for IDs that are mapped"
        raise OptionError(what, place="--nodes", hint="use --map-ids")
    if num_nodes and options.map_ids:
        what = "the number of nodes follows from the IDs when they are mapped"
        raise OptionError(what, place="--num-nodes", hint="leave it out; --nodes gives further nodes")
    for ntype, count in num_nodes.items():
        if count < 0:
            raise OptionError("impossible number of nodes", place=f"--num-nodes {ntype}", found=count)


def _open_features(data: FeaturePaths, known: Sequence[str], place: str) -> dict[str, dict[str, ReadRows]]:
    for type_name in data:
        if type_name not in known:
            raise OptionError("unknown type", place=place, expected=f"one of {', '.join(known)}", found=type_name)
    return {
        type_name: {name: file_rows(name, expand_paths(paths, place), place) for name, paths in features.items()}
        for type_name, features in sorted(data.items())
    }


def _check_names(inputs: Inputs) -> None:
    """Refuse columns that cannot be features, and a feature that comes both from a column and from files."""
    for etype, tables in inputs.edges.items():
        for path, column in ((table.path, column) for table in tables for column in table.columns[2:]):
            try:
                DataSpec(column.name, column.dtype or np.dtype(np.float64))
            except MetadataError as error:
                what, expected, found = error.what, error.expected, error.found
                raise InputFileError(what, file=path, expected=expected, found=found, hint=error.hint) from None
            if column.name in inputs.edge_data.get(etype, {}):
                what = f"feature {column.name!r} of {etype!r} is given twice"
                raise OptionError(what, place="--edge-data", hint="remove one")


def _known_rows(tables: Sequence[Table]) -> int | None:
    """Number of rows of all tables; text tells none."""
    counts = [table.num_rows for table in tables if table.num_rows is not None]
    return sum(counts) if len(counts) == len(tables) else None
