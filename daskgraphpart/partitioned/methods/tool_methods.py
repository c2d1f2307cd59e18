"""Methods of open partitions whose work is in `tools/`: `add_node_data`, `add_edge_data`, `report`, `verify`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import Resources, detect_resources

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.partitioned.stored_partitions import PartitionsT, StoredPartitions
    from daskgraphpart.tools.report.report import Report
    from daskgraphpart.tools.verification.findings import VerifyReport


def add_node_data(
    partitions: PartitionsT,
    node_data: Mapping[str, Mapping[str, Any]],
    *,
    masks: Mapping[str, Mapping[str, Any]] | None = None,
    fill: Mapping[str, object] | object | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> PartitionsT:
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
        If the partitions were not made by daskgraphpart.

    Examples
    --------
    >>> scores = np.random.default_rng(0).random((1000, 2), np.float32)
    >>> parts = parts.add_node_data({"user": {"score": scores}})
    >>> parts.node_data["user"]["score"].shape
    (1000, 2)
    """
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    tables = {"node_data": node_data, "masks": masks or {}, "fill": fill}
    return _add(partitions, tables, resources, progress)


def add_edge_data(
    partitions: PartitionsT,
    edge_data: Mapping[str, Mapping[str, Any]],
    *,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> PartitionsT:
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
        If the partitions were not made by daskgraphpart.

    Examples
    --------
    >>> parts = parts.add_edge_data({"user:buys:item": {"paid": np.ones(5000, np.float32)}})
    >>> parts.edge_data["user:buys:item"]["paid"].shape
    (5000,)
    """
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    return _add(partitions, {"edge_data": edge_data}, resources, progress)


def _add(
    partitions: PartitionsT, tables: Mapping[str, Any], resources: Resources, progress: Progress | None
) -> PartitionsT:
    from daskgraphpart.tools.add.add_features import add_features  # imports DuckDB

    return add_features(partitions, tables, resources, progress=progress)


def report(
    partitions: StoredPartitions,
    labels: str | Iterable[str] | None = None,
    *,
    fanouts: Any = None,
    batch_size: int | None = None,
    network: str | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Compute statistics of the partitions from their files, out of core.

    Parameters
    ----------
    labels : str or iterable of str, optional
        Node data that hold classes, as ``ntype/name``; default: integers named `label`, `labels` or `y`.
    fanouts : list of int, dict of such lists by edge type, or str, optional
        Neighbours that training samples at each hop, such as ``[10, 10]`` or ``"10,10"``; 20 batches of each part
        are sampled to estimate what trainers fetch from other parts, with and without `hot_rows`. Default: what
        `partition` was told, or else five batches of ``[10, 10]``, without `hot_rows`. Training nodes
        come from masks named `train_mask` or similar, else all nodes. Needs the graph format csc, or else sorts the
        edges, 16 bytes each; by default only if these fit into `memory`, with a `workspace` on a cluster elsewhere,
        and of at most 256 parts that are in no store.
    batch_size : int, optional
        Training nodes per batch. Default: what `partition` was told, or 1,000.
    network : str, default "10Gbit"
        Bits per second at which a part fetches: the report says how long it takes.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Report

    Raises
    ------
    LayoutError
        If a file is missing or truncated, or contradicts the config.
    OptionError
        If the labels do not exist, or are not one integer per node.
    PlanError
        If the memory is too small for one task.

    Examples
    --------
    >>> report = parts.report()
    >>> report.cut_share, report.replication_factor
    (0.144, 1.5133333333333332)
    """
    from daskgraphpart.tools.report import fetching, report_parts  # imports pandas

    sampling = fetching.Sampling(fanouts, batch_size, network)
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    return report_parts.report_parts(partitions, labels, sampling, resources, progress)


def verify(
    partitions: StoredPartitions,
    graph: GraphLike | None = None,
    *,
    sample: float = 1.0,
    quick: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> VerifyReport:
    """Compare the partitions with their input graph, as `daskgraphpart.verify` does.

    Parameters
    ----------
    graph : Graph, path or URL, optional
        The input, as for `partition`. Without it, compare files with the checksums in their manifest.
        A feature `trainer_id` is not compared: partitioning may have overwritten it.
    sample : float
        Share of feature rows to compare with the graph.
    quick : bool
        Read only headers and small files.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    VerifyReport
        All faults found (`findings`, `ok`); `print` shows them.

    Examples
    --------
    >>> parts.verify(graph).ok
    True
    """
    from daskgraphpart.tools.verification import verify_partitions  # much, and most who open partitions never verify

    how: Any = {"memory": memory, "cluster": cluster, "workers": workers, "workspace": workspace, "progress": progress}
    config: Any = partitions.config
    return verify_partitions.verify(graph, config, sample=sample, quick=quick, **how)
