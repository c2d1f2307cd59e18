"""Turn given edges and features into sources: arrays, tensors, frames, dask collections, paths.

What was not given is counted: rows of frames in the pass `count-rows`, nodes by largest edge IDs in `count-nodes`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit, open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.extras import is_dgl_graph
from daskgraphpart.graph.collections import array_of, frame_of_arrays
from daskgraphpart.graph.dask_sources import DaskRows, ends_of_frame, return_unchanged, run_collections
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.metadata import MAX_ROWS
from daskgraphpart.graph.rows import EdgeEnds, array_rows
from daskgraphpart.readers.identify_collections import lasting_token
from daskgraphpart.readers.object_values import as_array, as_ids, file_rows, paths_in
from daskgraphpart.readers.objects.read_object import Given, read_object
from daskgraphpart.readers.tabular import as_pandas, as_table, find_ids, is_lazy, what_to_give
from daskgraphpart.readers.type_names import by_type, count_known
from daskgraphpart.source import Input, Source

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources

logger = logging.getLogger(__name__)


KINDS = (
    "a dictionary {edge type: frame or pair of arrays}, such a frame or pair, a scipy "
    "sparse matrix, a networkx graph, a PyG Data or HeteroData, or a DGLGraph"
)
"""What is taken, for the error about anything else."""


def complete_graph(given: Any, resources: Resources, **further: Any) -> Graph:
    """Return the graph of an object, of a path or of another graph, with what `open_object` takes further."""
    graph = open_object(given, resources, **further)
    if graph is None:
        raise not_a_graph(given)
    return graph


def not_a_graph(given: Any) -> OptionError:
    """Return the error about what is none of the `KINDS`."""
    kind = f"{type(given).__module__}.{type(given).__name__}"
    return OptionError("not a graph", expected=f"a Graph, {KINDS}", found=kind, hint=what_to_give(given))


def open_object(
    given: Any,
    resources: Resources,
    *,
    name: str = "graph",
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[str, Any] | None = None,
) -> Graph | None:
    """Make a graph from a given one, further features, and unknown numbers of nodes; None if it is no graph.

    Copies nothing. Counts dask frames on the cluster of `resources`, and reads edges for their largest IDs if nobody
    knows the number of nodes.
    """
    arrays = read_object(given)
    if arrays is None:
        return None
    counts = count_known(arrays.num_nodes, num_nodes)
    beside = {**by_type(node_data, list(counts), "node"), **by_type(edge_data, list(arrays.edges), "edge")}
    for name_of, text in arrays.left_out.items():
        if not any(name_of in further for further in beside.values()):
            logger.warning("leaving out %s", text)
    data = _with_data(
        arrays, beside, is_replaced=is_dgl_graph(given)
    )  # as in DGL's chunk_graph, which takes only files
    edges = {etype: _edges_of(etype, ends) for etype, ends in arrays.edges.items()}
    rows = {
        of: {name: _rows_of(_in_order(values, of, name, counts), f"{of}/{name}") for name, values in data[of].items()}
        for of in data
    }
    lazy = {etype: frame for etype, frame in edges.items() if is_lazy(frame)}
    named = {f"{of}/{name}": values for of, features in rows.items() for name, values in features.items()}
    # dask may read some columns of files in other partitions than others; such ones are counted by themselves
    own = {f"{etype}/{column}": etype for etype in lazy for column in arrays.data.get(etype, ())}
    own = {what: etype for what, etype in own.items() if _num_partitions(named[what]) == _num_partitions(lazy[etype])}
    frames = {what: values for what, values in named.items() if hasattr(values, "divisions") and what not in own}
    # no cluster for nothing; local arrays stay here
    here = resources if lazy or frames else replace(resources, cluster="threads")
    with open_runner(here) as runner:
        counted = count_frames(frames, lazy, runner) if lazy or frames else {}
        sources: dict[str, Source] = {
            etype: lazy_rows(etype, ends, counted[etype].lengths) if etype in lazy else ends
            for etype, ends in edges.items()
        }
        lengths = {what: counted[own.get(what, what)].lengths for what in (*own, *frames)}
        features = {
            of: {name: _computed(values, f"{of}/{name}", lengths) for name, values in of_type.items()}
            for of, of_type in rows.items()
        }
        return graph_of(name, count_nodes(counts, sources, features, runner, counted), sources, features)


def _num_partitions(frame: Any) -> int:
    """Count the partitions that are computed, which dask may have joined."""
    return len(frame.to_delayed())


def _with_data(
    arrays: Given, beside: Mapping[str, Mapping[str, Any]], *, is_replaced: bool
) -> dict[str, dict[str, Any]]:
    """Return a graph's features, extended or replaced by given ones."""
    data = {of_type: dict(features) for of_type, features in arrays.data.items()}
    for of_type, features in beside.items():
        known = data.setdefault(of_type, {})
        if is_replaced:
            known = data[of_type] = {name: rows for name, rows in known.items() if name not in features}
        for name in features.keys() & known.keys():
            raise OptionError("feature is given twice", found=f"{of_type}/{name}", hint="the graph itself has it")
        known.update(features)
    return data


def _edges_of(etype: str, ends: Any) -> Any:
    """Return a source of edges, or a dask frame of them."""
    if isinstance(ends, Source) or hasattr(ends, "divisions"):
        return ends
    if any(map(is_lazy, ends)):
        return frame_of_arrays(ends[0], ends[1], as_ids, etype)
    src, dst = (array_rows(as_ids(end, f"{etype}, {name}")) for end, name in zip(ends, END_NAMES, strict=True))
    if src.shape[0] != dst.shape[0]:
        lengths = [src.shape[0], dst.shape[0]]
        raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=lengths)
    return EdgeEnds(src, dst)


def _computed(values: Any, what: str, lengths: Mapping[str, tuple[int, ...]]) -> Any:
    """Return a source of a feature; dask series and frames need the lengths of their partitions."""
    return lazy_rows(what, array_of(values, what, lengths.get(what))) if is_lazy(values) else values


def lazy_rows(what: str, collection: Any, lengths: tuple[int, ...] | None = None) -> DaskRows:
    """Return a source of a dask collection, which a job in a later process finds again."""
    return DaskRows(what, collection, lengths, partial(lasting_token, what=repr(what)))


def _in_order(values: Any, of_type: str, name: str, counts: Mapping[str, int | None]) -> Any:
    """Return a feature of nodes in their order, if its rows have IDs; edges have none."""
    what = f"{of_type}/{name}"
    values = as_table(values, what)
    with_ids = find_ids(values, name, what) if of_type in counts else None
    if with_ids is None:
        return as_pandas(values)
    if is_lazy(values):
        hint = "give rows in the order of nodes, by to_dask_array(lengths=True), or all tables to scan_tables"
        raise OptionError(f"{what}: rows of a dask collection are not joined by ID here", hint=hint)
    table = as_pandas(with_ids.table)
    ids, rows = as_ids(table[with_ids.key], f"{what}, {with_ids.key}"), as_array(table[with_ids.name], what)
    num_nodes = counts[of_type] if counts[of_type] is not None else len(ids)
    if len(ids) != num_nodes or not np.array_equal(np.sort(ids), np.arange(num_nodes)):
        expected = f"each ID below {num_nodes:,} once"
        hint = "scan_tables takes gaps, by fill=, and other IDs, by map_ids"
        raise OptionError(f"{what}: not a row for each node", expected=expected, found=f"{len(ids):,} IDs", hint=hint)
    placed = np.empty_like(rows)
    placed[ids] = rows
    return placed


END_NAMES = ("sources", "destinations")


def _rows_of(values: Any, what: str) -> Any:
    """Return a feature's source (array, memmap, tensor, npy or parquet files), or its dask collection."""
    if isinstance(values, Source) or is_lazy(values):
        return values
    if (paths := paths_in(values)) is not None:
        return file_rows(what.rpartition("/")[2], paths)
    is_sliced = hasattr(values, "shape") and hasattr(values, "dtype") and hasattr(values, "__array__")
    if not is_sliced or hasattr(values, "detach") or hasattr(values, "to_numpy"):
        values = as_array(values, what)
    if not values.shape:
        raise OptionError(f"{what}: not rows", expected="one row per node or edge", found="a single value")
    return array_rows(values, what)


EDGES_PER_UNIT = 1 << 18


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of each dask partition of a frame; for edges also the largest ID of either end, -1 if none."""

    lengths: tuple[int, ...]
    largest: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, slots=True)
class FrameUnit:
    """A dask partition of a frame, its name, and whether it has edges."""

    block: Input[Any]
    what: str
    is_edges: bool


def count_frames(frames: Mapping[str, Any], edges: Mapping[str, Any], runner: Runner) -> dict[str, Counted]:
    """Compute all dask partitions of frames and series, and of edge frames by type, once each."""
    units = [
        Unit(FrameUnit(Input(return_unchanged, partition), f"partition {i} of {what!r}", is_edges), 1, key=what)
        for is_edges, named in ((False, frames), (True, edges))
        for what, frame in named.items()
        for i, partition in enumerate(frame.to_delayed())
    ]
    counted = run_collections(runner, Pass("count-rows", count_partition, units, None))
    by_key: dict[str, list[tuple[int, ...]]] = {what: [] for what in (*frames, *edges)}
    for unit, of_partition in zip(units, counted, strict=True):
        by_key[unit.key].append(tuple(of_partition))
    return {
        what: Counted(tuple(n for n, *_ in of), (max(src for _, src, _ in of), max(dst for *_, dst in of)))
        for what, of in by_key.items()
    }


def count_partition(unit: FrameUnit, _: None) -> tuple[int, int, int]:
    """Return the rows of a dask partition, and the largest IDs of edges."""
    values = unit.block.read()
    if not unit.is_edges or not len(values):
        return len(values), -1, -1
    src, dst = ends_of_frame(values, unit.what)
    return len(values), int(src.max()), int(dst.max())


def count_nodes(
    given: Mapping[str, int | None],
    edges: Mapping[str, Source],
    data: Mapping[str, Mapping[str, Any]],
    runner: Runner,
    counted: Mapping[str, Counted],
) -> dict[str, int]:
    """Return all numbers of nodes: as given, else the rows of a feature, else the largest ID plus one.

    Edge frames are counted already.
    """
    counts = {ntype: _known(count, data.get(ntype, {})) for ntype, count in given.items()}
    wanted = {etype: rows for etype, rows in edges.items() if None in map(counts.get, etype.split(":")[::2])}
    units = [
        Unit(block.load, 16 * block.num_rows, key=etype)
        for etype, rows in wanted.items()
        if etype not in counted
        for block in rows.blocks(EDGES_PER_UNIT)
    ]
    largest = [(unit.key, *ids) for unit, ids in zip(units, runner.run(_pass(units)), strict=True)]
    largest += [(etype, *counted[etype].largest) for etype in wanted if etype in counted]
    missing = {ntype: 0 for ntype, count in counts.items() if count is None}
    for etype, *ids in largest:
        for ntype, most in zip(etype.split(":")[::2], ids, strict=True):
            if ntype in missing:
                missing[ntype] = max(missing[ntype], min(MAX_ROWS, most + 1))
    return {ntype: missing[ntype] if count is None else count for ntype, count in counts.items()}


def _pass(units: list[Unit[Callable[..., Any]]]) -> Pass[Callable[..., Any], None, tuple[int, int]]:
    return Pass("count-nodes", largest_ids, units, None)


def _known(count: int | None, features: Mapping[str, Any]) -> int | None:
    if count is not None:
        return int(count)
    return next((int(rows.shape[0]) for rows in features.values()), None)


def largest_ids(read: Callable[..., Any], _: None) -> tuple[int, int]:
    """Return the largest ID of either end."""
    edges = read()
    src, dst = edges if isinstance(edges, tuple) else edges.T
    return int(src.max()), int(dst.max())
