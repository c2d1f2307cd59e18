"""What a job may use: memory, workers, scheduler, staging. None of it changes a byte of the output."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

from daskgraphpart.display.units import format_size, parse_size
from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.remote.url import is_url, located

SMALLEST_TASK_MEMORY = 16 << 20
"""Bytes a task must have to be of use: a block of edges, an Arrow batch, write buffers."""

LOCAL_CLUSTERS = ("threads", "processes", "sync", "local")
STAGINGS = ("auto", "in-place", "zarr")


@dataclass(frozen=True, slots=True)
class Resources:
    """What a job may use.

    Parameters
    ----------
    memory : int
        Bytes that all tasks running at one time may hold together. The interpreter and its libraries (about
        200 MB per process) come on top.
    cluster : str
        ``"threads"``, ``"processes"``, ``"sync"`` (no parallelism), ``"local"`` (a `distributed.LocalCluster`), or the
        address of a dask scheduler.
    workers : int
        Tasks that run at one time.
    staging : str
        How rows travel: ``"in-place"``, ``"zarr"`` or ``"auto"``.
    workspace : str or None
        Directory for temporary files; None puts them beside the output. Not in a store; needed if the output is in one.
    """

    memory: int
    cluster: str = "threads"
    workers: int = 1
    staging: str = "auto"
    workspace: str | None = None

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise OptionError("the number of workers must be positive", place="--workers", found=self.workers)
        if self.staging not in STAGINGS:
            raise OptionError("unknown staging", place="--staging", expected=" or ".join(STAGINGS), found=self.staging)
        if is_url(self.workspace):
            raise OptionError(
                "the workspace cannot be in a store, which writes whole files only",
                place="--workspace",
                expected="a directory of a file system, since temporary files are written in many places at one time",
                found=self.workspace,
            )
        if self.cluster not in LOCAL_CLUSTERS and ":" not in self.cluster:
            raise OptionError(
                "unknown cluster",
                place="--cluster",
                expected=f"{', '.join(LOCAL_CLUSTERS)} or the address of a dask scheduler (tcp://host:port)",
                found=self.cluster,
            )

    @property
    def task_memory(self) -> int:
        """Bytes one task may hold."""
        return self.memory // self.workers

    def limited(self, smallest_task: int) -> Resources:
        """Return these resources with as many workers as the memory carries.

        Parameters
        ----------
        smallest_task : int
            Bytes without which no task can run.

        Raises
        ------
        PlanError
            If the memory does not suffice for one task.
        """
        if self.memory < smallest_task:
            raise PlanError(
                "this job does not fit into the memory budget",
                place="--memory",
                expected=f"at least {format_size(smallest_task)} ({smallest_task} bytes)",
                found=format_size(self.memory),
                hint=f"give --memory {-(-smallest_task // 1_000_000)}MB or more",
            )
        workers = min(self.workers, self.memory // smallest_task)
        return Resources(self.memory, self.cluster, workers, self.staging, self.workspace)


def detect_resources(
    memory: str | int | None = None,
    cluster: str = "threads",
    workers: int | None = None,
    staging: str = "auto",
    workspace: str | os.PathLike[str] | None = None,
) -> Resources:
    """Fill in what the user left open from what the machine has.

    Parameters
    ----------
    memory : str or int, optional
        Such as ``"2GB"``; default half of what the machine or its cgroup has.
    cluster : str
        As in `Resources`.
    workers : int, optional
        Default: the processors this process may use.
    staging : str
        As in `Resources`.
    workspace : path, optional
        As in `Resources`.

    Returns
    -------
    Resources
    """
    if memory is None:
        budget = available_memory() // 2
    else:
        budget = parse_size(memory) if isinstance(memory, str) else int(memory)
    if workers is None:
        workers = 1 if cluster == "sync" else len(os.sched_getaffinity(0))
    return Resources(budget, cluster, workers, staging, None if workspace is None else str(located(workspace)))


def available_memory() -> int:
    """Bytes of memory of this machine, or of the cgroup that holds this process if that is less."""
    total = int(psutil.virtual_memory().total)
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(limit).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total
