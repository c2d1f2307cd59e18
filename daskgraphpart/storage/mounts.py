"""Know which names lie in a depot: files of jobs whose machines share a store, and no disk.

Names in a depot look like those on a shared disk, below a root that no machine has. Passes use them as any other; what
opens, reads and writes files asks `depot_of` first. Without depots, which is how most processes run, that costs a look
at an empty dictionary.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeAlias

from daskgraphpart.storage.paths import AnyPath, is_remote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from daskgraphpart.storage.lock import Lock

Writes: TypeAlias = "list[Any]"
"""What a task wrote at offsets of files: JSON for the journal, which only the depot understands."""

_depots: dict[str, Depot] = {}
_disks: dict[str, str] = {}
"""Directories on this machine's disk by run: no task carries one, for it may run on another machine."""
_lock = threading.Lock()


class Log(Protocol):
    """Bytes to which one process appends."""

    def append(self, content: bytes) -> None:
        """Append some lines."""

    def flush(self) -> None:
        """Make sure that what was appended outlives this process."""

    def truncate(self, nbytes: int) -> None:
        """Drop what follows the last sound line."""

    def close(self) -> None:
        """Append nothing more."""


@dataclass(frozen=True, slots=True, eq=False)
class Depot(ABC):
    """Where names begin, and which run of a job uses them."""

    root: str
    run: str
    number: int = 0  # of the pass that runs, as in the journal
    needed: tuple[int, int, int] = (0, 0, 0)  # bytes of a worker's disk: for maps, per thread, to partition

    @property
    def disk(self) -> str:
        """Where this machine keeps copies of a mounted depot, and writes what is not in the store yet."""
        return _disks[self.run]

    def forget(self) -> None:
        """Delete what this machine has, and forget what this process knows."""
        shutil.rmtree(self.disk, ignore_errors=True)

    @abstractmethod
    def url_of(self, path: str) -> str:
        """Name a file or directory for people."""

    @abstractmethod
    def whole_file(self, path: str) -> AbstractContextManager[str]:
        """Yield a name on this machine's disk; what is written there becomes the file."""

    @abstractmethod
    def changed_file(self, path: str) -> AbstractContextManager[str]:
        """Yield a copy of a file on this machine's disk; what is there in the end becomes the file."""

    @abstractmethod
    def create(self, path: str, nbytes: int, constants: Sequence[tuple[int, bytes]]) -> None:
        """Create a file of a known size, and some bytes at offsets, for tasks to fill."""

    @abstractmethod
    def write(self, path: str, offset: int, content: memoryview) -> None:
        """Write to such a file at an offset, as part of the running task."""

    @abstractmethod
    def gathered_writes(self, name: str) -> AbstractContextManager[list[Writes]]:
        """Gather what a task of that name writes at offsets; in the end the list tells what it was, for `settle`."""

    @abstractmethod
    def settle(self, told: Sequence[Writes]) -> Sequence[Writes]:
        """Count what a task asked of the store, in the process that started the run; return what it wrote."""

    @abstractmethod
    def suspects(self, writes: Mapping[int, Sequence[Writes]]) -> list[tuple[int, Any]]:
        """Return what may have changed since killed runs wrote it, by pass: bytes, and what `check` takes."""

    @abstractmethod
    def check(self, suspect: Any) -> None:
        """Raise `ResumeError` if this has changed."""

    @abstractmethod
    def add_writes(self, number: int, writes: Sequence[Writes]) -> None:
        """Let later passes read what all tasks of a pass wrote at offsets; the same again changes nothing."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return the size of a file, None if there is none."""

    @abstractmethod
    def existing_size(self, path: str) -> int:
        """Return the size of a file; `ResumeError` if there is none."""

    @abstractmethod
    def list_names(self, path: str) -> dict[str, int | None]:
        """List a directory: sorted names, with sizes of files that are known, and None for others."""

    @abstractmethod
    def read_into(self, buffer: memoryview, path: str, offset: int) -> None:
        """Fill a buffer from an offset of a file."""

    @abstractmethod
    def open(self, path: str) -> BinaryIO:
        """Open a file for reading bytes."""

    @abstractmethod
    def copy_here(self, path: str) -> str:
        """Copy a file to this machine's disk, unless it is there, and return its name there."""

    @abstractmethod
    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files, of which some may be gone."""

    @abstractmethod
    def delete_tree(self, path: str) -> None:
        """Delete all files below a directory."""

    @abstractmethod
    def delete_all(self) -> None:
        """Delete everything, the logs last."""

    @abstractmethod
    def open_log(self, path: str) -> Log:
        """Open a log for appending."""

    @abstractmethod
    def read_log(self, path: str) -> bytes | None:
        """Read a log, None if there is none."""

    @abstractmethod
    def lock(self) -> Lock:
        """Take the lock of the job; `OutputLockedError` if another run holds it."""


def mount(depot: Depot, directory: str | None = None) -> None:
    """Let this process find a depot's files; its disk, in a directory of this machine, stays during a run."""
    with _lock:
        known = _depots.get(depot.root)
        if known is not None and known.run != depot.run:  # the client of an earlier run was killed
            known.forget()
            del _disks[known.run]
        name = f"daskgraphpart-{depot.run}"
        os.makedirs(_disks.setdefault(depot.run, os.path.join(directory or tempfile.gettempdir(), name)), 0o700, True)
        _depots[depot.root] = depot


def unmount(depot: Depot) -> None:
    """Forget a depot, and delete its copies on this machine."""
    with _lock:
        _depots.pop(depot.root, None)
        depot.forget()
        del _disks[depot.run]


def depot_of(path: AnyPath) -> Depot | None:
    """Return the depot in which a file lies."""
    if not _depots or is_remote(path):
        return None
    name = str(path)
    return next((depot for root, depot in [*_depots.items()] if name.startswith(f"{root}/")), None)


def shown_name(path: AnyPath) -> str:
    """Name a file for people: one of a depot by its URL."""
    depot = depot_of(path)
    return str(path) if depot is None else depot.url_of(str(path))
