"""What is to be chunked: all files found and opened, everything checked that headers can tell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.chunked.headers import feature_files
from daskgraphpart.chunked.metadata import Files
from daskgraphpart.chunking.edge_lists.open_files import expand_paths, open_table
from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.schema import DataSpec, check_name

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import InputFile
    from daskgraphpart.chunking.edge_lists.options import ReadOptions
    from daskgraphpart.chunking.edge_lists.tables import TableFile

Paths: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
FeaturePaths: TypeAlias = Mapping[str, Mapping[str, Paths]]

DEFAULT_EDGE_TYPE = "_N:_E:_N"


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature in files of its own."""

    spec: DataSpec
    files: tuple[InputFile, ...]

    @property
    def num_rows(self) -> int:
        """Rows of all files."""
        return sum(file.num_rows or 0 for file in self.files)


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that is read.

    Parameters
    ----------
    edges : mapping of str to tuple of TableFile
        By canonical edge type, in sorted order.
    nodes : mapping of str to tuple of TableFile
        Lists of nodes, by node type.
    num_nodes : mapping of str to int
        Numbers of nodes that were given.
    node_data, edge_data : mapping of str to mapping of str to Feature
        By type and name.
    notes : tuple of str
        What was guessed.
    """

    edges: Mapping[str, tuple[TableFile, ...]]
    nodes: Mapping[str, tuple[TableFile, ...]]
    num_nodes: Mapping[str, int]
    node_data: Mapping[str, Mapping[str, Feature]]
    edge_data: Mapping[str, Mapping[str, Feature]]
    notes: tuple[str, ...]

    @property
    def ntypes(self) -> list[str]:
        """All node types, sorted."""
        ends = {end for etype in self.edges for end in ends_of(etype)}
        return sorted(ends | set(self.nodes) | set(self.num_nodes))

    @property
    def paths(self) -> list[str]:
        """All files."""
        tables = [table.path for of in (self.edges, self.nodes) for tables in of.values() for table in tables]
        data = [*self.node_data.values(), *self.edge_data.values()]
        return tables + [file.path for of_type in data for feature in of_type.values() for file in feature.files]


def ends_of(etype: str) -> tuple[str, str]:
    """Types of sources and destinations of a canonical edge type."""
    src, _, dst = etype.split(":")
    return src, dst


def open_inputs(
    edges: Mapping[str, Paths],
    nodes: Mapping[str, tuple[Paths, str]],
    num_nodes: Mapping[str, int],
    node_data: FeaturePaths,
    edge_data: FeaturePaths,
    options: ReadOptions,
) -> Inputs:
    """Find and open all files.

    Parameters
    ----------
    edges : mapping of str to paths
        By canonical edge type.
    nodes : mapping of str to (paths, str)
        Lists of nodes and the column of IDs, empty for the first, by node type.
    num_nodes : mapping of str to int
        By node type.
    node_data, edge_data : mapping of str to mapping of str to paths
        By type and feature.
    options : ReadOptions
        How text is read.

    Returns
    -------
    Inputs

    Raises
    ------
    OptionError
        If types are unknown or options contradict each other.
    InputFileError
        If a file is missing, empty or not what it should be.
    """
    _check_types(edges, nodes, num_nodes, options)
    notes: list[str] = []
    wanted = [*(options.columns or ("", "")), *options.edge_columns]
    tables = {etype: _open_tables(edges[etype], wanted, options, 2, notes) for etype in sorted(edges)}
    for etype, of_type in tables.items():
        _check_edge_columns(etype, of_type, len(options.edge_columns))
    lists = {
        ntype: _open_tables(paths, [column], replace(options, columns=()), 1, notes)
        for ntype, (paths, column) in sorted(nodes.items())
    }
    inputs = Inputs(tables, lists, dict(num_nodes), {}, {}, tuple(notes))
    found = replace(
        inputs,
        node_data=_open_features(node_data, inputs.ntypes, "--node-data"),
        edge_data=_open_features(edge_data, list(tables), "--edge-data"),
    )
    _check_names(found)
    _check_known_rows(found, options)
    return found


def as_paths(paths: Paths) -> list[str | os.PathLike[str]]:
    """Paths as a list, if they are one or many."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def check_rows(feature: Feature, type_name: str, expected: int, hint: str) -> None:
    """Refuse a feature with another number of rows than its type.

    Raises
    ------
    InputFileError
        Then.
    """
    if feature.num_rows != expected:
        raise InputFileError(
            f"feature {feature.spec.name!r} of {type_name!r} has a wrong number of rows",
            file=feature.files[0].path,
            place=f"and {len(feature.files) - 1} more files" if len(feature.files) > 1 else None,
            expected=f"{expected:,} rows",
            found=f"{feature.num_rows:,}",
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
    try:
        for name in [part for etype in edges for part in etype.split(":")] + [*nodes, *num_nodes]:
            check_name(name, "type")
    except MetadataError as error:
        raise OptionError(error.what, expected=error.expected, hint=error.hint) from None
    if nodes and not options.map_ids:
        raise OptionError(
            "lists of nodes are of use only for IDs that are mapped", place="--nodes", hint="use --map-ids"
        )
    if num_nodes and options.map_ids:
        raise OptionError(
            "the number of nodes follows from the IDs when they are mapped",
            place="--num-nodes",
            hint="leave it out; --nodes gives further nodes",
        )
    for ntype, count in num_nodes.items():
        if count < 0:
            raise OptionError("impossible number of nodes", place=f"--num-nodes {ntype}", found=count)


def _open_tables(
    paths: Paths, wanted: Sequence[str], options: ReadOptions, num_default: int, notes: list[str]
) -> tuple[TableFile, ...]:
    tables = []
    for path in expand_paths(as_paths(paths)):
        table, note = open_table(os.path.abspath(path), wanted, options, num_default)
        tables.append(table)
        notes += [note] if note else []
    if not tables:
        raise OptionError("no files", place="--edges" if num_default > 1 else "--nodes")
    return tuple(tables)


def _check_edge_columns(etype: str, tables: Sequence[TableFile], count: int) -> None:
    """Refuse columns that files of one edge type call differently, or store in several dtypes."""
    for number in range(len(tables[0].columns) - count, len(tables[0].columns)):
        described = [(table, table.columns[number]) for table in tables]
        known = [(table, column) for table, column in described if column.dtype is not None]
        for table, column in known[1:]:
            first_table, first = known[0]
            if (column.dtype, column.row_shape) != (first.dtype, first.row_shape):
                raise InputFileError(
                    f"column {column.name!r} of edge type {etype!r} differs between files",
                    file=table.path,
                    expected=f"{first.dtype} rows of shape {first.row_shape}, as in {first_table.path}",
                    found=f"{column.dtype} rows of shape {column.row_shape}",
                )
        for table, column in known:
            assert column.dtype is not None
            checked_spec(column.name, column.dtype, column.row_shape, table.path)


def checked_spec(name: str, dtype: object, row_shape: tuple[int, ...], path: str) -> DataSpec:
    """Describe a feature; an error names the file."""
    import numpy as np

    try:
        return DataSpec(name, np.dtype(dtype), row_shape)  # type: ignore[call-overload]
    except MetadataError as error:
        raise InputFileError(
            error.what, file=path, expected=error.expected, found=error.found, hint=error.hint
        ) from None


def _open_features(data: FeaturePaths, known: Sequence[str], place: str) -> dict[str, dict[str, Feature]]:
    found: dict[str, dict[str, Feature]] = {}
    for type_name, features in sorted(data.items()):
        if type_name not in known:
            raise OptionError("unknown type", place=place, expected=f"one of {', '.join(known)}", found=type_name)
        for name, paths in features.items():
            expanded = tuple(os.path.abspath(path) for path in expand_paths(as_paths(paths)))
            forms = {"parquet" if path.lower().endswith((".parquet", ".pq")) else "numpy" for path in expanded}
            if len(forms) != 1:
                raise OptionError(
                    f"files of feature {name!r} have several formats" if forms else f"feature {name!r} has no files",
                    place=place,
                    expected="npy files, or parquet files",
                )
            spec, files = feature_files(name, Files(forms.pop(), "", expanded), place)
            found.setdefault(type_name, {})[name] = Feature(spec, files)
    return found


def _check_names(inputs: Inputs) -> None:
    """Refuse a feature that comes both from a column and from files."""
    for etype, features in inputs.edge_data.items():
        for column in inputs.edges[etype][0].columns[2:]:
            if column.name in features:
                raise OptionError(
                    f"feature {column.name!r} of {etype!r} is given twice", place="--edge-data", hint="remove one"
                )


def _check_known_rows(inputs: Inputs, options: ReadOptions) -> None:
    """Check the rows of features as far as headers tell them."""
    for etype, features in inputs.edge_data.items():
        counts = [table.num_rows for table in inputs.edges[etype]]
        if None not in counts:
            for feature in features.values():
                check_rows(feature, etype, sum(count or 0 for count in counts), "one row for each edge")
    for ntype, nodes in inputs.node_data.items():
        counts = [table.num_rows for table in inputs.nodes.get(ntype, ())]
        for feature in nodes.values():
            if ntype in inputs.num_nodes:
                check_rows(feature, ntype, inputs.num_nodes[ntype], "check --num-nodes")
            elif counts and None not in counts:
                check_rows(feature, ntype, sum(count or 0 for count in counts), "rows follow the list given to --nodes")
