"""Passes `stage-collections` and `stage-frames`: compute dask collections into npy files, write frames as tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.rows import EdgeEnds, JoinedRows, array_rows
from daskgraphpart.engine.runner import Input, Pass, Runner, Unit
from daskgraphpart.errors import GraphPartError, InputFileError, OptionError, check_choice
from daskgraphpart.sources.describe import by_type, count_nodes, pair_of
from daskgraphpart.sources.graph_source import HOMOGENEOUS_EDGES, LazyRows, as_array, as_ids, canonical_name, paths_in
from daskgraphpart.sources.table_files import TableFile
from daskgraphpart.storage.region import Region, npy_region, save_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.chunked.sources import Rows
    from daskgraphpart.sources.graph_source import GraphSource
    from daskgraphpart.sources.options import GraphChanges, ReadOptions


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A column of a partition that is wanted (None: all of it), and its file."""

    what: str
    column: Any
    is_ids: bool
    path: str


@dataclass(frozen=True, slots=True)
class StageUnit:
    """One partition of a collection, and the columns that are wanted of it."""

    block: Input[Any]
    columns: tuple[StageColumn, ...]


@dataclass(frozen=True, slots=True)
class FrameUnit:
    """One partition of a frame, what it is, and the file it is written to."""

    block: Input[Any]
    what: str
    path: str


def as_it_is(value: Any) -> Any:
    """Return the value of a partition."""
    return value


def stage_collections(source: GraphSource, directory: Path, runner: Runner) -> dict[LazyRows, Rows]:
    """Compute all that is lazy, as much at a time as there are tasks."""
    collections: dict[int, list[LazyRows]] = {}
    for lazy in source.rows:
        if isinstance(lazy, LazyRows):
            collections.setdefault(id(lazy.collection), []).append(lazy)
    lengths: list[int] = []
    units = []
    for columns in collections.values():
        of_collection = _partitions(columns[0].collection)
        for i, partition in enumerate(of_collection):
            path = str(directory / f"{len(lengths)}-{i}")
            wanted = [(f"{lazy.what}, partition {i}", lazy.column, lazy.is_ids) for lazy in columns]
            staged_columns = tuple(StageColumn(*column, f"{path}-{j}.npy") for j, column in enumerate(wanted))
            units.append(Unit(StageUnit(Input(as_it_is, partition), staged_columns), 1))
        lengths.append(len(of_collection))
    results = iter(computed(runner, Pass("stage-collections", stage_partition, units, None)))
    staged: dict[LazyRows, Rows] = {}
    for columns, length in zip(collections.values(), lengths, strict=True):
        regions = zip(*(next(results) for _ in range(length)), strict=True)
        staged |= {lazy: _joined(lazy.what, of_column) for lazy, of_column in zip(columns, regions, strict=True)}
    return staged


def computed(runner: Runner, staging: Pass[Any, None, Any]) -> list[Any]:
    """Run a pass over partitions of dask; whatever the user's own functions raise is one error."""
    try:
        return runner.run(staging)
    except (GraphPartError, MemoryError, OSError):
        raise
    except Exception as fault:
        found = f"{type(fault).__name__}: {str(fault)[:300]}"
        raise OptionError("a dask collection cannot be computed", found=found) from fault


def stage_partition(unit: StageUnit, _: None) -> list[Region]:
    """Write the wanted columns of one partition."""
    value, regions = unit.block.read(), []
    for wanted in unit.columns:
        rows = value if wanted.column is None else value[wanted.column]
        rows = as_ids(rows, wanted.what) if wanted.is_ids else as_array(rows, wanted.what)
        if rows.dtype.kind not in "biuf":
            what, hint = f"{wanted.what}: not numbers", "leave it out, or turn it into numbers"
            raise OptionError(what, expected="integers, floats or bools", found=rows.dtype, hint=hint)
        save_npy(wanted.path, rows)
        regions.append(npy_region(wanted.path, rows.dtype, rows.shape))
    return regions


def with_staged(
    source: GraphSource, staged: Mapping[LazyRows, Rows]
) -> tuple[dict[str, Rows], dict[str, dict[str, Rows]]]:
    """Put what was staged in the place of what was lazy: edges, and features by type."""
    edges: dict[str, Rows] = {}
    for etype, pair in source.edges.items():
        src, dst = (staged.get(rows, rows) for rows in pair)
        if src.shape[0] != dst.shape[0]:
            found = [src.shape[0], dst.shape[0]]
            raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=found)
        edges[etype] = EdgeEnds(src, dst)
    data = {of: {n: staged.get(rows, rows) for n, rows in features.items()} for of, features in source.data.items()}
    return edges, data


def _partitions(collection: Any) -> list[Any]:
    """Delayed partitions of a frame, or of an array in blocks of whole rows."""
    if any(len(chunks) > 1 for chunks in getattr(collection, "chunks", ())[1:]):
        collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
    partitions = collection.to_delayed()
    return partitions if isinstance(partitions, list) else partitions.reshape(-1).tolist()


def _joined(what: str, regions: Sequence[Region]) -> Rows:
    shapes = {(region.dtype, region.shape[1:]) for region in regions if region.num_rows}
    if len(shapes) > 1:
        found = ", ".join(sorted(f"{dtype.name}{list(shape)}" for dtype, shape in shapes))
        raise InputFileError(f"partitions of {what} differ in dtype or shape", expected="one", found=found)
    return JoinedRows(tuple(region for region in regions if region.num_rows) or (regions[0],))


def is_frame(value: Any) -> bool:
    """Whether something is a frame of pandas or dask."""
    return hasattr(value, "columns") and hasattr(value, "dtypes")


def is_split_by_text(graph: Any, changes: GraphChanges) -> bool:
    """Whether edges in frames are split by a column that is not of numbers."""
    frames = graph if isinstance(graph, Mapping) else {HOMOGENEOUS_EDGES: graph}
    columns = [
        (frame, changes.split_column(canonical_name(etype))) for etype, frame in frames.items() if is_frame(frame)
    ]
    return any(name in frame.columns and frame.dtypes[name].kind not in "biuf" for frame, name in columns)


@dataclass(frozen=True, slots=True, eq=False)
class FrameStage:
    """Where frames are written, how they will be read, and what computes those of dask."""

    directory: Path
    options: ReadOptions
    runner: Runner

    def tables(self, graph: Any, num_nodes: Any, node_data: Any, edge_data: Any) -> dict[str, Any]:
        """Write all frames; return what `open_inputs` takes."""
        edges = self.edges(graph)
        ntypes = list(dict.fromkeys(end for etype in edges for end in etype.split(":")[::2]))
        data: dict[str, Any] = {ntype: table for ntype, table in (node_data or {}).items() if is_frame(table)}
        for ntype in data:
            check_choice("node type", "ndata_paths", ntype, ntypes)
        data |= by_type({key: rows for key, rows in (node_data or {}).items() if key not in data}, ntypes, "node")
        lists, features = self.nodes(data)
        of_edges = {
            etype: {name: self.rows(rows, f"{etype}/{name}") for name, rows in of_type.items()}
            for etype, of_type in by_type(edge_data, list(edges), "edge").items()
        }
        counts = count_nodes(dict.fromkeys(ntypes), num_nodes)
        return {
            "edges": edges,
            "nodes": lists,
            "num_nodes": {ntype: count for ntype, count in counts.items() if count is not None},
            "node_data": features,
            "edge_data": of_edges,
            "masks": {},
        }

    def edges(self, graph: Any) -> dict[str, list[TableFile]]:
        """Write frames, or pairs of arrays, of edges; columns that are not IDs become features."""
        graph = graph if isinstance(graph, Mapping) else {HOMOGENEOUS_EDGES: graph}
        found = {}
        for key, value in graph.items():
            etype = canonical_name(key)
            what = f"edges of type {etype!r}"
            frame = value if is_frame(value) else _frame_of_pair(value, what)
            names = [str(name) for name in frame.columns]
            if len(names) < 2:
                raise OptionError(f"{what}: not a frame of edges", expected="columns src and dst", found=names)
            ends = ("src", "dst") if {"src", "dst"} <= set(names) else tuple(names[:2])
            options = replace(self.options, columns=ends, edge_columns=tuple(n for n in names if n not in ends))
            found[etype] = [replace(file, options=options) for file in self.write(frame, what)]
        return found

    def nodes(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Write tables of nodes: files of the lists of nodes, and of features, by node type.

        A frame has IDs in its column `id`, or else the first; ``{name: rows}`` is in the order of IDs.
        """
        lists: dict[str, Any] = {}
        features: dict[str, dict[str, Any]] = {}
        for ntype, value in data.items():
            if not is_frame(value):
                features[ntype] = {name: self.rows(rows, f"{ntype}-{name}") for name, rows in value.items()}
                continue
            names = [str(name) for name in value.columns]
            own = "id" if "id" in names else names[0]
            files = self.write(value, f"table of {ntype!r} nodes")
            lists[ntype] = [replace(file, columns=(own,)) for file in files]
            features[ntype] = {
                name: [replace(file, columns=(own, name)) for file in files] for name in names if name != own
            }
        return lists, features

    def rows(self, rows: Any, name: str) -> Any:
        """Return the paths of a feature, or the rows of an array."""
        if (paths := paths_in(rows)) is not None:
            return paths
        if hasattr(rows, "dask"):
            hint = "make it a column of the frame of its nodes or edges"
            raise OptionError(
                f"{name}: an array of dask beside IDs that are mapped", expected="an array or paths", hint=hint
            )
        return array_rows(as_array(rows, name))

    def write(self, frame: Any, what: str) -> list[TableFile]:
        """Write a frame, a file for each partition."""
        where = self.directory / f"frame-{len(os.listdir(self.directory))}"
        where.mkdir()
        if not hasattr(frame, "npartitions"):
            write_frame(FrameUnit(Input(as_it_is, frame), what, str(where / "0")), None)
            return [TableFile(what, self.options, content=str(where / "0"))]
        works = [
            FrameUnit(Input(as_it_is, partition), f"{what}, partition {i}", str(where / str(i)))
            for i, partition in enumerate(frame.to_delayed())
        ]
        computed(self.runner, Pass("stage-frames", write_frame, [Unit(work, 1) for work in works], None))
        return [TableFile(work.what, self.options, content=work.path) for work in works]


def write_frame(unit: FrameUnit, _: None) -> None:
    """Write a frame of pandas."""
    import pyarrow as pa  # a job without frames does without it
    from pyarrow import parquet

    try:
        table = pa.Table.from_pandas(unit.block.read(), preserve_index=False)
        parquet.write_table(table, unit.path, row_group_size=1 << 16, compression="lz4")
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as fault:
        hint = "each column holds values of one kind"
        raise OptionError(f"{unit.what}: not a table", found=str(fault)[:200], hint=hint) from fault


def _frame_of_pair(value: Any, what: str) -> Any:
    import pandas as pd

    ends = [as_array(end, what) for end in pair_of(value, what)]
    if len(ends[0]) != len(ends[1]):
        raise OptionError(f"{what}: not as many sources as destinations", found=[len(end) for end in ends])
    return pd.DataFrame({"src": ends[0], "dst": ends[1]})
