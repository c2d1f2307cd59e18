"""The section ``daskgraphpart`` of the user's dask configuration, and what it and options may name as a cluster."""

from __future__ import annotations

import signal
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import msgspec

from daskgraphpart.errors import MissingPackageError, OptionError
from daskgraphpart.storage.json_file import convert_json

SECTION = "daskgraphpart"
AUTO = "auto"
ON_THIS_MACHINE = ("threads", "processes", "sync", "local")


def resolve_cluster(cluster: Any) -> Any:
    """Return what `cluster` stands for; ``"auto"`` and None mean the active client, or threads if there is none."""
    if cluster is None or cluster == AUTO:
        active = active_client()
        return "threads" if active is None else active
    if isinstance(cluster, str):
        if cluster in ON_THIS_MACHINE or is_scheduler_file(cluster) or ":" in cluster or job_queue(cluster):
            return cluster
    elif "distributed" in sys.modules:
        from distributed import Client
        from distributed.deploy import Cluster

        if isinstance(cluster, Client | Cluster):
            if cluster.asynchronous:
                raise OptionError(
                    "an asynchronous client or cluster cannot be used",
                    place="cluster",
                    hint="make it with asynchronous=False, or give its address",
                )
            return cluster
    raise OptionError(
        "unknown cluster",
        place="--cluster",
        expected=f"{AUTO}, {', '.join(ON_THIS_MACHINE)}, a queueing system of dask-jobqueue (slurm, pbs, ...), "
        "the address of a dask scheduler (tcp://host:port), or a scheduler file (*.json)",
        found=cluster if isinstance(cluster, str) else type(cluster).__name__,
    )


def job_queue(name: str) -> Any:
    """Class of dask-jobqueue of that name, such as `SLURMCluster` for ``"slurm"``; None if there is none."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError as fault:
        raise MissingPackageError(
            "dask-jobqueue is not installed",
            place=f"--cluster {name}",
            hint="pip install 'daskgraphpart[jobqueue]' if this is a queueing system",
        ) from fault
    finally:
        # its import makes Ctrl-C leave the process with exit code 0
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
    kinds = {kind.removesuffix("Cluster").lower(): kind for kind in dir(dask_jobqueue) if kind.endswith("Cluster")}
    return getattr(dask_jobqueue, kinds[name]) if name in kinds else None


def is_scheduler_file(cluster: str) -> bool:
    """Whether this is the name of a file that a scheduler has written about itself."""
    return cluster.endswith(".json")


def is_on_this_machine(cluster: Any) -> bool:
    """Whether it is one of those that are started here, on this machine."""
    return isinstance(cluster, str) and cluster in ON_THIS_MACHINE


def active_client() -> Any:
    """The client that was made last and is still open; None if there is none, or it is asynchronous."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    return None if client.asynchronous or client.status != "running" else client


@cache
def _defaults() -> dict[str, Any]:
    """Read `defaults.yaml`, and register it as the defaults of dask's configuration."""
    import dask  # takes a tenth of a second to import

    found = dask.config.merge(*dask.config.collect_yaml([str(Path(__file__).with_name("defaults.yaml"))]))
    dask.config.update_defaults(found)
    return dict(found[SECTION])


class Settings(msgspec.Struct, frozen=True, rename="kebab"):
    """The section of the dask configuration; `defaults.yaml` says what each means."""

    cluster: str
    memory: str | int | None
    workers: Annotated[int, msgspec.Meta(ge=1)] | None
    workspace: str | None
    retries: Annotated[int, msgspec.Meta(ge=0)]
    connect_timeout: float  # seconds
    worker_timeout: float  # seconds
    local: dict[str, Any]
    jobqueue: dict[str, Any]


def read_settings() -> Settings:
    """Read and check the section of the user's dask configuration as it is now."""
    import dask
    from dask.utils import parse_timedelta

    what, hint = "dask configuration", "see the files in ~/.config/dask and the variables DASK_DASKGRAPHPART__*"
    # defaults that were registered inside somebody's `with dask.config.set(...)` are gone after it; environment
    # variables have underscores for hyphens
    section = _defaults() | {name.replace("_", "-"): value for name, value in dask.config.get(SECTION, {}).items()}
    for name in ("connect-timeout", "worker-timeout"):
        try:
            section[name] = parse_timedelta(section[name])
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise OptionError(
                what, place=f"{SECTION}.{name}", expected="a duration such as 30s", found=section[name], hint=hint
            ) from fault
    return convert_json(section, Settings, OptionError, what, place=SECTION, hint=hint)
