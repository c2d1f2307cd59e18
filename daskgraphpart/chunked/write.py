"""Write a graph that is in memory as a chunked graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.chunked.rows import ReadRows, array_rows, edge_rows
from daskgraphpart.chunked.write_graph import ChunkFormat, GraphRows, write_graph
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from daskgraphpart.schema import GraphSchema


def write_chunked(
    directory: str | Path,
    schema: GraphSchema,
    edges: Mapping[str, tuple[np.ndarray, np.ndarray]],
    node_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    edge_data: Mapping[str, Mapping[str, np.ndarray]] | None = None,
    *,
    edge_format: str = "csv",
    data_format: str = "numpy",
    num_chunks: int | tuple[int, int] = 1,
    delimiter: str = " ",
) -> Path:
    """Write a graph that is in memory as a chunked graph.

    Parameters
    ----------
    directory : path
        Made if need be.
    schema : GraphSchema
        Types and counts; features are taken from the arrays.
    edges : mapping of str to (src, dst)
        By canonical edge type, type-wise IDs.
    node_data, edge_data : mapping of str to mapping of str to array, optional
        By type and feature.
    edge_format, data_format : str
        Formats of edges and of features.
    num_chunks : int or (int, int)
        Files for each edge type and each feature; two numbers set them apart.
    delimiter : str
        Of CSV.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    InputFileError
        If there are more or fewer edges or rows than the schema says.
    OptionError
        If an ID is out of range, or a format is unknown.
    """
    for t in schema.edge_types:
        if {len(end) for end in edges[t.name]} != {t.num_edges}:
            what = f"wrong number of edges of type {t.name!r}"
            raise InputFileError(what, expected=t.num_edges, found=len(edges[t.name][0]))
    edge_chunks, data_chunks = (num_chunks, num_chunks) if isinstance(num_chunks, int) else num_chunks

    def rows(data: Mapping[str, Mapping[str, np.ndarray]] | None) -> dict[str, dict[str, ReadRows]]:
        return {kind: {name: array_rows(of) for name, of in arrays.items()} for kind, arrays in (data or {}).items()}

    graph = GraphRows(
        schema.name,
        {t.name: t.num_nodes for t in schema.node_types},
        {etype: edge_rows(*map(array_rows, edges[etype])) for etype in schema.etypes},
        {**rows(node_data), **rows(edge_data)},
    )
    form = ChunkFormat(edge_format, data_format, delimiter, edge_chunks, data_chunks)
    return write_graph(graph, Path(directory), form)
