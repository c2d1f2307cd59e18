"""Pass `stage-frames`: write frames and pairs of arrays, in memory or in collections of dask, as parquet tables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.graph.dask_sources import return_unchanged, run_collections
from daskgraphpart.graph.rows import array_rows
from daskgraphpart.graph.transforms.check_changes import split_column
from daskgraphpart.readers.names_of_ends import ENDS, ID, index_as_ends, index_as_ids, known_id
from daskgraphpart.readers.object_values import as_array
from daskgraphpart.readers.tables.describe.split_sets import EXPECTED
from daskgraphpart.readers.tables.describe.table_files import TableFile, are_files
from daskgraphpart.readers.tables.describe.table_words import EVERY_COLUMN, takes_each
from daskgraphpart.readers.tables.read_options import SPLIT
from daskgraphpart.readers.tabular import (
    ById,
    are_paths,
    as_pandas,
    as_table,
    column_names,
    ends_of,
    find_ids,
    ids_of_mask,
    is_frame,
    is_lazy,
    is_numeric,
    is_series,
    pair_of,
    parquet_schema,
    without_ids,
)
from daskgraphpart.readers.type_names import canonical_name, ends_of_types, name_types
from daskgraphpart.schema import DEFAULT_ETYPE, by_plain_name
from daskgraphpart.source import Input, Source
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import local_copy

if TYPE_CHECKING:
    from daskgraphpart.graph.scan_job import ScanJob
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.readers.tables.read_options import ReadOptions, Tables

ROWS_PER_GROUP, COLUMN_NBYTES, GROUP_NBYTES = 1 << 16, 8 << 20, 64 << 20
"""Rows of a row group at most, bytes of a column in it, and of all of it."""
_TEXT_OF_VECTOR = re.compile(r"\[\s*[-+]?[\d.][^\]\"'a-df-zA-DF-Z]*\]")


@dataclass(frozen=True, slots=True)
class FrameUnit:
    """One dask partition of a frame, its name, and its file."""

    block: Input[Any]
    what: str
    path: str
    is_of_dask: bool = False


def is_split_by_text(graph: Any, changes: GraphChanges) -> bool:
    """Whether edges in tables are split by a column that does not hold numbers."""
    tables = graph if isinstance(graph, Mapping) else {DEFAULT_ETYPE: graph}
    for etype, table in tables.items() if changes.edge_types_from else ():
        column = split_column(changes, canonical_name(etype))
        frame = as_table(table, f"edges of type {etype!r}")
        if column is not None and is_frame(frame) and column in column_names(frame) and not is_numeric(frame, column):
            return True
    return False


def named_tables(
    edges: Any,
    nodes: Mapping[str, Any],
    node_data: Mapping[str, Any],
    edge_data: Mapping[str, Any],
    masks: Mapping[str, Any] | None = None,
    split: Mapping[str, Any] | None = None,
    *,
    are_mapped: bool = True,
    ends: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Name types as in files, and turn arrays into rows; tables stay, with the columns of their IDs."""
    edges = edges if isinstance(edges, Mapping) else {DEFAULT_ETYPE: edges}
    etypes = [canonical_name(etype) if not isinstance(etype, str) else etype for etype in edges]
    with_ends = partial(index_as_ends, ends=ends or ENDS)
    edges = {etype: as_table(table, f"edges of type {etype!r}", with_ends) for etype, table in edges.items()}
    nodes = {ntype: as_table(table, f"table of {ntype!r} nodes", index_as_ids) for ntype, table in nodes.items()}
    whole_tables = {*ends_of_types(etypes), *nodes}
    node_data = {
        key: as_table(table, f"node data {key!r}", index_as_ids if key in whole_tables else None)
        for key, table in node_data.items()
    }
    frames = {ntype: table for ntype, table in node_data.items() if is_frame(table)}
    ntypes = [*dict.fromkeys([*ends_of_types(etypes), *nodes])]
    for ntype in frames:
        check_choice("node type", "ndata_paths", ntype, ntypes)
    whole, of_edges = (
        {of: {EVERY_COLUMN: table} for of, table in data.items() if of in types and takes_each(table)}
        for types, data in ((ntypes, node_data), (etypes, edge_data))
    )
    beside = {key: rows for key, rows in node_data.items() if key not in (*frames, *whole)}
    beside_edges = {key: rows for key, rows in edge_data.items() if key not in of_edges}
    beside = whole | name_types(beside, ntypes, "node")
    return {
        "edges": dict(zip(etypes, edges.values(), strict=True)),
        "nodes": {**nodes, **frames},
        "node_data": {
            of: {name: _of_nodes(rows, name, f"{of}/{name}", are_mapped or of in nodes) for name, rows in data.items()}
            for of, data in beside.items()
        },
        "edge_data": {
            of: {name: _by_row(rows, f"{of}/{name}") for name, rows in data.items()}
            for of, data in (of_edges | name_types(beside_edges, etypes, "edge")).items()
        },
        "masks": {
            of: {name: _of_mask(ids, f"mask {of}/{name}") for name, ids in data.items()}
            for of, data in name_types(masks or {}, ntypes, "node").items()
        },
        "split": {of: _of_split(words, f"split of {of!r} nodes", are_mapped) for of, words in (split or {}).items()},
    }


def _of_nodes(rows: Any, name: str, what: str, needs_ids: bool) -> Any:
    """Return a feature of nodes with the IDs of its rows, if it has any; rows of arrays are in the order of nodes."""
    rows = as_table(rows, what)
    if isinstance(rows, (Source, ById)) or are_files(rows):
        return rows
    with_ids = find_ids(rows, name, what)
    if with_ids is None and needs_ids and (is_frame(rows) or is_series(rows)):
        raise without_ids(what)
    return with_ids or _by_row(rows, what)


def _by_row(rows: Any, what: str) -> Any:
    rows = as_pandas(as_table(rows, what))
    if is_lazy(rows):
        text, hint = f"{what}: cannot combine a dask array with tables", "make it a column of a frame"
        raise OptionError(text, expected="an array or paths", hint=hint)
    return rows if are_files(rows) or isinstance(rows, Source) else array_rows(as_array(rows, what))


def _of_split(words: Any, what: str, are_mapped: bool) -> Any:
    """Return the words of sets with the IDs of their nodes; without any, they are in the order of nodes from 0."""
    if are_files(words) and (isinstance(words, str) or are_paths(words)):
        return words
    table = words if isinstance(words, (list, ById)) else as_table(words, what)
    with_ids = table if isinstance(table, ById) else find_ids(table, SPLIT, what)
    if with_ids is not None:
        return with_ids
    if are_mapped or is_frame(table):
        expected = "IDs in a column id, or as the index (set_index)"
        raise OptionError(f"{what}: nothing says which node a row belongs to", expected=expected)
    import pyarrow as pa  # slow to import

    try:
        values = pa.array(np.asarray(table, object), pa.string(), from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError) as fault:
        raise OptionError(f"{what}: not the names of sets", expected=EXPECTED, found=str(fault)[:200]) from fault
    return ById(pa.table({ID: np.arange(len(values)), SPLIT: values}), ID, SPLIT)


def _of_mask(ids: Any, what: str) -> Any:
    is_known = isinstance(ids, (ById, Source)) or (are_files(ids) and are_paths(ids))
    return ids if is_known else ids_of_mask(ids, what)


def write_frames(tables: Tables, options: ReadOptions, job: ScanJob) -> Tables:
    """Return the same tables, all in files of this machine."""
    stage = _Stage(job, options)
    data = {of: {n: stage.by_id(v, f"{of}/{n}") for n, v in by.items()} for of, by in tables.node_data.items()}
    masks = {of: {n: stage.by_id(v, f"mask {of}/{n}") for n, v in by.items()} for of, by in tables.masks.items()}
    lists, features = dict(tables.nodes), data
    for ntype, frame in tables.nodes.items():
        if is_frame(frame):
            lists[ntype], columns = stage.nodes(ntype, frame)
            features[ntype] = columns | features.get(ntype, {})
    given = tables.edges.items()
    edges = {etype: value if are_files(value) else stage.edges(etype, value) for etype, value in given}
    split = {of: stage.by_id(words, f"split of {of!r} nodes") for of, words in tables.split.items()}
    return replace(tables, edges=edges, nodes=lists, node_data=features, masks=masks, split=split)


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """Where to write frames and what computes dask's, and how to read them."""

    job: ScanJob
    options: ReadOptions

    def edges(self, etype: str, given: Any) -> list[TableFile]:
        """Write a frame, or pair of arrays, of edges; other columns become features."""
        what = f"edges of type {etype!r}"
        frame = given if is_frame(given) else _frame_of_pair(given, what)
        names = column_names(frame)
        if len(names) < 2:
            raise OptionError(f"{what}: not a frame of edges", expected="columns src and dst", found=names)
        ends = self.options.endpoints or ends_of(names, etype, self.options.columns_of(etype))
        others = self.options.columns_of(etype) or tuple(name for name in names if name not in ends)
        options = replace(self.options, endpoints=ends, edge_features={etype: others})
        return [replace(file, options=options) for file in self.write(frame, what)]

    def nodes(self, ntype: str, frame: Any) -> tuple[list[TableFile], dict[str, list[TableFile]]]:
        """Write a table of nodes: IDs in column `id` or the first, features in the others."""
        names = column_names(frame)
        own = names[known_id(names) or 0]
        files = self.write(frame, f"table of {ntype!r} nodes")
        named = by_plain_name((name for name in names if name != own), "columns")
        columns = {feature: [replace(file, columns=(own, name)) for file in files] for feature, name in named.items()}
        return [replace(file, columns=(own,)) for file in files], columns

    def by_id(self, given: Any, what: str) -> Any:
        """Write a table of IDs, or of IDs and a feature; anything else stays."""
        if not isinstance(given, ById):
            return given
        columns = (given.key, given.name) if given.name else (given.key,)
        return [replace(file, columns=columns) for file in self.write(given.table, what)]

    def write(self, frame: Any, what: str) -> list[TableFile]:
        """Write a frame, one file per partition."""
        name = f"frame-{len(os.listdir(self.job.directory))}"
        (self.job.directory / name).mkdir()
        if not is_lazy(frame):
            path = f"{self.job.directory}/{name}/0"
            write_frame(FrameUnit(Input(return_unchanged, frame), what, path), None)
            return [TableFile(what, self.options, content=path)]
        works = [
            FrameUnit(
                Input(return_unchanged, partition), f"{what}, partition {i}", f"{self.job.shared}/{name}/{i}", True
            )
            for i, partition in enumerate(frame.to_delayed())
        ]
        run_collections(self.job.runner, Pass("stage-frames", write_frame, [Unit(work, 1) for work in works], None))
        return [TableFile(work.what, self.options, content=local_copy(work.path)) for work in works]


def write_frame(unit: FrameUnit, _: None) -> None:
    """Write a frame of pandas."""
    import pyarrow as pa  # slow to import
    from pyarrow import parquet

    try:
        frame = unit.block.read()
        table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
        table = table.cast(parquet_schema(table.schema))
        if unit.is_of_dask:
            _refuse_texts_of_vectors(table, unit.what)
        rows = _rows_per_group(table)
        with whole_file(unit.path) as temporary:
            # pyarrow looks at the size of a page after each of its own batches
            parquet.write_table(
                table, temporary, row_group_size=rows, write_batch_size=min(rows, 1000), compression="lz4"
            )
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as fault:
        hint = "each column holds values of one kind"
        raise OptionError(f"{unit.what}: not a table", found=str(fault)[:200], hint=hint) from fault


def _rows_per_group(table: Any) -> int:
    """Return how many rows to write together: of a wide column, few, as readers hold a part of each."""
    widest = max((column.nbytes for column in table.columns), default=0) / max(1, table.num_rows)
    row_nbytes = table.nbytes / max(1, table.num_rows)
    fitting = min(COLUMN_NBYTES / max(1, widest), GROUP_NBYTES / max(1, row_nbytes))
    return max(1, min(ROWS_PER_GROUP, int(fitting)))


def _refuse_texts_of_vectors(table: Any, what: str) -> None:
    """Refuse columns of arrays that dask has made text of, as it does unless told otherwise."""
    for name in table.column_names:
        column = table[name]
        text = column[0].as_py() if len(column) else None
        if isinstance(text, str) and _TEXT_OF_VECTOR.fullmatch(text):
            hint = (
                "dask makes text of arrays: make the frame under dask.config.set({'dataframe.convert-string': False})"
            )
            raise OptionError(
                f"{what}: column {name!r} holds text", expected="vectors", found=repr(text[:60]), hint=hint
            )


def _frame_of_pair(value: Any, what: str) -> Any:
    import pandas as pd

    ends = [as_array(end, what) for end in pair_of(value, what)]
    if len(ends[0]) != len(ends[1]):
        raise OptionError(f"{what}: not as many sources as destinations", found=[len(end) for end in ends])
    return pd.DataFrame({"src": ends[0], "dst": ends[1]})
