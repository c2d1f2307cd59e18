"""Connections to clusters: started here, found at an address, or opened by the user."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client, LocalCluster

from daskgraphpart.engine.cluster_config import arguments_setting, seconds_setting
from daskgraphpart.engine.cluster_names import JOB_QUEUES, is_scheduler_file
from daskgraphpart.engine.executors import orphans
from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from distributed.deploy import Cluster

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and what was opened with it.

    Parameters
    ----------
    client : Client
        Where tasks are submitted.
    cluster : Cluster or None
        What was started for this connection, and ends with it.
    owns_client : bool
        Whether the client was made here.
    """

    client: Client
    cluster: Cluster | None = None
    owns_client: bool = True

    def close(self) -> None:
        """Leave the cluster; end it if it was started here."""
        if self.owns_client:
            self.client.close()
        if self.cluster is not None:
            self.cluster.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(cluster: Any, workers: int) -> Connection:
    """Connect to a cluster, or start it.

    Parameters
    ----------
    cluster : str, Client or Cluster
        As `resolve_cluster` gives it; not one of the schedulers without distributed.
    workers : int
        Tasks that run at one time on a cluster that is started here.

    Raises
    ------
    EnvironmentFaultError
        If the scheduler cannot be reached, or a job cannot be submitted.
    OptionError
        If the address or the file is none of a scheduler, or a job queue is not configured.
    """
    if isinstance(cluster, Client):
        return Connection(cluster, owns_client=False)
    if not isinstance(cluster, str):
        return Connection(_client(cluster, "the cluster"))
    if cluster != "local" and cluster not in JOB_QUEUES:
        return Connection(_client(_address(cluster), cluster))
    started = time.monotonic()
    if cluster == "local":
        made = _start_local(workers)
    else:
        from daskgraphpart.engine.executors.job_queues import start_jobs

        made = start_jobs(cluster, workers)
    logger.info("a cluster has started in %.1f s; its dashboard is at %s", time.monotonic() - started, _dashboard(made))
    return Connection(_client(made, cluster), made)


def _start_local(workers: int) -> LocalCluster:
    # our own budget bounds the memory; distributed's limit would count the page cache of mapped files as well
    arguments: dict[str, Any] = {"memory_limit": 0, "dashboard_address": ":0", **arguments_setting("local")}
    arguments["preload"] = [orphans.__name__, *arguments.get("preload", ())]
    # `Resources.workers` is how many tasks run at one time; tasks of one process would share its event loop
    return LocalCluster(**{**arguments, "n_workers": workers, "threads_per_worker": 1, "processes": True})


def _client(where: Any, name: str) -> Client:
    try:
        # a client that we make must not become the one that the user's own collections are computed on
        return Client(where, timeout=seconds_setting("connect-timeout"), set_as_default=False)
    except ValueError as fault:
        raise OptionError(
            "not the address of a scheduler", place="--cluster", expected="tcp://host:port", found=name
        ) from fault
    except OSError as fault:
        raise EnvironmentFaultError(
            "no dask scheduler answers", place=name, found=str(fault), hint="check the address given to --cluster"
        ) from fault


def _address(cluster: str) -> str:
    """The address, if need be from a scheduler file, which the scheduler writes when it starts."""
    if not is_scheduler_file(cluster):
        return cluster
    try:
        return str(json.loads(Path(cluster).read_bytes())["address"])
    except FileNotFoundError:
        what, hint = "there is no such scheduler file", "start dask scheduler --scheduler-file with this name"
    except (OSError, ValueError, TypeError, KeyError):
        what, hint = "not a scheduler file", "give the file that dask scheduler --scheduler-file has written"
    raise OptionError(what, file=cluster, place="--cluster", hint=hint)


def _dashboard(cluster: Cluster) -> str:
    """Address of the dashboard, which distributed can tell only if bokeh is installed."""
    return str(cluster.dashboard_link or "none (bokeh is not installed)")
