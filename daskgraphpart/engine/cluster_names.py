"""What can be given as a cluster, and which cluster that is: names, addresses, files, and objects of distributed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO = "auto"
ON_THIS_MACHINE = ("threads", "processes", "sync", "local")
JOB_QUEUES: Mapping[str, str] = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
}
"""Classes of dask-jobqueue."""


def resolve_cluster(cluster: Any) -> Any:
    """Return what `cluster` stands for: a name, an address, a scheduler file, or an object of distributed.

    Parameters
    ----------
    cluster : str, Client, Cluster or None
        ``"auto"`` and None mean the active client, or threads if there is none.

    Raises
    ------
    OptionError
        If it is none of these.
    """
    if cluster is None or cluster == AUTO:
        active = _active_client()
        return "threads" if active is None else active
    if isinstance(cluster, str):
        if cluster in ON_THIS_MACHINE or cluster in JOB_QUEUES or is_scheduler_file(cluster) or ":" in cluster:
            return cluster
    elif _is_of_distributed(cluster):
        if getattr(cluster, "asynchronous", False):
            raise OptionError(
                "an asynchronous client or cluster cannot be used",
                place="cluster",
                hint="make it with asynchronous=False, or give its address",
            )
        return cluster
    raise OptionError(
        "unknown cluster",
        place="--cluster",
        expected=f"{AUTO}, {', '.join(ON_THIS_MACHINE)}, {', '.join(JOB_QUEUES)}, the address of a dask scheduler "
        "(tcp://host:port), or a scheduler file (*.json)",
        found=cluster if isinstance(cluster, str) else type(cluster).__name__,
    )


def is_scheduler_file(cluster: str) -> bool:
    """Whether this is the name of a file that a scheduler has written about itself."""
    return cluster.endswith(".json")


def is_on_this_machine(cluster: Any) -> bool:
    """Whether it is one of those that are started here, on this machine."""
    return isinstance(cluster, str) and cluster in ON_THIS_MACHINE


def needs_cluster(cluster: str, file: str) -> OptionError:
    """Return the error of a job for several machines, listed in a file, that is to run on this one."""
    return OptionError(
        "parts go to other machines by workers that run there",
        file=file,
        place="--cluster",
        expected="a dask cluster with a worker on each machine: its address, its scheduler file, or a client",
        found=cluster,
        hint="start dask scheduler and dask worker, or leave out --dispatch to write all parts here",
    )


def _is_of_distributed(thing: object) -> bool:
    """Whether it is a client or a cluster; a process that has not imported distributed has none."""
    if "distributed" not in sys.modules:
        return False
    from distributed import Client
    from distributed.deploy import Cluster

    return isinstance(thing, Client | Cluster)


def _active_client() -> Any:
    """The client that was made last and is still open; None if there is none, or it is asynchronous."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous or client.status != "running" else client
