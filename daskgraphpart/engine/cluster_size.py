"""How much a cluster can do at one time, for what the user has left open: processors, and memory for each of them."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

from daskgraphpart.engine.cluster_names import JOB_QUEUES, is_on_this_machine

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """What the workers have.

    Parameters
    ----------
    threads : int
        Tasks that all of them can run at one time; 0 if there are no workers yet.
    thread_memory : int
        Bytes for each, on the worker that has the least; 0 if no worker has a limit.
    """

    threads: int
    thread_memory: int


def cluster_size(cluster: Any) -> ClusterSize | None:
    """Ask a cluster for its size; None for those on this machine.

    Parameters
    ----------
    cluster : str, Client or Cluster
        As `resolve_cluster` gives it.

    Raises
    ------
    EnvironmentFaultError
        If the scheduler cannot be reached.
    OptionError
        If a job queue is not configured.
    """
    if is_on_this_machine(cluster):
        return None
    # distributed takes half a second to import
    if isinstance(cluster, str) and cluster in JOB_QUEUES:
        from daskgraphpart.engine.executors.job_queues import job_size

        return ClusterSize(*job_size(cluster))
    if isinstance(cluster, str):
        from daskgraphpart.engine.executors.connect import connect

        with connect(cluster, workers=1) as connection:
            return _size(connection.client.scheduler_info())
    return _size(cluster.scheduler_info() if callable(cluster.scheduler_info) else cluster.scheduler_info)


def _size(info: dict[str, Any]) -> ClusterSize:
    workers = list(info["workers"].values())
    limits = [worker["memory_limit"] / worker["nthreads"] for worker in workers if worker["memory_limit"]]
    if not workers:
        logger.warning("the cluster has no workers yet: --memory and --workers are taken from this machine")
    return ClusterSize(sum(worker["nthreads"] for worker in workers), math.floor(min(limits, default=0)))
