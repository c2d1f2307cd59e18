"""Pass `stage-collections`: compute the partitions of dask frames and arrays once each, into npy files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunking.objects.rows import StagedRows, as_array, as_id_array
from daskgraphpart.chunking.objects.source import LazyArray, LazyFrame
from daskgraphpart.engine.compute import compute_piece
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import GraphPartError, InputFileError, OptionError
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from daskgraphpart.chunking.objects.source import GraphSource
    from daskgraphpart.engine.runner import Runner


ENDS = ("sources", "destinations")


@dataclass(frozen=True, slots=True, eq=False)
class StageUnit:
    """One partition of a frame, or one block of an array.

    Parameters
    ----------
    what : str
        Of what, for messages.
    piece : dask collection
        The partition, as a `Delayed`, or block. A frame would have to be made a graph by the task, for which dask may
        compute an example of it: on a cluster by a further task, which nothing runs while all workers wait like this.
    columns : sequence
        Columns of a frame, sources and destinations first; empty for an array.
    is_ids : bool
        Whether an array holds node IDs.
    path : str
        Where its rows go; columns have their number appended.
    """

    what: str
    piece: Any
    columns: Sequence[Any]
    is_ids: bool
    path: str


def stage(source: GraphSource, directory: Path, runner: Runner) -> GraphSource:
    """Return the same graph with nothing lazy in it.

    Parameters
    ----------
    source : GraphSource
        The graph.
    directory : Path
        Where the rows go, for as long as the graph is needed.
    runner : Runner
        What does the work; as many partitions are in memory as it has tasks.

    Raises
    ------
    OptionError
        If partitions do not hold what they should.
    """
    units = {
        key: list(_units(key, lazy, is_ids, directory / str(number)))
        for number, (key, lazy, is_ids) in enumerate(_collections(source))
    }
    if not units:
        return source
    every = [unit for of_key in units.values() for unit in of_key]
    results = iter(runner.run(Pass("stage-collections", stage_piece, every, None, [1] * len(every))))
    return _replaced(source, {key: [next(results) for _ in of_key] for key, of_key in units.items()})


def stage_piece(unit: StageUnit, _: None) -> list[Region]:
    """Compute one partition and write its columns."""
    try:
        value = compute_piece(unit.piece)
    except (GraphPartError, MemoryError):
        raise
    except Exception as fault:  # whatever the user's own functions raise
        raise OptionError(
            f"{unit.what} cannot be computed", found=f"{type(fault).__name__}: {str(fault)[:300]}"
        ) from fault
    if not unit.columns:
        rows = as_array(value, unit.what)
        return [_write(f"{unit.path}.npy", as_id_array(rows, unit.what) if unit.is_ids else rows, unit.what)]
    regions = []
    for i, name in enumerate(unit.columns):
        what = f"{unit.what}, column {name!r}"
        column = as_array(value[name], what)
        regions.append(_write(f"{unit.path}-{i}.npy", as_id_array(column, what) if i < 2 else column, what))
    return regions


def _write(path: str, rows: np.ndarray, what: str) -> Region:
    if rows.dtype.kind not in "biuf":
        hint = "leave it out, or turn it into numbers"
        raise OptionError(f"{what}: not numbers", expected="integers, floats or bools", found=rows.dtype, hint=hint)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    region = create_npy(path, rows.dtype, rows.shape)
    region.write(rows, 0)
    return region


def _collections(source: GraphSource) -> Iterable[tuple[str, LazyFrame | LazyArray, bool]]:
    """Yield all that is lazy: its key (for messages, too), the collection, and whether it holds IDs."""
    for etype, edges in source.edges.items():
        if isinstance(edges, LazyFrame):
            yield f"edges of {etype}", edges, True
        else:
            for end, rows in zip(ENDS, edges, strict=True):
                if isinstance(rows, LazyArray):
                    yield f"{end} of {etype}", rows, True
    for kind in (source.node_data, source.edge_data):
        for type_name, features in kind.items():
            for name, rows in features.items():
                if isinstance(rows, LazyArray):
                    yield f"{type_name}/{name}", rows, False


def _units(what: str, lazy: LazyFrame | LazyArray, is_ids: bool, directory: Path) -> Iterable[StageUnit]:
    if isinstance(lazy, LazyFrame):
        for i in range(lazy.frame.npartitions):
            (piece,) = lazy.frame.partitions[i].to_delayed()
            yield StageUnit(f"{what}, partition {i}", piece, lazy.columns, True, str(directory / str(i)))
        return
    array = lazy.array
    if any(len(chunks) > 1 for chunks in array.chunks[1:]):
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    for i in range(array.numblocks[0]):
        yield StageUnit(f"{what}, block {i}", array.blocks[i], (), is_ids, str(directory / str(i)))


def _replaced(source: GraphSource, staged: Mapping[str, list[list[Region]]]) -> GraphSource:
    """Put what was staged in the place of what was lazy."""

    def rows(key: str, column: int = 0) -> StagedRows:
        regions = tuple(columns[column] for columns in staged[key])
        shapes = {(region.dtype, region.shape[1:]) for region in regions if region.num_rows}
        if len(shapes) > 1:
            found = ", ".join(sorted(f"{dtype.name}{list(shape)}" for dtype, shape in shapes))
            raise InputFileError(f"partitions of {key} differ in dtype or shape", expected="one", found=found)
        filled = tuple(region for region in regions if region.num_rows)
        return StagedRows(filled or regions[:1])

    def data(of_types: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            kind: {name: rows(f"{kind}/{name}") if isinstance(r, LazyArray) else r for name, r in features.items()}
            for kind, features in of_types.items()
        }

    edges: dict[str, Any] = {}
    edge_data = data(source.edge_data)
    for etype, given in source.edges.items():
        if isinstance(given, LazyFrame):
            edges[etype] = rows(f"edges of {etype}", 0), rows(f"edges of {etype}", 1)
            for i, name in enumerate(given.columns[2:], 2):
                if str(name) in edge_data.get(etype, {}):
                    raise OptionError("feature is given twice", found=f"{etype}/{name}", hint="the frame itself has it")
                edge_data.setdefault(etype, {})[str(name)] = rows(f"edges of {etype}", i)
        else:
            edges[etype] = tuple(
                rows(f"{end} of {etype}") if isinstance(r, LazyArray) else r for end, r in zip(ENDS, given, strict=True)
            )
    return replace(source, edges=edges, node_data=data(source.node_data), edge_data=edge_data)
