"""Create the output files of every part under temporary names, once their sizes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dgl_layout.file_layout import ArraySpec, create_file
from daskgraphpart.dgl_layout.graph_file import graph_file_layout
from daskgraphpart.dgl_layout.tensor_file import tensor_file_layout
from daskgraphpart.dispatching.workspace import GRAPH, part_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.schema import RowType
    from daskgraphpart.storage.region import Region

INT64 = np.dtype("<i8")


def lay_out_orig_ids(out: str, file_name: str, types: Sequence[str], counts: np.ndarray) -> list[dict[str, Region]]:
    """Create a file of original IDs in every part.

    Parameters
    ----------
    out : str
        Output directory.
    file_name : str
        Name of the file.
    types : sequence of str
        Node types or canonical edge types, the keys.
    counts : int64 array (parts, types)
        Rows that each part owns.

    Returns
    -------
    list of dict of str to Region
        For each part where the IDs of each type go.
    """
    regions = []
    for part, of_types in enumerate(counts.tolist()):
        specs = [ArraySpec(name, INT64, (count,)) for name, count in zip(types, of_types, strict=True)]
        regions.append(create_file(part_file(out, part, file_name), tensor_file_layout(specs)))
    return regions


def lay_out_features(out: str, file_name: str, types: Sequence[RowType], counts: np.ndarray) -> list[dict[str, Region]]:
    """Create a file of features in every part; regions are keyed ``<type>/<feature>``."""
    regions = []
    for part, of_types in enumerate(counts.tolist()):
        specs = [
            ArraySpec(f"{kind.name}/{spec.name}", spec.stored_dtype, (count, *spec.row_shape))
            for kind, count in zip(types, of_types, strict=True)
            for spec in kind.data
        ]
        regions.append(create_file(part_file(out, part, file_name), tensor_file_layout(specs)))
    return regions


def lay_out_graph(
    out: str, part: int, num_nodes: int, num_edges: int, formats: Sequence[str], with_types: bool
) -> dict[str, Region]:
    """Create the graph file of one part; regions as `dgl_layout.graph_file` names them.

    Types are int32, which is what DGL itself writes for both nodes and edges.
    """
    node_arrays = [ArraySpec("_ID", INT64, (num_nodes,)), ArraySpec("inner_node", np.dtype(np.uint8), (num_nodes,))]
    edge_arrays = [ArraySpec("_ID", INT64, (num_edges,)), ArraySpec("inner_edge", np.dtype(np.uint8), (num_edges,))]
    if with_types:
        node_arrays.append(ArraySpec("_TYPE", np.dtype("<i4"), (num_nodes,)))
        edge_arrays.append(ArraySpec("_TYPE", np.dtype("<i4"), (num_edges,)))
    layout = graph_file_layout(num_nodes, num_edges, formats, node_arrays, edge_arrays)
    return dict(create_file(part_file(out, part, GRAPH), layout))
