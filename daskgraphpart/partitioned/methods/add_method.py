"""The methods `add_node_data` and `add_edge_data` of open partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph


def add_node_data(
    partitions: PartitionedGraph,
    node_data: Mapping[str, Mapping[str, Any]],
    *,
    masks: Mapping[str, Mapping[str, Any]] | None = None,
    fill: Mapping[str, object] | object | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> PartitionedGraph:
    """Add features of nodes to the files of the partitions, in all layouts that are there.

    The files are those that partitioning with the features would have made. They appear when all are complete; a
    stopped run is continued by the same call. Edges and graphs stay as they are, and are not read.

    Parameters
    ----------
    node_data : mapping
        Features by node type and name, as for `scan_tables`. Arrays, dask arrays and files without IDs have a row per
        node, in the order of the input. Rows of tables are joined by the nodes' own IDs, in any order.
    masks : mapping, optional
        Lists of node IDs that become masks, such as ``{"user": {"train_mask": "train.csv"}}``.
    fill : optional
        Value for nodes without a row, as in `scan_tables`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph
        The partitions, opened again.

    Raises
    ------
    OptionError
        If there is no such type, the feature is there already, or a layout cannot hold it.
    InputFileError
        If there are not as many rows as nodes, or rows of unknown nodes.
    LayoutError
        If the partitions are in a store, or not by daskgraphpart.

    Examples
    --------
    >>> scores = np.random.default_rng(0).random((1000, 2), np.float32)
    >>> parts = parts.add_node_data({"user": {"score": scores}})
    >>> parts.node_data["user"]["score"].shape
    (1000, 2)
    """
    from daskgraphpart.engine.resources import detect_resources  # imports dask
    from daskgraphpart.tools.add.add_features import add_features  # imports DuckDB

    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    tables = {"node_data": node_data, "masks": masks or {}, "fill": fill}
    return add_features(partitions, tables, resources, progress=progress)


def add_edge_data(
    partitions: PartitionedGraph,
    edge_data: Mapping[str, Mapping[str, Any]],
    *,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> PartitionedGraph:
    """Add features of edges to the files of the partitions, in all layouts that are there.

    As `add_node_data`.

    Parameters
    ----------
    edge_data : mapping
        Features by edge type and name: arrays, dask arrays, npy or Parquet files with a row per edge, in the order of
        the input.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph
        The partitions, opened again.

    Raises
    ------
    OptionError
        If there is no such type, the feature is there already, or a layout cannot hold it.
    InputFileError
        If there are not as many rows as edges.
    LayoutError
        If the partitions are in a store, or not by daskgraphpart.

    Examples
    --------
    >>> parts = parts.add_edge_data({"user:buys:item": {"paid": np.ones(5000, np.float32)}})
    >>> parts.edge_data["user:buys:item"]["paid"].shape
    (5000,)
    """
    from daskgraphpart.engine.resources import detect_resources  # imports dask
    from daskgraphpart.tools.add.add_features import add_features  # imports DuckDB

    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    return add_features(partitions, {"edge_data": edge_data}, resources, progress=progress)
