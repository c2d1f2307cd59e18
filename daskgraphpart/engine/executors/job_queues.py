"""Clusters whose workers are jobs of a queueing system, by dask-jobqueue.

What a job is (queue, cores, memory, wall time) is said in the section ``jobqueue`` of dask's configuration, as for
every user of dask-jobqueue, or in ``daskgraphpart.jobqueue``, which comes first. As many jobs are kept as the tasks
need that run at one time: one that is cancelled, preempted, or at the end of its wall time is replaced.
"""

from __future__ import annotations

import logging
import shutil
from typing import Any

import dask
from distributed.core import Status

from daskgraphpart.engine.cluster_config import arguments_setting
from daskgraphpart.engine.cluster_names import JOB_QUEUES
from daskgraphpart.errors import EnvironmentFaultError, MissingPackageError, OptionError
from daskgraphpart.units import parse_size

logger = logging.getLogger(__name__)

NO_LIMIT = ("--memory-limit", "0")
"""Arguments of the workers: the queueing system watches the memory; distributed would count the page cache of mapped
files as well, and pause or kill workers for it."""


def start_jobs(name: str, workers: int) -> Any:
    """Submit jobs for so many tasks at one time.

    Parameters
    ----------
    name : str
        Of the queueing system.
    workers : int
        Tasks that run at one time.

    Returns
    -------
    dask_jobqueue.core.JobQueueCluster

    Raises
    ------
    MissingPackageError
        If dask-jobqueue is not installed.
    OptionError
        If the configuration does not say what a job is.
    EnvironmentFaultError
        If the queueing system is not there, or refuses the job.
    """
    kind = _cluster_class(name)
    cores, _ = job_size(name)
    jobs = -(-workers // cores)
    command = str(getattr(kind.job_cls, "submit_command", "")).split()
    if command and shutil.which(command[0]) is None:
        raise EnvironmentFaultError(
            f"there is no {name} here",
            place="--cluster",
            found=f"no command {command[0]}",
            hint="run this where jobs are submitted",
        )
    arguments = arguments_setting("jobqueue")
    section = arguments.get("config_name", name)
    extra = [*(arguments.pop("worker_extra_args", None) or _configured(section, "worker-extra-args") or ())]
    if NO_LIMIT[0] not in extra:
        extra += NO_LIMIT
    scheduler = {"dashboard_address": ":0", **(_configured(section, "scheduler-options") or {})}
    scheduler.update(arguments.pop("scheduler_options", None) or {})
    try:
        cluster = kind(n_workers=0, worker_extra_args=extra, scheduler_options=scheduler, **arguments)
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
    """Submit jobs, as `scale` does, but raise what the queueing system says; `adapt` would go on trying for ever."""
    while len(cluster.worker_spec) < jobs:
        cluster.worker_spec.update(cluster.new_worker_spec())
    await cluster._correct_state()


def job_size(name: str) -> tuple[int, int]:
    """Tasks that one job runs at a time, and bytes for each.

    Raises
    ------
    OptionError
        If the configuration does not say.
    """
    _cluster_class(name)  # the defaults of its configuration come with the package
    arguments = arguments_setting("jobqueue")
    section = arguments.get("config_name", name)
    cores = arguments.get("cores", _configured(section, "cores"))
    memory = arguments.get("memory", _configured(section, "memory"))
    if not cores or not memory:
        raise OptionError(
            f"the dask configuration does not say what a job of {name} is",
            place=f"jobqueue.{section}",
            expected="cores and memory",
            found=f"cores {cores}, memory {memory}",
            hint="write them to ~/.config/dask/jobqueue.yaml, or set "
            f"DASK_JOBQUEUE__{section.upper()}__CORES and DASK_JOBQUEUE__{section.upper()}__MEMORY",
        )
    try:
        return int(cores), parse_size(str(memory)) // int(cores)
    except ValueError as fault:
        raise _unusable(name, fault) from fault


def _cluster_class(name: str) -> Any:
    try:
        import dask_jobqueue
    except ImportError as fault:
        raise MissingPackageError(
            "dask-jobqueue is not installed",
            place=f"--cluster {name}",
            hint="pip install 'daskgraphpart[jobqueue]'",
        ) from fault
    return getattr(dask_jobqueue, JOB_QUEUES[name])


def _configured(section: str, key: str) -> Any:
    return dask.config.get(f"jobqueue.{section}.{key}", None)


def _unusable(name: str, fault: Exception) -> OptionError:
    return OptionError(
        f"the dask configuration of {name} cannot be used",
        place=f"jobqueue.{name}",
        found=str(fault),
        hint="see ~/.config/dask/jobqueue.yaml",
    )
