"""Connect to a dask cluster: started here, of jobs of a queueing system, found at an address, or opened by the user."""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask
from distributed import Client, LocalCluster
from distributed.core import Status

from daskgraphpart.engine.cluster_names import active_client, is_scheduler_file, job_queue
from daskgraphpart.engine.settings import arguments_setting, seconds_setting
from daskgraphpart.errors import EnvironmentFaultError, OptionError
from daskgraphpart.units import parse_size

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger(__name__)

NO_LIMIT = ("--memory-limit", "0")
"""Our own budget bounds the memory; distributed's limit would count the page cache of mapped files as well."""


@contextmanager
def connect(cluster: Any, workers: int) -> Iterator[Client]:
    """Connect to a cluster, as `resolve_cluster` gives it, or start one of so many workers, which ends with it."""
    if isinstance(cluster, Client):
        yield cluster
        return
    active = active_client()
    if active is not None and active.scheduler.address == getattr(cluster, "scheduler_address", cluster):
        yield active  # what the user has persisted with it belongs to it
        return
    made = None
    if cluster == "local":
        # what fails is raised here; our own budget bounds the memory (see NO_LIMIT)
        quiet = {"memory_limit": 0, "dashboard_address": ":0", "silence_logs": logging.CRITICAL}
        arguments: dict[str, Any] = {**quiet, **arguments_setting("local")}
        # `Resources.workers` is how many tasks run at one time; tasks of one process would share its event loop
        made = LocalCluster(**{**arguments, "n_workers": workers, "threads_per_worker": 1, "processes": True})
    elif isinstance(cluster, str) and not is_scheduler_file(cluster) and ":" not in cluster:
        made = _start_jobs(cluster, workers)
    if made is not None:
        logger.info("a cluster has started; its dashboard is at %s", made.dashboard_link)
    try:
        with _client(made or cluster) as client:
            yield client
    finally:
        if made is not None:
            made.close()


def cluster_size(cluster: Any) -> tuple[int, int]:
    """Tasks that a cluster can run at one time, and bytes for each on the worker with the least; 0 if not known."""
    if isinstance(cluster, str) and not is_scheduler_file(cluster) and ":" not in cluster:
        return _job_size(cluster)
    with connect(cluster, 1) as client:
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    limits = [worker["memory_limit"] / worker["nthreads"] for worker in workers if worker["memory_limit"]]
    if not workers:
        logger.warning("the cluster has no workers yet: --memory and --workers are taken from this machine")
    return sum(worker["nthreads"] for worker in workers), math.floor(min(limits, default=0))


def wait_for_worker(client: Client) -> None:
    """Wait until a worker has done something: a cluster that scales itself needs a task to do so."""
    if client.nthreads():
        return
    seconds = seconds_setting("worker-timeout")
    logger.info("waiting for the first worker, %.0f s at most", seconds)
    first = client.submit(os.getpid, key=f"wait-for-worker-{time.time_ns()}", pure=False)
    try:
        first.result(timeout=seconds)
    except TimeoutError as fault:
        raise EnvironmentFaultError(
            "the cluster has no workers",
            place="--cluster",
            found=f"none after {seconds:.0f} s",
            hint="see why in the queue and the logs of the jobs; daskgraphpart.worker-timeout is how long to wait",
        ) from fault
    finally:
        client.cancel([first], force=True)


def _client(where: Any) -> Client:
    """Connect to an address, a scheduler file or a cluster; not as the client of the user's own collections."""
    address = _address(where) if isinstance(where, str) else where
    try:
        return Client(address, timeout=seconds_setting("connect-timeout"), set_as_default=False)
    except ValueError as fault:
        raise OptionError(
            "not the address of a scheduler", place="--cluster", expected="tcp://host:port", found=where
        ) from fault
    except OSError as fault:
        raise EnvironmentFaultError(
            "no dask scheduler answers", place=str(where), found=str(fault), hint="check the address given to --cluster"
        ) from fault


def _address(cluster: str) -> str:
    """Address of a scheduler, if need be from a scheduler file, which the scheduler writes when it starts."""
    if not is_scheduler_file(cluster):
        return cluster
    try:
        return str(json.loads(Path(cluster).read_bytes())["address"])
    except FileNotFoundError:
        what, hint = "there is no such scheduler file", "start dask scheduler --scheduler-file with this name"
    except (OSError, ValueError, TypeError, KeyError):
        what, hint = "not a scheduler file", "give the file that dask scheduler --scheduler-file has written"
    raise OptionError(what, file=cluster, place="--cluster", hint=hint)


def _start_jobs(name: str, workers: int) -> Any:
    """Start a cluster of dask-jobqueue by its configuration, with jobs for so many tasks, replaced when they end."""
    kind = job_queue(name)
    cores, _ = _job_size(name)
    jobs = -(-workers // cores)
    command = str(getattr(kind.job_cls, "submit_command", "")).split()
    if command and shutil.which(command[0]) is None:
        raise EnvironmentFaultError(
            f"there is no {name} here",
            place="--cluster",
            found=f"no command {command[0]}",
            hint="run this where jobs are submitted",
        )
    arguments = {"worker_extra_args": _configured(name, "worker-extra-args") or [], **arguments_setting("jobqueue")}
    arguments["worker_extra_args"] = [*arguments["worker_extra_args"], *NO_LIMIT]
    try:
        cluster = kind(n_workers=0, **arguments)
    except (ValueError, TypeError) as fault:
        raise _unusable(name, fault) from fault
    try:
        cluster.sync(_submit, cluster, jobs)
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
    except (RuntimeError, OSError, ValueError) as fault:
        for job in cluster.workers.values():
            if job.status == Status.created:  # refused; `close` expects that it was not only created
                job.status = Status.failed
        cluster.close()
        raise EnvironmentFaultError(
            f"{name} refuses the job",
            found=str(fault),
            hint=f"see the section jobqueue.{name} of your dask configuration",
        ) from fault
    logger.info("%d %s jobs of %d cores are in the queue", jobs, name, cores)
    return cluster


async def _submit(cluster: Any, jobs: int) -> None:
    """Submit jobs, as `scale` does, but raise what the queueing system says: `adapt` would go on trying for ever."""
    while len(cluster.worker_spec) < jobs:
        cluster.worker_spec.update(cluster.new_worker_spec())
    await cluster


def _job_size(name: str) -> tuple[int, int]:
    """Tasks that one job of a queueing system runs at a time, and bytes for each."""
    job_queue(name)  # the defaults of its configuration come with the package
    cores, memory = (arguments_setting("jobqueue").get(key, _configured(name, key)) for key in ("cores", "memory"))
    if not cores or not memory:
        raise OptionError(
            f"the dask configuration does not say what a job of {name} is",
            place=f"jobqueue.{name}",
            expected="cores and memory",
            found=f"cores {cores}, memory {memory}",
            hint="write them to ~/.config/dask/jobqueue.yaml, or set "
            f"DASK_JOBQUEUE__{name.upper()}__CORES and DASK_JOBQUEUE__{name.upper()}__MEMORY",
        )
    try:
        return int(cores), parse_size(str(memory)) // int(cores)
    except ValueError as fault:
        raise _unusable(name, fault) from fault


def _configured(name: str, key: str) -> Any:
    return dask.config.get(f"jobqueue.{name}.{key}", None)


def _unusable(name: str, fault: Exception) -> OptionError:
    return OptionError(
        f"the dask configuration of {name} cannot be used",
        place=f"jobqueue.{name}",
        found=str(fault),
        hint="see ~/.config/dask/jobqueue.yaml",
    )
