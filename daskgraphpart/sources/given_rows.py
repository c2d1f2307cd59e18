"""Turn given edges and features into sources: arrays, tensors, frames, dask collections, paths."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.collections import array_of, frame_of_arrays
from daskgraphpart.chunked.count_nodes import count_frames, count_nodes
from daskgraphpart.chunked.dask_sources import DaskRows
from daskgraphpart.chunked.formats import feature_files
from daskgraphpart.chunked.graph import graph_of
from daskgraphpart.chunked.metadata import Files
from daskgraphpart.chunked.read_parquet import read_parquet_header
from daskgraphpart.chunked.rows import EdgeEnds, array_rows, refuse_gaps
from daskgraphpart.chunked.sources import FileRows
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.source import Source
from daskgraphpart.sources.given import by_type, count_known, is_dgl_graph, take_apart
from daskgraphpart.sources.tabular import as_pandas, as_table, is_lazy, keyed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.sources.given import Given


def open_given(
    given: Any,
    name: str = "graph",
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[str, Any] | None = None,
    *,
    resources: Resources,
) -> Graph:
    """Make a graph from a given one, further features, and unknown numbers of nodes.

    Copies nothing. Counts dask frames on the cluster of `resources`, and reads edges for their largest IDs if nobody
    knows the number of nodes.
    """
    found = take_apart(given)
    counts = count_known(found.num_nodes, num_nodes)
    beside = {**by_type(node_data, list(counts), "node"), **by_type(edge_data, list(found.edges), "edge")}
    data = _with_data(found, beside, is_replaced=is_dgl_graph(given))  # as in DGL's chunk_graph, which takes only files
    edges = {etype: _edges_of(etype, ends) for etype, ends in found.edges.items()}
    rows = {
        of: {name: _rows_of(_in_order(values, of, name, counts), f"{of}/{name}") for name, values in data[of].items()}
        for of in data
    }
    lazy = {etype: frame for etype, frame in edges.items() if is_lazy(frame)}
    named = {f"{of}/{name}": values for of, features in rows.items() for name, values in features.items()}
    # dask may read some columns of files in other partitions than others; such ones are counted by themselves
    own = {f"{etype}/{column}": etype for etype in lazy for column in found.data.get(etype, ())}
    own = {what: etype for what, etype in own.items() if _num_partitions(named[what]) == _num_partitions(lazy[etype])}
    frames = {what: values for what, values in named.items() if hasattr(values, "divisions") and what not in own}
    # no cluster for nothing; local arrays stay here
    here = resources if lazy or frames else replace(resources, cluster="threads")
    with open_runner(here) as runner:
        counted = count_frames(frames, lazy, runner) if lazy or frames else {}
        sources: dict[str, Source] = {
            etype: DaskRows(etype, ends, counted[etype].lengths) if etype in lazy else ends
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
    found: Given, beside: Mapping[str, Mapping[str, Any]], *, is_replaced: bool
) -> dict[str, dict[str, Any]]:
    """Return a graph's features, extended or replaced by given ones."""
    data = {of_type: dict(features) for of_type, features in found.data.items()}
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
        found = [src.shape[0], dst.shape[0]]
        raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=found)
    return EdgeEnds(src, dst)


def _computed(values: Any, what: str, lengths: Mapping[str, tuple[int, ...]]) -> Any:
    """Return a source of a feature; dask series and frames need the lengths of their partitions."""
    return DaskRows(what, array_of(values, what, lengths.get(what))) if is_lazy(values) else values


def _in_order(values: Any, of_type: str, name: str, counts: Mapping[str, int | None]) -> Any:
    """Return a feature of nodes in their order, if its rows have IDs; edges have none."""
    what = f"{of_type}/{name}"
    values = as_table(values, what)
    found = keyed(values, name, what) if of_type in counts else None
    if found is None:
        return as_pandas(values)
    if is_lazy(values):
        hint = "give rows in the order of nodes, by to_dask_array(lengths=True), or all tables to read_tables"
        raise OptionError(f"{what}: rows of a dask collection are not joined by ID here", hint=hint)
    table = as_pandas(found.table)
    ids, rows = as_ids(table[found.key], f"{what}, {found.key}"), as_array(table[found.name], what)
    num_nodes = counts[of_type] if counts[of_type] is not None else len(ids)
    if len(ids) != num_nodes or not np.array_equal(np.sort(ids), np.arange(num_nodes)):
        expected, hint = (
            f"each ID below {num_nodes:,} once",
            "read_tables takes gaps, by fill=, and other IDs, by map_ids",
        )
        raise OptionError(f"{what}: not a row for each node", expected=expected, found=f"{len(ids):,} IDs", hint=hint)
    placed = np.empty_like(rows)
    placed[ids] = rows
    return placed


END_NAMES = ("sources", "destinations")
_FORMS = {".npy": "numpy", ".parquet": "parquet", ".pq": "parquet"}


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


def paths_in(values: Any) -> list[str] | None:
    """Return the paths that name a feature; None if it is given otherwise."""
    values = [values] if isinstance(values, (str, os.PathLike)) else values
    is_paths = isinstance(values, (list, tuple)) and values and all(isinstance(v, (str, os.PathLike)) for v in values)
    return list(map(os.fspath, values)) if is_paths else None


def file_rows(name: str, paths: Sequence[str], place: str | None = None) -> FileRows:
    """Open a feature's npy or parquet files, which must agree in dtype and row shape."""
    forms = {_FORMS.get(Path(path).suffix.lower(), "") for path in paths}
    form = forms.pop() if len(forms) == 1 else ""
    if not form:
        raise InputFileError(
            f"feature {name!r} has files of unknown or mixed kinds",
            file=paths[0] if paths else None,
            place=place,
            expected="npy files, or parquet files",
            found=", ".join(paths[:3]) or "none",
        )
    for path in paths:
        if not Path(path).is_file():
            raise InputFileNotFoundError("no such file", file=path, place=f"feature {name!r}")
    spec, files = feature_files(name, Files(form, " ", tuple(paths)))
    if spec.row_shape == (1,) and form == "parquet" and _is_plain_column(paths[0]):
        spec = replace(spec, row_shape=())
    return FileRows(files, spec)


def _is_plain_column(path: str) -> bool:
    """Whether a parquet file has one number per row; DGL's reader makes it a row of one number."""
    header = read_parquet_header(path)
    return b"shape" not in (header.schema.metadata or {}) and header.schema.field(0).type.num_fields == 0


def as_array(values: Any, what: str) -> np.ndarray:
    """Return a tensor, frame column or list as an array; arrays and memory maps stay."""
    refuse_gaps(values, what)
    try:
        array: np.ndarray = values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as fault:
        raise OptionError(f"{what}: not an array that numpy can hold", found=str(fault)[:200]) from fault
    if array.ndim == 0:
        found = type(values).__name__
        raise OptionError(f"{what}: no rows", expected="an array, a frame, or paths of files", found=found)
    return values if isinstance(values, np.ndarray) else array


def as_ids(values: Any, what: str) -> np.ndarray:
    """Return node IDs as int64; refuse anything but a column of integers."""
    array, found = as_array(values, what), ""
    if array.ndim != 1:
        raise OptionError(f"{what}: not a column of node IDs", expected="one dimension", found=f"shape {array.shape}")
    if (
        array.dtype == object and array.size and isinstance(array[0], (int, np.integer))
    ):  # pandas' form with missing values
        try:
            return np.array(array.tolist(), np.int64)
        except (TypeError, ValueError, OverflowError):
            found = "missing values, or values that are no 63-bit integers"
    elif array.dtype.kind == "f" and np.isnan(array).any():
        found = "missing values"
    elif array.dtype.kind not in "iu" and array.size:
        found = f"dtype {array.dtype}"
    elif array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:
        found = f"{array.max()}, which takes 64 bits"
    if found:
        hint = "give integers from 0, or map names by read_tables(..., map_ids=True)"
        raise OptionError(f"{what}: not node IDs", expected="whole numbers", found=found, hint=hint)
    return array.astype(np.int64, copy=False)
