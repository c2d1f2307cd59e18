"""Make a graph of the user's dask collections, which is partitioned without ever being written as input files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from daskgraphpart.chunked.graph import Graph, graph_of
from daskgraphpart.chunked.metadata import check_num_nodes
from daskgraphpart.chunked.sources import DaskEdges, DaskRows
from daskgraphpart.errors import GraphPartError, MetadataError, OptionError

COLUMNS = ("src", "dst")


def from_collections(
    edges: Mapping[str | tuple[str, str, str], Any],
    *,
    num_nodes: Mapping[str, int] | None = None,
    node_data: Mapping[str, Mapping[str, Any]] | None = None,
    edge_data: Mapping[str | tuple[str, str, str], Mapping[str, Any]] | None = None,
    name: str = "graph",
) -> Graph:
    """Make a graph of dask collections, for `assign`, `dispatch`, `partition` and `partition_graph`.

    A frame is computed once here, to count its rows, and once in every pass over the edges; an array once in every pass
    over its feature. If that is dear, persist them, or write the graph by `chunk_graph`. Collections have to be
    deterministic: partitions that change their length between two passes are an error.

    Parameters
    ----------
    edges : mapping of str or (str, str, str) to dask.dataframe.DataFrame
        For each canonical edge type ``src:rel:dst`` a frame with columns ``src`` and ``dst`` of integers: type-wise IDs
        from 0 on. Row n is edge n. All other columns are features of the edges, as in `chunk_graph`. A task holds one
        partition, whose size should be some ten megabytes.
    num_nodes : mapping of str to int, optional
        Nodes of each type; not needed for types that have data. Type IDs are in the order in which types are named
        here, in `node_data`, and in `edges`.
    node_data, edge_data : mapping of str to mapping of str to dask collection, optional
        Features by type and name, one row per node or edge: numbers or bool, as in `DataSpec`. Arrays have known
        chunks; series and frames are computed once here, to count their rows.
    name : str
        Of the graph.

    Returns
    -------
    Graph
        Without files: its `directory` is empty.

    Raises
    ------
    MetadataError
        If a frame lacks a column, or a type its number of nodes.
    OptionError
        If something is not a collection of dask, or a feature does not hold numbers or is given twice.
    InputFileError
        If lengths do not agree, or are not known.

    Examples
    --------
    >>> graph = from_collections({"user:follows:user": frame}, num_nodes={"user": 1000})  # doctest: +SKIP
    >>> partition(graph, "partitions", 4)  # doctest: +SKIP
    """
    frames = {_name_of(etype): frame for etype, frame in edges.items()}
    columns = {etype: _columns(etype, frame) for etype, frame in frames.items()}
    num_nodes, node_data, edge_data = num_nodes or {}, node_data or {}, edge_data or {}
    _check_by_type("num_nodes", "number", num_nodes)
    _check_by_type("node_data", "{name: rows}", node_data, *node_data.values())
    _check_by_type("edge_data", "{name: rows}", edge_data, *edge_data.values())
    data = {ntype: dict(rows) for ntype, rows in node_data.items()} | _data_beside(columns, edge_data)
    named = dict.fromkeys([*num_nodes, *node_data, *(end for etype in frames for end in etype.split(":")[::2])])
    given = {ntype: check_num_nodes(count, f"num_nodes[{ntype!r}]") for ntype, count in num_nodes.items()}
    counts = {ntype: given.get(ntype) for ntype in named}
    unknown = [ntype for ntype, count in counts.items() if count is None and not data.get(ntype)]
    if unknown:
        raise MetadataError("the number of nodes of a type is not known", place=f"num_nodes[{unknown[0]!r}]")
    lengths = _lengths(frames, data)
    for etype, of_frame in columns.items():
        lengths |= {f"{etype}/{name}": lengths[etype] for name in of_frame}
        data[etype] = of_frame | data[etype]
    features = {
        of: {
            name: DaskRows(f"{of}/{name}", _as_array(rows, f"{of}/{name}", lengths.get(f"{of}/{name}")))
            for name, rows in features.items()
        }
        for of, features in data.items()
    }
    sources = {etype: DaskEdges(etype, frame[list(COLUMNS)], lengths[etype]) for etype, frame in frames.items()}
    return graph_of(name, counts, sources, features)


def _name_of(etype: str | tuple[str, str, str]) -> str:
    name = etype if isinstance(etype, str) else ":".join(etype)
    if name.count(":") != 2:
        raise MetadataError("not a canonical edge type", expected="src:rel:dst", found=name)
    return name


def _data_beside(columns: Mapping[str, Mapping[str, Any]], edge_data: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Features of edges that are given beside the columns of their frames, by type."""
    data: dict[str, dict[str, Any]] = {etype: {} for etype in columns}
    for key, rows in edge_data.items():
        if (etype := _name_of(key)) not in columns:
            what, expected = "edge data of an unknown type", f"one of {', '.join(columns)}"
            raise OptionError(what, place="edge_data", expected=expected, found=etype)
        if twice := sorted(rows.keys() & (columns[etype].keys() | data[etype].keys())):
            hint = "columns of the frame of the edges are features, too"
            raise OptionError("feature is given twice", found=f"{etype}/{twice[0]}", hint=hint)
        data[etype] |= rows
    return data


def _check_by_type(place: str, what: str, *given: Any) -> None:
    for value in given:
        if not isinstance(value, Mapping):
            found = type(value).__name__
            raise OptionError("not given by type", place=place, expected=f"{{type: {what}}}", found=found)


def _columns(etype: str, frame: Any) -> dict[str, Any]:
    """Columns of a frame of edges that are not their ends."""
    names = list(getattr(frame, "columns", ()))
    missing = [column for column in COLUMNS if column not in names]
    if missing:
        what, expected = "a frame of edges lacks a column", "columns src and dst"
        raise MetadataError(what, place=etype, expected=expected, found=f"no {missing[0]}")
    if not hasattr(frame, "divisions"):
        hint = "dask.dataframe.from_pandas(frame, npartitions=8) makes one"
        raise OptionError("not a frame of dask", place=etype, found=type(frame).__name__, hint=hint)
    if len({*map(str, names)}) != len(names):
        raise OptionError("columns of one name", place=etype, expected="each once", found=", ".join(map(str, names)))
    return {str(name): frame[name] for name in names if name not in COLUMNS}


def _lengths(frames: Mapping[str, Any], data: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Length of every partition of all frames of edges, by type, and of series and frames of features, ``TYPE/NAME``.

    They are computed in one go on dask's scheduler of the moment.
    """
    import dask

    features = {f"{of}/{name}": rows for of, of_type in data.items() for name, rows in of_type.items()}
    counted = {**frames, **{what: rows for what, rows in features.items() if hasattr(rows, "divisions")}}
    wanted = {what: [dask.delayed(len)(partition) for partition in of.to_delayed()] for what, of in counted.items()}
    try:
        (lengths,) = dask.compute(wanted)
    except (GraphPartError, MemoryError, OSError):
        raise
    except Exception as fault:  # whatever the user's own functions raise
        found = f"{type(fault).__name__}: {str(fault)[:300]}"
        raise OptionError("a dask collection cannot be computed", found=found) from fault
    return {what: tuple(of_partitions) for what, of_partitions in lengths.items()}


def _as_array(rows: Any, what: str, lengths: tuple[int, ...] | None) -> Any:
    """Return a feature as an array of dask; of a series or frame every partition becomes a chunk."""
    import dask
    import dask.array as da

    if hasattr(rows, "chunks"):
        if not rows.shape:
            raise OptionError(f"{what}: not rows", expected="one row per node or edge", found="a single value")
        return rows
    if lengths is None:
        expected, hint = "an array, series or frame of dask", "dask.array.from_array(rows) makes one of an array"
        raise OptionError(f"{what}: not a collection of dask", expected=expected, found=type(rows).__name__, hint=hint)
    empty = np.asarray(rows._meta)
    if empty.dtype.kind not in "biuf":
        found, hint = getattr(rows, "dtype", empty.dtype), "leave it out, or turn it into numbers"
        raise OptionError(f"{what}: not numbers", expected="integers, floats or bools", found=found, hint=hint)
    chunks = [
        da.from_delayed(dask.delayed(np.asarray)(partition), (length, *empty.shape[1:]), empty.dtype)
        for partition, length in zip(rows.to_delayed(), lengths, strict=True)
    ]
    return da.concatenate(chunks)
