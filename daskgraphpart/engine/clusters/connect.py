"""Connect to a dask cluster: started here, queued jobs, an address, or the user's own."""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import CancelledError, Client, LocalCluster
from distributed.comm import CommClosedError
from distributed.core import Status

from daskgraphpart.engine.clusters.cluster_names import active_client, is_scheduler_file, job_queue
from daskgraphpart.engine.local import SCRIPT_HINT, check_can_start_processes
from daskgraphpart.engine.settings import parse_size, read_settings
from daskgraphpart.errors import EnvironmentFaultError, OptionError
from daskgraphpart.storage.json_file import read_json_object

logger = logging.getLogger(__name__)

CANNOT_CONNECT = "Timed out trying to connect"  # distributed's OSError has no class of its own
NO_LIMIT = ("--memory-limit", "0")
"""Our own budget bounds the memory; distributed's limit would count the page cache of mapped files as well."""


@contextmanager
def connect(cluster: Any, workers: int) -> Iterator[Client]:
    """Connect to a resolved cluster, or start one with this many workers and end it afterwards."""
    if isinstance(cluster, Client):
        yield cluster
        return
    active = active_client()
    is_usable = active is not None and not active.asynchronous
    if is_usable and active.scheduler.address == getattr(cluster, "scheduler_address", cluster):
        yield active  # data that the user has persisted belongs to it
        return
    made = _start(cluster, workers) if isinstance(cluster, str) and _is_started(cluster) else None
    if made is not None:
        logger.info("a cluster has started; its dashboard is at %s", made.dashboard_link)
    try:
        with _client(made or cluster) as client:
            yield client
    finally:
        if made is not None:
            made.close()


def cluster_size(cluster: Any) -> tuple[int, int]:
    """Tasks that a cluster runs at a time, and bytes for each on the smallest worker; 0 if unknown."""
    if isinstance(cluster, str) and _is_started(cluster):
        return _job_size(cluster)
    with connect(cluster, 1) as client, asking_scheduler():
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    limits = [worker["memory_limit"] / worker["nthreads"] for worker in workers if worker["memory_limit"]]
    if not workers:
        logger.warning("the cluster has no workers yet; using this machine's memory and number of workers")
    return sum(worker["nthreads"] for worker in workers), math.floor(min(limits, default=0))


@contextmanager
def asking_scheduler(place: str = "") -> Iterator[None]:
    """Say that the scheduler is gone where it does not answer."""
    try:
        yield
    except (CancelledError, OSError) as fault:
        if not isinstance(fault, (CancelledError, CommClosedError)) and CANNOT_CONNECT not in str(fault):
            raise
        raise EnvironmentFaultError("the dask scheduler is gone", place=place, found=str(fault)) from fault


def wait_for_worker(client: Client) -> None:
    """Wait until a worker has done something: adaptive clusters start workers for tasks only."""
    if client.nthreads():
        return
    seconds = read_settings().worker_timeout
    logger.info("waiting for the first worker, %.0f s at most", seconds)
    first = client.submit(os.getpid, key=f"wait-for-worker-{time.time_ns()}", pure=False)
    try:
        first.result(timeout=seconds)
    except TimeoutError as fault:
        raise EnvironmentFaultError(
            f"the cluster had no workers for {seconds:.0f} s",
            option="cluster",
            hint="look at the queue and the jobs' logs, or raise daskgraphpart.worker-timeout",
        ) from fault
    finally:
        client.cancel([first], force=True)


def _client(where: Any) -> Client:
    """Connect to an address, a scheduler file or a cluster, without becoming the default client."""
    address = where
    if isinstance(where, str) and is_scheduler_file(where):
        address = str(read_json_object(Path(where), OptionError).get("address"))
    try:
        return Client(address, timeout=read_settings().connect_timeout, set_as_default=False)
    except ValueError as fault:
        raise OptionError(
            "not the address of a scheduler", file=where, option="cluster", expected="tcp://host:port", found=address
        ) from fault
    except OSError as fault:
        why = str(fault).replace(f" trying to connect to {where}", "").replace("Timed", "timed")
        what, hint = f"no dask scheduler answers at {where} ({why})", "check the address given to --cluster"
        raise EnvironmentFaultError(what, place=str(where), hint=hint) from fault


def _is_started(cluster: str) -> bool:
    return not is_scheduler_file(cluster) and ":" not in cluster


def _start(cluster: str, workers: int) -> Any:
    """Start a cluster on this machine, or queued jobs, for this many tasks."""
    if cluster != "local":
        return _start_jobs(cluster, workers)
    # raise failures here; our own budget bounds memory (see NO_LIMIT)
    quiet = {"memory_limit": 0, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    # `Resources.workers` counts tasks; those of one process would share its event loop
    ours = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    check_can_start_processes()
    try:
        return LocalCluster(**quiet | _arguments(read_settings().local) | ours)
    except RuntimeError as fault:
        raise EnvironmentFaultError("no worker could start", found=str(fault), hint=SCRIPT_HINT) from fault


def _start_jobs(name: str, workers: int) -> Any:
    """Start a dask-jobqueue cluster from its configuration, with jobs for this many tasks, replaced when they end."""
    cores, _ = _job_size(name)
    jobs = -(-workers // cores)
    arguments = _job_arguments(name)
    arguments["worker_extra_args"] = [*(arguments["worker_extra_args"] or []), *NO_LIMIT]
    cluster = None
    try:
        cluster = job_queue(name)(n_workers=0, **arguments)
        cluster.sync(_submit, cluster, jobs)
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    except (RuntimeError, OSError, ValueError, TypeError) as fault:
        for job in cluster.workers.values() if cluster is not None else ():
            if job.status == Status.created:  # refused; `close` expects another status
                job.status = Status.failed
        if cluster is not None:
            cluster.close()
        raise EnvironmentFaultError(
            f"{name} refuses the job",
            option="cluster",
            found=str(fault),
            hint=f"run this where you submit jobs, and check the section jobqueue.{name} of your dask configuration",
        ) from fault
    logger.info("%d %s jobs of %d cores are in the queue", jobs, name, cores)
    return cluster


async def _submit(cluster: Any, jobs: int) -> None:
    """Submit jobs like `scale`, but raise what the queue says: `adapt` would retry forever."""
    while len(cluster.worker_spec) < jobs:
        cluster.worker_spec.update(cluster.new_worker_spec())
    await cluster


def _job_size(name: str) -> tuple[int, int]:
    """Tasks that one queued job runs at a time, and bytes for each."""
    cores, memory = (_job_arguments(name)[key] for key in ("cores", "memory"))
    try:
        return int(cores), parse_size(str(memory), f"jobqueue.{name}.memory") // int(cores)
    except (ValueError, TypeError, ZeroDivisionError) as fault:
        raise OptionError(
            f"the dask configuration lacks the size of a {name} job",
            place=f"jobqueue.{name}",
            expected="cores and memory",
            found=f"cores {cores}, memory {memory}",
            hint=f"write them to ~/.config/dask/jobqueue.yaml, or set DASK_JOBQUEUE__{name.upper()}__CORES and so on",
        ) from fault


def _job_arguments(name: str) -> dict[str, Any]:
    """Job queue arguments needed here, from its own section, and all from ours."""
    job_queue(name)  # loads the defaults of its configuration
    own = {key: dask.config.get(f"jobqueue.{name}.{key}", None) for key in ("cores", "memory", "worker-extra-args")}
    return _arguments(own) | _arguments(read_settings().jobqueue)


def _arguments(section: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments from the configuration, where they may have hyphens."""
    return {str(key).replace("-", "_"): argument for key, argument in section.items()}
