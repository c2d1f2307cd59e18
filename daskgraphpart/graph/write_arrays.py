"""Write a graph in memory as a chunked graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.graph import graph_of
from daskgraphpart.graph.rows import EdgeEnds, array_rows
from daskgraphpart.graph.write_graph import ChunkFormat, write_graph
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.schema import GraphSchema


def write_chunked(
    directory: str | Path,
    schema: GraphSchema,
    edges: Mapping[str, tuple[np.ndarray, np.ndarray]],
    node_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    edge_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    *,
    edge_format: Literal["parquet", "csv", "numpy"] = "csv",
    data_format: Literal["numpy", "parquet"] = "numpy",
    num_chunks: int | tuple[int, int] = 1,
    delimiter: str = " ",
) -> Path:
    """Write an in-memory graph as a chunked graph.

    Parameters
    ----------
    directory : path
        Output directory, created if missing.
    schema : GraphSchema
        Types and counts; features come from the arrays.
    edges : mapping of str to (src, dst)
        Type-wise IDs, by canonical edge type.
    node_data, edge_data : mapping of str to mapping of str to array, optional
        Features, by type and name.
    edge_format, data_format : str
        File formats of edges and of features.
    num_chunks : int or (int, int)
        Number of files per edge type and per feature, or a pair of both.
    delimiter : str
        CSV delimiter.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    InputFileError
        If the number of edges or rows differs from the schema.
    OptionError
        If an ID is out of range, or a format is unknown.

    Examples
    --------
    >>> schema = dgp.GraphSchema("ring", (dgp.NodeType("_N", 3),), (dgp.EdgeType("_N", "_E", "_N", 3),))
    >>> edges = {"_N:_E:_N": (np.array([0, 1, 2]), np.array([1, 2, 0]))}
    >>> dgp.write_chunked("ring", schema, edges, {"_N": {"x": np.arange(3)}})
    PosixPath('ring/metadata.json')
    """
    for t in schema.edge_types:
        if {len(end) for end in edges[t.name]} != {t.num_edges}:
            what = f"wrong number of edges of type {t.name!r}"
            raise InputFileError(what, expected=t.num_edges, found=len(edges[t.name][0]))
    edge_chunks, data_chunks = (num_chunks, num_chunks) if isinstance(num_chunks, int) else num_chunks
    data = {**(node_data or {}), **(edge_data or {})}
    graph = graph_of(
        schema.name,
        {t.name: t.num_nodes for t in schema.node_types},
        {etype: EdgeEnds(*map(array_rows, edges[etype])) for etype in schema.etypes},
        {kind: {name: array_rows(of) for name, of in arrays.items()} for kind, arrays in data.items()},
    )
    of_data = dict.fromkeys(("node_data", "edge_data"), data_chunks)
    form = ChunkFormat(edge_format, data_format, delimiter, edge_chunks, of_data)
    out = require_local(directory, "a graph of arrays")
    with open_runner(detect_resources(cluster="threads"), progress=False) as runner:
        return write_graph(graph, out, form, runner)
