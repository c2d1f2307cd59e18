"""Show the join of the dispatch: the edges of a graph with the part that owns each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.bucket_edges import owners_of_edges
from daskgraphpart.lazy_mapping import LazyMapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.storage.region import Region


def with_owners(graph: ChunkedGraph, assignment: Assignment) -> Mapping[str, Any]:
    """Join the edges of a graph with the owner of their destination, lazily, as `dispatch` does.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    assignment : Assignment
        What `assign` gave; its files have to be there when a frame is computed.

    Returns
    -------
    mapping of str to dask.dataframe.DataFrame
        For each canonical edge type a frame with int64 columns `src` and `dst`, type-wise IDs, and the column `owner`,
        uint8 or uint16: the part that owns the edge.

    Raises
    ------
    AssignmentError
        If there is not an owner for every node.

    Examples
    --------
    >>> owned = with_owners(graph, assignment)["author:writes:paper"]  # doctest: +SKIP
    >>> owned.owner.value_counts().compute()  # edges of each part  # doctest: +SKIP
    """
    assignment.check_fits(graph.schema)

    def joined(etype: str) -> Any:
        edge_type, frame = graph.schema.edge_type(etype), graph.edges[etype]
        owners = assignment.owners[edge_type.dst]
        num_src = graph.schema.node_type(edge_type.src).num_nodes
        meta = {"src": np.int64, "dst": np.int64, "owner": owners.dtype}
        return frame.map_partitions(join_owners, owners, num_src, assignment.num_parts, meta=meta)

    return LazyMapping("edge type", graph.schema.etypes, joined)


def join_owners(edges: pd.DataFrame, owners: Region, num_src: int, num_parts: int) -> pd.DataFrame:
    """Add the owner of each edge of a partition, by the look-up of the pass `bucket-edges`."""
    src, dst = edges["src"].to_numpy(), edges["dst"].to_numpy()
    found, _ = owners_of_edges(src, dst, num_src, owners.memmap(), num_parts)
    return edges.assign(owner=found)
