"""Pass `stage-collections`: compute the partitions of dask frames and arrays once each, into npy files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.rows import EdgeRows, JoinedRows
from daskgraphpart.chunked.write_graph import GraphRows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import GraphPartError, InputFileError, OptionError
from daskgraphpart.sources.arrays import as_array, as_ids
from daskgraphpart.sources.graph_source import LazyArray, LazyFrame
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.graph_source import GraphSource


@dataclass(frozen=True, slots=True, eq=False)
class StageUnit:
    """One partition of a frame with the columns that are wanted, or one block of an array."""

    what: str
    columns: Sequence[Any]
    is_ids: bool
    path: str


def collections_in(source: GraphSource) -> Iterator[tuple[str, LazyFrame | LazyArray, bool]]:
    """Yield all that is lazy: its name, the collection, and whether it holds IDs."""
    for etype, edges in source.edges.items():
        if isinstance(edges, LazyFrame):
            yield f"edges of {etype}", edges, True
        else:
            for end, rows in zip(("sources", "destinations"), edges, strict=True):
                if isinstance(rows, LazyArray):
                    yield f"{end} of {etype}", rows, True
    for data in (source.node_data, source.edge_data):
        for type_name, features in data.items():
            for name, rows in features.items():
                if isinstance(rows, LazyArray):
                    yield f"{type_name}/{name}", rows, False


def stage_collections(source: GraphSource, directory: Path, runner: Runner) -> dict[str, list[Rows]]:
    """Compute all that is lazy, as much at a time as there are tasks; return the columns of each collection by name."""
    units = {
        what: list(_units(what, lazy, is_ids, directory / str(number)))
        for number, (what, lazy, is_ids) in enumerate(collections_in(source))
    }
    every = [unit for of_one in units.values() for unit, _ in of_one]
    partitions = [partition for of_one in units.values() for _, partition in of_one]
    staging = Pass("stage-collections", stage_partition, every, None, [1] * len(every), partitions=partitions)
    try:
        results = iter(runner.run(staging))
    except (GraphPartError, MemoryError, OSError):
        raise
    except Exception as fault:  # whatever the user's own functions raise
        found = f"{type(fault).__name__}: {str(fault)[:300]}"
        raise OptionError("a dask collection cannot be computed", found=found) from fault
    return {
        what: [_joined(what, regions) for regions in zip(*(next(results) for _ in of_one), strict=True)]
        for what, of_one in units.items()
    }


def stage_partition(value: Any, unit: StageUnit, _: None) -> list[Region]:
    """Write the columns of one partition."""
    columns = [(f"{unit.what}, column {name!r}", value[name]) for name in unit.columns] or [(unit.what, value)]
    Path(unit.path).parent.mkdir(parents=True, exist_ok=True)
    return [
        _write(f"{unit.path}-{i}.npy", as_ids(column, what).array if unit.is_ids and i < 2 else column, what)
        for i, (what, column) in enumerate(columns)
    ]


def with_staged(source: GraphSource, name: str, staged: Mapping[str, list[Rows]]) -> GraphRows:
    """Put what was staged in the place of what was lazy."""

    def data(of_types: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            kind: {n: staged[f"{kind}/{n}"][0] if isinstance(rows, LazyArray) else rows for n, rows in of.items()}
            for kind, of in of_types.items()
        }

    edges: dict[str, Rows] = {}
    edge_data = data(source.edge_data)
    for etype, given in source.edges.items():
        if isinstance(given, LazyFrame):
            src, dst, *features = staged[f"edges of {etype}"]
            of_type = {str(column): rows for column, rows in zip(given.columns[2:], features, strict=True)}
            twice = sorted(of_type.keys() & edge_data.get(etype, {}).keys())
            if twice:
                raise OptionError("feature is given twice", found=f"{etype}/{twice[0]}", hint="the frame itself has it")
            edge_data[etype] = {**edge_data.get(etype, {}), **of_type}
        else:
            src, dst = (
                staged[f"{end} of {etype}"][0] if isinstance(rows, LazyArray) else rows
                for end, rows in zip(("sources", "destinations"), given, strict=True)
            )
        if src.shape[0] != dst.shape[0]:
            found = [src.shape[0], dst.shape[0]]
            raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=found)
        edges[etype] = EdgeRows(src, dst)
    return GraphRows(name, source.num_nodes, edges, {**data(source.node_data), **edge_data})


def _write(path: str, values: Any, what: str) -> Region:
    rows: np.ndarray = as_array(values, what)
    if rows.dtype.kind not in "biuf":
        hint = "leave it out, or turn it into numbers"
        raise OptionError(f"{what}: not numbers", expected="integers, floats or bools", found=rows.dtype, hint=hint)
    region = create_npy(path, rows.dtype, rows.shape)
    region.write(rows, 0)
    return region


def _units(what: str, lazy: LazyFrame | LazyArray, is_ids: bool, directory: Path) -> Iterator[tuple[StageUnit, Any]]:
    """Units of one collection, each with its delayed partition."""
    if isinstance(lazy, LazyFrame):
        for i, partition in enumerate(lazy.frame.to_delayed()):
            yield StageUnit(f"{what}, partition {i}", lazy.columns, True, str(directory / str(i))), partition
        return
    array = lazy.array
    if any(len(chunks) > 1 for chunks in array.chunks[1:]):
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    for i, block in enumerate(array.to_delayed().reshape(-1)):
        yield StageUnit(f"{what}, block {i}", (), is_ids, str(directory / str(i))), block


def _joined(what: str, regions: Sequence[Region]) -> Rows:
    shapes = {(region.dtype, region.shape[1:]) for region in regions if region.num_rows}
    if len(shapes) > 1:
        found = ", ".join(sorted(f"{dtype.name}{list(shape)}" for dtype, shape in shapes))
        raise InputFileError(f"partitions of {what} differ in dtype or shape", expected="one", found=found)
    return JoinedRows(tuple(region for region in regions if region.num_rows) or (regions[0],))
