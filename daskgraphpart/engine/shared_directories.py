"""Check that workers see the directories of the client: on every worker, also on those that come later."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from distributed import WorkerPlugin

from daskgraphpart.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from distributed import Worker

SECONDS_TO_SEE = 5.0
"""How long a network file system may take to show to one machine what another has written."""
WITNESS_NBYTES = 1 << 20


class SharedDirectories(WorkerPlugin):  # type: ignore[misc]
    """Looks at directories before a worker has its first task; a worker that does not see them is turned away.

    Each is a word for it, its path, and the name of a file that no other directory has like this, whose first bytes do
    not change; without a name, it is only read.
    """

    def __init__(self, directories: Sequence[tuple[str, Path, str]]) -> None:
        self.directories = [
            (what, str(path), witness, _first_bytes(str(path), witness)) for what, path, witness in directories
        ]

    def setup(self, worker: Worker) -> None:
        """Raise if this worker does not see one."""
        del worker
        for what, path, witness, content in self.directories:
            deadline = time.monotonic() + SECONDS_TO_SEE
            while not (os.path.isdir(path) and _first_bytes(path, witness).startswith(content)):
                if time.monotonic() > deadline:
                    raise EnvironmentFaultError(
                        f"a worker on host {socket.gethostname()} does not see the {what} of the client",
                        file=path,
                        hint="keep input, output and --workspace on a file system that all workers share",
                    )
                time.sleep(0.1)


def _first_bytes(directory: str, witness: str) -> bytes:
    """First bytes of a file of a directory; none if there is no such file."""
    if witness:
        with suppress(OSError), open(os.path.join(directory, witness), "rb") as file:
            return file.read(WITNESS_NBYTES)
    return b""
