"""Make a graph of the user's dask collections, which is partitioned without ever being written as input files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.collections import Collections
from daskgraphpart.chunked.graph import ChunkedGraph
from daskgraphpart.chunked.rows import schema_of
from daskgraphpart.errors import MetadataError

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS = ("src", "dst")


def from_collections(
    edges: Mapping[str | tuple[str, str, str], Any],
    *,
    num_nodes: Mapping[str, int] | None = None,
    node_data: Mapping[str, Mapping[str, Any]] | None = None,
    edge_data: Mapping[str | tuple[str, str, str], Mapping[str, Any]] | None = None,
    name: str = "graph",
) -> ChunkedGraph:
    """Make a graph of dask collections, for `assign`, `dispatch`, `partition` and `partition_graph`.

    A frame is computed once here, to count its rows, and once in every pass over the edges; an array once in every pass
    over its feature. If that is dear, persist them, or write the graph by `chunk_graph`. Collections have to be
    deterministic: partitions that change their length between two passes are an error.

    Parameters
    ----------
    edges : mapping of str or (str, str, str) to dask.dataframe.DataFrame
        For each canonical edge type ``src:rel:dst`` a frame with columns ``src`` and ``dst`` of integers: type-wise IDs
        from 0 on. Row n is edge n. A task holds one partition, whose size should be some ten megabytes.
    num_nodes : mapping of str to int, optional
        Nodes of each type; not needed for types that have data. Type IDs are in the order in which types are named
        here, in `node_data`, and in `edges`.
    node_data, edge_data : mapping of str to mapping of str to dask.array.Array, optional
        Features by type and name, one row per node or edge, with known chunks; numbers or bool, as in `DataSpec`.
    name : str
        Of the graph.

    Returns
    -------
    ChunkedGraph
        Without files: its `directory` is empty.

    Raises
    ------
    MetadataError
        If a frame lacks a column, or a type its number of nodes.
    InputFileError
        If lengths do not agree, or are not known.

    Examples
    --------
    >>> graph = from_collections({"user:follows:user": frame}, num_nodes={"user": 1000})  # doctest: +SKIP
    >>> partition(graph, "partitions", 4)  # doctest: +SKIP
    """
    frames = {_name_of(etype): frame for etype, frame in edges.items()}
    data = {ntype: dict(arrays) for ntype, arrays in (node_data or {}).items()}
    data |= {_name_of(etype): dict(arrays) for etype, arrays in (edge_data or {}).items()}
    for etype, frame in frames.items():
        missing = [column for column in COLUMNS if column not in getattr(frame, "columns", ())]
        if missing:
            what, expected = "a frame of edges lacks a column", "columns src and dst"
            raise MetadataError(what, place=etype, expected=expected, found=f"no {missing[0]}")
    named = dict.fromkeys([*(num_nodes or {}), *(node_data or {}), *(end for t in frames for end in t.split(":")[::2])])
    counts = {ntype: (num_nodes or {}).get(ntype) for ntype in named}
    unknown = [ntype for ntype, count in counts.items() if count is None and not data.get(ntype)]
    if unknown:
        raise MetadataError("the number of nodes of a type is not known", place=f"num_nodes[{unknown[0]!r}]")
    lengths = _lengths(frames)
    schema = schema_of(name, counts, {etype: sum(of_type) for etype, of_type in lengths.items()}, data)
    nothing: dict[str, dict[str, Any]] = {t.name: {} for t in schema.row_types}
    return ChunkedGraph("", schema, dict.fromkeys(frames, ()), nothing, Collections(frames, lengths, data))


def _name_of(etype: str | tuple[str, str, str]) -> str:
    name = etype if isinstance(etype, str) else ":".join(etype)
    if name.count(":") != 2:
        raise MetadataError("not a canonical edge type", expected="src:rel:dst", found=name)
    return name


def _lengths(frames: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Length of every partition of every frame, computed in one go on dask's scheduler of the moment."""
    import dask

    wanted = {etype: [dask.delayed(len)(partition) for partition in f.to_delayed()] for etype, f in frames.items()}
    (counted,) = dask.compute(wanted)
    return {etype: tuple(lengths) for etype, lengths in counted.items()}
