"""The method `verify` of open partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph
    from daskgraphpart.tools.verification.findings import VerifyReport


def verify(
    partitions: PartitionedGraph,
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
    from daskgraphpart.engine.resources import detect_resources  # imports the schedulers
    from daskgraphpart.tools.verification import verify_partitions  # much, and most who open partitions never verify

    config: Any = partitions.config
    if graph is None:
        resources = detect_resources(memory, cluster, workers, workspace=workspace, takes_store=True)
        return verify_partitions.verify_checksums(config, resources, progress, sample=sample, quick=quick)
    how: Any = {"memory": memory, "cluster": cluster, "workers": workers, "workspace": workspace, "progress": progress}
    return verify_partitions.verify(graph, config, sample=sample, quick=quick, **how)
