"""Check that workers see the directories of the client: on every worker, also on those that come later."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from distributed import WorkerPlugin

from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributed import Client, Worker

SECONDS_TO_SEE = 5.0
"""How long a network file system may take to show to one machine what another has written."""


@dataclass(frozen=True, slots=True)
class SharedDirectory:
    """A directory, and a file in it by which it is known: its first bytes, which will not change, and their SHA-256."""

    what: str
    path: str
    witness: str
    """Name of a file that no other directory has like this; empty for a directory that is only read."""
    num_bytes: int
    digest: str

    @classmethod
    def seen_here(cls, what: str, path: Path, witness: str) -> SharedDirectory:
        """Describe a directory as this process sees it."""
        content = (path / witness).read_bytes() if witness else b""
        return cls(what, str(path), witness, len(content), hashlib.sha256(content).hexdigest())

    def check(self) -> None:
        """Check that this process sees it as well, and may write there unless it is only read."""
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


class SharedDirectories(WorkerPlugin):  # type: ignore[misc]
    """Looks at the directories before a worker has its first task; a worker that does not see them is turned away."""

    def __init__(self, directories: Sequence[SharedDirectory]) -> None:
        self.directories = tuple(directories)

    def setup(self, worker: Worker) -> None:
        """Raise if this worker does not see one."""
        del worker
        for directory in self.directories:
            directory.check()


def register(client: Client, directories: Sequence[SharedDirectory], name: str) -> None:
    """Check all workers of a cluster, until the plugin of that name is unregistered."""
    try:
        client.register_plugin(SharedDirectories(directories), name=name)
    except ImportError as fault:
        raise EnvironmentFaultError(
            "a worker lacks a package",
            place="--cluster",
            found=str(fault),
            hint="start workers in the environment of the client",
        ) from fault
