"""Workers that can do the work: there is one, it sees the files that the client sees, and has imported what it needs.

What is checked is checked on every worker, also on those that come later: by a plugin of the workers, which is there as
long as the job. A worker that joins and does not pass is turned away by distributed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import itertools
import logging
import os
import socket
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import WorkerPlugin

from daskgraphpart.engine.cluster_config import seconds_setting
from daskgraphpart.engine.executors.forked_process import load_numba
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client, Worker

logger = logging.getLogger(__name__)

SECONDS_TO_SEE = 5.0
"""How long a network file system may take to show to one machine what another has written."""

MOST_ATTEMPTS = 10
KERNELS = "daskgraphpart.kernels.owner_sort"
PACKAGES = ("daskgraphpart", "pyarrow", "numba", "zarr")
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class SharedDirectory:
    """A directory, and a file in it by which it is known.

    Parameters
    ----------
    what : str
        What it is, for messages: ``"output directory"``.
    path : str
        The directory.
    witness : str
        Name of a file in it that no other directory has like this: it names the process that made it. Empty for one
        that is only read, which is believed if it is there.
    num_bytes : int
        Bytes of that file that will not change.
    digest : str
        SHA-256 of these.
    """

    what: str
    path: str
    witness: str
    num_bytes: int
    digest: str

    @classmethod
    def seen_here(cls, what: str, path: Path, witness: str) -> SharedDirectory:
        """Describe a directory as this process sees it."""
        content = (path / witness).read_bytes() if witness else b""
        return cls(what, str(path), witness, len(content), hashlib.sha256(content).hexdigest())

    def check(self) -> None:
        """Check that this process sees it as well, and may write there.

        Raises
        ------
        EnvironmentFaultError
            If not.
        """
        deadline = time.monotonic() + SECONDS_TO_SEE
        while not self._is_seen():
            if time.monotonic() > deadline:
                raise EnvironmentFaultError(
                    f"a worker on host {socket.gethostname()} does not see the {self.what} of the client",
                    file=self.path,
                    hint="keep input, output and --workspace on a file system that all workers share with the client",
                )
            time.sleep(0.1)
        if not self.witness:
            return
        try:
            with tempfile.TemporaryFile(dir=self.path) as file:
                file.write(b"probe")
                file.flush()
        except OSError as fault:
            raise EnvironmentFaultError(
                f"a worker on host {socket.gethostname()} cannot write to the {self.what}",
                file=self.path,
                found=fault.strerror or str(fault),
                hint="run the workers as the user who may write there",
            ) from fault

    def _is_seen(self) -> bool:
        if not self.witness:
            return os.path.isdir(self.path)
        with contextlib.suppress(OSError), open(Path(self.path, self.witness), "rb") as file:
            return hashlib.sha256(file.read(self.num_bytes)).hexdigest() == self.digest
        return False


def wait_for_worker(client: Client) -> None:
    """Wait until a worker of the cluster has done something; one that scales itself needs a task to do so.

    Raises
    ------
    EnvironmentFaultError
        If none comes.
    """
    if client.scheduler_info()["workers"]:
        return
    seconds = seconds_setting("worker-timeout")
    logger.info("waiting for the first worker, %.0f s at most", seconds)
    started = time.monotonic()
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
    logger.info("the first worker came after %.1f s", time.monotonic() - started)


class WorkerChecks:
    """Checks of all workers of a cluster, present and future, until they are removed.

    Parameters
    ----------
    client : Client
        Of the cluster.
    directories : sequence of SharedDirectory
        What workers must see.

    Raises
    ------
    EnvironmentFaultError
        If a worker does not, or lacks the package.
    """

    def __init__(self, client: Client, directories: Sequence[SharedDirectory]) -> None:
        self._client = client
        self._name = f"daskgraphpart-{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
        modules = [name for name in list(sys.modules) if name.partition(".")[0] in PACKAGES]
        started = time.monotonic()
        try:
            self._add(_ReadyWorker(tuple(directories), modules))
        except ImportError as fault:
            self.remove()
            raise EnvironmentFaultError(
                "a worker lacks a package",
                place="--cluster",
                found=str(fault),
                hint="start workers in the environment of the client",
            ) from fault
        except BaseException:
            self.remove()
            raise
        logger.info("the workers were ready after %.1f s", time.monotonic() - started)

    def _add(self, plugin: _ReadyWorker) -> None:
        """Add the plugin, again if a worker went away while it was being added to it."""
        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                self._client.register_plugin(plugin, name=self._name)
            except GraphPartError:
                raise
            except OSError as fault:
                if attempt == MOST_ATTEMPTS or self._client.status != "running":
                    raise EnvironmentFaultError(
                        "the workers of the cluster cannot be reached", place="--cluster", found=str(fault)
                    ) from fault
                time.sleep(0.2)
            else:
                return

    def remove(self) -> None:
        """Leave the workers as they were."""
        if self._client.status != "running":
            return
        with contextlib.suppress(OSError, ValueError, KeyError):  # the scheduler may be gone
            self._client.unregister_worker_plugin(self._name)


class _ReadyWorker(WorkerPlugin):  # type: ignore[misc]
    """Looks at the directories, and imports what tasks will need, before a worker has its first task."""

    def __init__(self, directories: tuple[SharedDirectory, ...], modules: Sequence[str]) -> None:
        self.directories, self.modules = directories, modules

    def setup(self, worker: Worker) -> None:
        del worker
        for directory in self.directories:
            directory.check()
        for module in self.modules:
            with contextlib.suppress(ImportError):  # whoever needs it will say so
                importlib.import_module(module)
        if KERNELS in self.modules:
            load_numba()

    def teardown(self, worker: Any) -> None:
        del worker
