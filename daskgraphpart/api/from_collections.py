"""`from_collections`: a graph of dask collections, frames or arrays, which is partitioned without being written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import Resources, detect_resources
from daskgraphpart.schema import check_name
from daskgraphpart.sources.given_rows import open_given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.chunked.graph import Graph


def from_collections(
    edges: Any,
    *,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[Any, Any] | None = None,
    name: str = "graph",
    resources: Resources | None = None,
) -> Graph:
    """Make a graph of collections of dask, of frames or of arrays, with features beside it.

    `partition` and its kind take such objects themselves; this gives them features and numbers of nodes. A frame of
    dask is computed once here, to count its rows, and once in every pass over the edges; an array once in every pass
    over its feature. If that is dear, persist them, or write the graph by `chunk_graph`. Collections have to be
    deterministic: partitions that change their length between two passes are an error.

    Parameters
    ----------
    edges : mapping of str or (str, str, str) to frame, or any graph that `chunk_graph` takes
        For each canonical edge type ``src:rel:dst`` a frame with columns ``src`` and ``dst`` (or else the first two) of
        integers: type-wise IDs from 0 on; or a pair of arrays. Row n is edge n. All other columns are features of the
        edges. A task holds one partition of dask, whose size should be some ten megabytes.
    num_nodes : mapping of str to int, or int, optional
        Nodes of each type. Default: the rows of a feature, else the largest ID and one. Type IDs are in this order if
        it has all types.
    node_data, edge_data : mapping of str to mapping of str to rows, optional
        Features by type and name, or by name if there is one type, one row per node or edge: numbers or bool. Series
        and frames of dask are computed once here, to count their rows.
    name : str
        Of the graph.
    resources : Resources, optional
        Where rows are counted. Default: threads of this process.

    Returns
    -------
    Graph
        Without files: its `directory` is empty.

    Raises
    ------
    OptionError
        If it is no graph, lacks columns, or a feature does not hold numbers or is given twice.
    InputFileError
        If lengths do not agree.

    Examples
    --------
    >>> graph = from_collections({"user:follows:user": frame}, num_nodes={"user": 1000})  # doctest: +SKIP
    >>> partition(graph, "partitions", 4)  # doctest: +SKIP
    """
    check_name(name, "graph name")
    resources = resources or detect_resources()
    return open_given(edges, name, num_nodes, node_data, edge_data, resources=resources)
