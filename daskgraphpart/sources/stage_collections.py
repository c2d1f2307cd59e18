"""Pass `stage-collections`: compute the partitions of dask frames and arrays once each, into npy files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.rows import edge_rows, joined_rows
from daskgraphpart.chunked.write_graph import GraphRows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import GraphPartError, InputFileError, OptionError
from daskgraphpart.sources.arrays import as_array, as_ids
from daskgraphpart.sources.graph_source import LazyRows
from daskgraphpart.storage.region import npy_region, save_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.graph_source import GraphSource
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class StageColumn:
    """A column of a partition that is wanted (None: all of it), and its file."""

    what: str
    column: Any
    is_ids: bool
    path: str


def stage_collections(source: GraphSource, directory: Path, runner: Runner) -> dict[LazyRows, Rows]:
    """Compute all that is lazy, as much at a time as there are tasks."""
    collections: dict[int, list[LazyRows]] = {}
    for lazy in source.rows:
        if isinstance(lazy, LazyRows):
            collections.setdefault(id(lazy.collection), []).append(lazy)
    lengths: list[int] = []
    units, partitions = [], []
    for columns in collections.values():
        of_collection = _partitions(columns[0].collection)
        for i in range(len(of_collection)):
            path = str(directory / f"{len(lengths)}-{i}")
            wanted = [(f"{lazy.what}, partition {i}", lazy.column, lazy.is_ids) for lazy in columns]
            units.append([StageColumn(*column, f"{path}-{j}.npy") for j, column in enumerate(wanted)])
        partitions += of_collection
        lengths.append(len(of_collection))
    staging = Pass("stage-collections", stage_partition, units, None, [1] * len(units), partitions=partitions)
    results = iter(computed(runner, staging))
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


def stage_partition(value: Any, columns: Sequence[StageColumn], _: None) -> list[Region]:
    """Write the wanted columns of one partition."""
    regions = []
    for wanted in columns:
        rows = value if wanted.column is None else value[wanted.column]
        rows = as_ids(rows, wanted.what) if wanted.is_ids else as_array(rows, wanted.what)
        if rows.dtype.kind not in "biuf":
            what, hint = f"{wanted.what}: not numbers", "leave it out, or turn it into numbers"
            raise OptionError(what, expected="integers, floats or bools", found=rows.dtype, hint=hint)
        save_npy(wanted.path, rows)
        regions.append(npy_region(wanted.path, rows.dtype, rows.shape))
    return regions


def with_staged(source: GraphSource, name: str, staged: Mapping[LazyRows, Rows]) -> GraphRows:
    """Put what was staged in the place of what was lazy."""
    edges: dict[str, Rows] = {}
    for etype, pair in source.edges.items():
        src, dst = (staged.get(rows, rows) for rows in pair)
        if src.shape[0] != dst.shape[0]:
            found = [src.shape[0], dst.shape[0]]
            raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=found)
        edges[etype] = edge_rows(src, dst)
    data = {of: {n: staged.get(rows, rows) for n, rows in features.items()} for of, features in source.data.items()}
    return GraphRows(name, source.num_nodes, edges, data)


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
    return joined_rows([region for region in regions if region.num_rows] or [regions[0]])
