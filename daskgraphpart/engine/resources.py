"""What a job may use: memory, workers, scheduler, staging. None of it changes a byte of the output."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.settings import parse_size, read_settings
from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.options import check_options, option, stated_options, take_members
from daskgraphpart.storage.paths import is_url, writable_path

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster


logger = logging.getLogger(__name__)

AUTO = "auto"
ON_THIS_MACHINE = ("threads", "processes", "sync", "local")
ELSEWHERE = ("slurm", "pbs", "sge", "lsf", "htcondor", "oar", "moab")
"""Queueing systems, through dask-jobqueue."""
SMALLEST_TASK_MEMORY = 16 << 20
"""Bytes a task must have to be of use: a block of edges, an Arrow batch, write buffers."""
SMALLEST_DATABASE_MEMORY = 64_000_000
"""Bytes that DuckDB must have to read text and sort at one time."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a job may use; `detect_resources` fills in the rest."""

    memory: int = option(
        MISSING,
        "Memory for all tasks; default half the machine's. The interpreter and its libraries add "
        "about 200 MB per process. A plain number is bytes.",
        values="SIZE",
        common=True,
        is_open=True,
        given="str | int",
        kind=int,
    )
    cluster: str | Client | Cluster = option(
        AUTO,
        "Where: threads (default), processes, local, slurm, or an address. sync runs one task after the other; local "
        "is a dask LocalCluster; slurm, pbs, sge, lsf, htcondor, oar and moab submit jobs through dask-jobqueue; an "
        "address or a scheduler file is that of a running scheduler. In Python also a Client or a Cluster. Default: "
        "daskgraphpart.cluster of dask's configuration, else an active Client, else threads.",
        choices=("threads", "processes", "sync", "local", *ELSEWHERE),
        values="CLUSTER",
        common=True,
        is_open=True,
    )
    workers: int = option(
        1,
        "Tasks that run at once; default one per processor. On a cluster: one per thread of its workers; in a queue: "
        "those of one job.",
        minimum=1,
        common=True,
        is_open=True,
    )
    staging: str = option(
        "auto",
        "How features travel: in place, or through zarr arrays in the workspace.",
        choices=("auto", "in-place", "zarr"),
    )
    keep_workspace: bool = option(False, "Keep the temporary files.")
    workspace: str | None = option(
        None,
        "For temporary files; default: next to the output. Required if the output is in a store; a URL then works, "
        "too, and the workers need share no disk.",
        values="DIRECTORY",
        common=True,
        is_open=True,
        given="str | os.PathLike[str]",
    )
    workspace_options: Mapping[str, object] | None = option(
        None, "More on temporary files, by name.", members=("staging", "keep_workspace")
    )

    def __post_init__(self) -> None:
        take_members(self, "workspace_options", ())
        check_options(self)
        object.__setattr__(self, "cluster", resolve_cluster(self.cluster))

    @property
    def task_memory(self) -> int:
        """Bytes one task may hold."""
        return self.memory // self.workers

    def check_workspace(self, why: str = "this job needs a file system") -> None:
        """Refuse a workspace in a store, for jobs that cannot have one."""
        if is_url(self.workspace):
            what = f"--workspace {self.workspace} is in a store, and {why}"
            raise OptionError(what, option="workspace", hint="use a directory")

    def limited(self, smallest_task: int, largest_task: int = 0, shares: int = 1) -> Resources:
        """Return these resources with as many workers as fit in memory, given the least bytes per task.

        One task, which runs alone in its process, may need more; the smallest of several has one of some shares.
        """
        if self.memory < (least := max(smallest_task, largest_task * shares)):
            what = f"--memory {self.memory / 1e6:.6g}MB is too small for this job"
            hint = f"use {-(-least // 1_000_000)}MB or more"
            if shares > 1:
                what += f": {largest_task / 1e6:.6g}MB on the smallest worker, whose share is 1/{shares}"
                hint += ", on workers that have their share, or fewer workers with more memory and threads"
            raise PlanError(what, option="memory", hint=hint)
        workers = min(self.workers, self.memory // smallest_task)
        return self if workers == self.workers else replace(self, workers=workers)


def resources_of(keywords: Mapping[str, Any], *, takes_store: bool = False) -> Resources:
    """Make resources from keywords, and detect what is not given."""
    given = {name: keywords[name] for name in stated_options(Resources) if name in keywords}
    return detect_resources(**given, takes_store=takes_store)


def detect_resources(
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    staging: str = "auto",
    workspace: str | os.PathLike[str] | None = None,
    workspace_options: Mapping[str, object] | None = None,
    *,
    keep_workspace: bool = False,
    takes_store: bool = False,
) -> Resources:
    """Fill in what the user left open, from dask's configuration, or else the machine or cluster.

    Parameters
    ----------
    memory : str or int, optional
        Bytes, or text such as ``"2GB"``. Default: half the memory of the machine or its cgroup, or of a cluster's
        workers, by thread.
    cluster, staging, workspace, workspace_options, keep_workspace
        As in `Resources`; default: dask's configuration.
    workers : int, optional
        Default: the processors of this process, or the cluster's threads; for a queue, those of one job.
    takes_store : bool, default False
        Whether the job can have its workspace in a store.

    Raises
    ------
    OptionError
        If the cluster is unknown, a value of the configuration is wrong, or the workspace must not be in a store.
    EnvironmentFaultError
        If the cluster does not answer.
    """
    settings = read_settings()
    memory = settings.memory if memory is None else memory
    workers = settings.workers if workers is None else workers
    workspace = settings.workspace if workspace is None else workspace
    cluster = resolve_cluster(settings.cluster if cluster is None else cluster)
    threads = thread_memory = 0
    if (memory is None or workers is None) and not is_on_this_machine(cluster):
        from daskgraphpart.engine.clusters.on_cluster import cluster_size  # imports distributed

        threads, thread_memory = cluster_size(cluster)
    if workers is None:
        workers = threads or (1 if cluster == "sync" else usable_cores())
    if memory is None:
        budget = workers * thread_memory // 2 if thread_memory else available_memory() // 2
    else:
        budget = parse_size(memory) if isinstance(memory, str) else int(memory)
    path = None if workspace is None else str(writable_path(workspace))
    resources = Resources(budget, cluster, workers, staging, keep_workspace, path, workspace_options)
    if not takes_store:
        resources.check_workspace()
    return resources


def resolve_cluster(cluster: Any) -> Any:
    """Resolve `cluster`; ``"auto"`` and None mean the active client, or threads."""
    if is_on_this_machine(cluster):
        return cluster
    if cluster in (None, AUTO) and "distributed" not in sys.modules:
        return "threads"
    from daskgraphpart.engine.clusters.cluster_names import SYNCHRONOUS_HINT, active_client, resolve_elsewhere

    if cluster not in (None, AUTO):
        return resolve_elsewhere(cluster, ", ".join((AUTO, *ON_THIS_MACHINE)))
    active = active_client()
    if active is not None and active.asynchronous:
        what = "the active dask client is asynchronous, so tasks run here, in threads; to use it, %s"
        logger.warning(what, SYNCHRONOUS_HINT)
        return "threads"
    return "threads" if active is None else active


def is_on_this_machine(cluster: Any) -> bool:
    """Whether we start it, on this machine."""
    return isinstance(cluster, str) and cluster in ON_THIS_MACHINE


def usable_cores() -> int:
    """Processors that this process may use; all, where the system restricts none (macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """Bytes of memory of this machine, or of this process's cgroup if less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total
