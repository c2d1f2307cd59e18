"""Connections to clusters: started here, found at an address, or opened by the user."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from distributed import Client, LocalCluster
from distributed.config import defaults as distributed_defaults

from daskgraphpart.engine.cluster_config import arguments_setting, seconds_setting
from daskgraphpart.engine.cluster_names import JOB_QUEUES, is_scheduler_file
from daskgraphpart.engine.executors import fork_server, orphans
from daskgraphpart.engine.executors.forked_worker import ForkedWorker
from daskgraphpart.errors import EnvironmentFaultError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distributed.deploy import Cluster

logger = logging.getLogger(__name__)

SAID_ABOUT_SCHEDULERS = frozenset(
    {
        "name", "host", "interface", "protocol", "security", "scheduler_port", "scheduler_kwargs", "dashboard_address",
        "silence_logs", "scheduler_sync_interval", "blocked_handlers",
    }
)  # fmt: skip
"""Arguments of `daskgraphpart.local` that are not about workers."""

SAID_ABOUT_NANNIES = (
    "nanny.preload", "nanny.environ", "nanny.pre-spawn-environ", "worker.multiprocessing-method", "worker.daemon",
    "worker.lifetime.duration",
)  # fmt: skip
"""Values of dask's configuration, in its section ``distributed``, which only a nanny can see to."""


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
    server : ForkServer or None
        What forks the workers of the cluster that was started.
    """

    client: Client
    cluster: Cluster | None = None
    owns_client: bool = True
    server: fork_server.ForkServer | None = None

    def close(self) -> None:
        """Leave the cluster; end it if it was started here."""
        try:
            if self.owns_client:
                self.client.close()
            if self.cluster is not None:
                self.cluster.close()
        finally:
            if self.server is not None:
                self.server.close()

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
    server = None
    if cluster == "local":
        made, server = _start_local(workers)
    else:
        from daskgraphpart.engine.executors.job_queues import start_jobs

        made = start_jobs(cluster, workers)
    logger.info("a cluster has started in %.1f s; its dashboard is at %s", time.monotonic() - started, _dashboard(made))
    return Connection(_client(made, cluster), made, server=server)


def _start_local(workers: int) -> tuple[LocalCluster, fork_server.ForkServer | None]:
    """Start a cluster on this machine, of forked workers unless the configuration wants nannies."""
    given = arguments_setting("local")
    server = fork_server.begun()
    try:
        # our own budget bounds the memory; distributed's limit would count the page cache of mapped files as well
        arguments: dict[str, Any] = {"memory_limit": 0, "dashboard_address": ":0", **given}
        if server is not None and _nannies_are_wanted(given):
            server.close()
            server = None
        if server is None:
            arguments["preload"] = [orphans.__name__, *arguments.get("preload", ())]
        else:
            arguments |= {"worker_class": ForkedWorker, "fork_server": server}
        # `Resources.workers` is how many tasks run at one time; tasks of one process would share its event loop
        return LocalCluster(**{**arguments, "n_workers": workers, "threads_per_worker": 1, "processes": True}), server
    except BaseException:
        if server is not None:
            server.close()
        raise


def _nannies_are_wanted(arguments: Mapping[str, Any]) -> bool:
    """Whether the user says something about workers that those forked by us do not heed."""
    if not SAID_ABOUT_SCHEDULERS.issuperset(arguments):
        return True
    return any(
        dask.config.get(f"distributed.{name}") != dask.config.get(f"distributed.{name}", config=distributed_defaults)
        for name in SAID_ABOUT_NANNIES
    )


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
