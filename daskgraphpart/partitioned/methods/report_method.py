"""The method `report` of open partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph
    from daskgraphpart.tools.report.report import Report


def report(
    partitions: PartitionedGraph,
    labels: Iterable[str] | None = None,
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
    labels : iterable of str, optional
        Node data that hold classes, as ``ntype:name``; default: integers named `label`, `labels` or `y`.
    fanouts : list of int, dict of such lists by edge type, or str, optional
        Neighbours that training samples at each hop, such as ``[10, 10]`` or ``"10,10"``; 20 batches of each part
        are sampled to estimate what trainers fetch from other parts, with and without `hot_rows`. Default: what
        `partition` was told, or else five batches of ``[10, 10]``, without `hot_rows`. Training nodes
        come from masks named `train_mask` or similar, else all nodes. Needs the graph format csc, or else sorts the
        edges, 16 bytes each; by default only if these fit into `memory`, and of at most 256 parts that are in no store.
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
    from daskgraphpart.engine.resources import detect_resources  # imports the schedulers
    from daskgraphpart.tools.report.fetching import Sampling
    from daskgraphpart.tools.report.report_parts import report_parts  # imports pandas

    graphs, regions = zip(*((part.graph, part.node_rows.features) for part in partitions.parts), strict=True)
    return report_parts(
        partitions.config,
        partitions.content,
        graphs,
        regions,
        labels=labels,
        sampling=Sampling(fanouts, batch_size, network),
        resources=detect_resources(memory, cluster, workers, workspace=workspace),
        progress=progress,
    )
