"""What can be done with files, whether they lie on a disk, in an object store, or in a workspace there.

A file is named by its path, which tells its store: see `store_of`. Everything else asks no path where it leads.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Generic, Protocol, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from daskgraphpart.storage.lock import Lock

PathT = TypeVar("PathT")
LocalPath: TypeAlias = "str | os.PathLike[str]"
Writes: TypeAlias = "list[Any]"
"""What a task wrote at offsets of files: JSON for the journal, which only the store understands."""
BUFFER_NBYTES = 64 << 10
"""Bytes that are read of a remote file at least: headers come with one request."""
attached: dict[str, WorkspaceStore] = {}
"""Workspaces in object stores that this process uses, by the root of their names: see `PiecedStore.attach`."""


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


class Store(ABC, Generic[PathT]):
    """Where files lie that are read and deleted."""

    is_on_disk: ClassVar[bool] = False
    """Whether files lie on a disk, where all workers find them by name."""

    @abstractmethod
    def kind(self, path: PathT) -> str | None:
        """Return ``"file"``, ``"directory"``, ``"other"`` (a pipe, for example), or None."""

    @abstractmethod
    def size(self, path: PathT) -> int:
        """Return a file's size; `FileNotFoundError` if it does not exist."""

    @abstractmethod
    def signature(self, path: PathT) -> tuple[int | str, ...] | None:
        """Return what changes with a file's content, its size first; None if it does not exist."""

    @abstractmethod
    def list_names(self, path: PathT) -> dict[str, int | None]:
        """List a directory, if it is one: sorted names, with sizes of files and None for others."""

    def open(self, path: PathT) -> BinaryIO:
        """Open a file for reading bytes."""
        return cast("BinaryIO", io.BufferedReader(StoreFile(self, path), BUFFER_NBYTES))

    @abstractmethod
    def read_into(self, buffer: memoryview, path: PathT, offset: int) -> None:
        """Fill a buffer from an offset of a file; `InputFileError` if it ends early."""

    @abstractmethod
    def delete_files(self, paths: Sequence[PathT]) -> None:
        """Delete files of one directory, of which some may be gone."""

    def shown_name(self, path: PathT) -> str:
        """Name a file for people."""
        return str(path)

    def cached_listings(self, path: PathT) -> AbstractContextManager[None]:
        """List a directory once, and answer questions about its files meanwhile, where each is a request."""
        return nullcontext()

    def local_copy(self, path: PathT) -> str | None:
        """Return the name of a file on this machine's disk, copied there if need be; None if it is only read."""
        return None


class StoreFile(io.RawIOBase, Generic[PathT]):
    """A file in a store, open for reading; pyarrow passes on its errors, unlike those of fsspec's files."""

    def __init__(self, store: Store[PathT], path: PathT) -> None:
        self._store, self._path, self.size = store, path, store.size(path)
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: object) -> int:
        """Fill a buffer up to the end of the file; return the number of bytes."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        view = view[: max(0, self.size - self._position)]
        self._store.read_into(view, self._path, self._position)
        self._position += len(view)
        return len(view)


class WorkspaceStore(Store[LocalPath]):
    """Where files of jobs lie, which tasks write at offsets: names on a disk, or like those on one."""

    def make_directory(self, path: LocalPath) -> None:
        """Make a directory and those above it, unless they exist or there are none."""

    @abstractmethod
    def whole_file(self, path: LocalPath) -> AbstractContextManager[str]:
        """Yield a private temporary name on this machine's disk; what is written there becomes the file."""

    @abstractmethod
    def changed_file(self, path: LocalPath) -> AbstractContextManager[str]:
        """Yield the name under which a file can be changed in place."""

    @abstractmethod
    def create(
        self, path: LocalPath, nbytes: int, constants: Sequence[tuple[int, bytes]], *, is_mapped: bool = False
    ) -> None:
        """Create a file of a known size, and some bytes at offsets, for tasks to fill or, on a disk, to map."""

    @abstractmethod
    def write(self, path: LocalPath, offset: int, content: memoryview) -> None:
        """Write at an offset of a file that exists, as part of the running task."""

    @abstractmethod
    def local_copy(self, path: LocalPath, *, is_final: bool = False) -> str:
        """Return the name of a file on this machine's disk, copied there once if it lies elsewhere.

        A final file is not asked for its version again.
        """

    @abstractmethod
    def directory_on_disk(self, path: LocalPath) -> AbstractContextManager[Path]:
        """Yield a directory on this machine's disk: the one given or, in place of one elsewhere, a temporary one."""

    @abstractmethod
    def delete_tree(self, path: LocalPath) -> None:
        """Delete a directory and all that is below it, as far as that can be done."""

    # a workspace, its log and its lock

    def renew(self, root: str, names: Sequence[str]) -> None:
        """Make an empty workspace, with some directories if there are any."""
        self.remove(root)

    @abstractmethod
    def remove(self, root: str, kept: str = "") -> None:
        """Delete a workspace or, before its end is noted there, all but one file."""

    @abstractmethod
    def open_log(self, path: LocalPath) -> Log:
        """Open a log for appending, and create it if need be."""

    @abstractmethod
    def read_log(self, path: LocalPath) -> bytes | None:
        """Read a log, None if there is none."""

    @abstractmethod
    def lock(self, directory: Path) -> Lock:
        """Lock an existing directory for one job; `OutputLockedError` if another run holds it."""

    # passes: a store without offsets gathers what a task writes

    def attach(self, directory: str | None = None) -> None:
        """Let this process find the files by name, with copies in a directory of this machine."""

    def forget(self) -> None:
        """Delete what this machine has copied, and forget what this process knows."""

    def at_pass(self, number: int) -> WorkspaceStore:
        """Return the store as the tasks of a pass use it, which has this number in the journal."""
        return self

    def note_needs(self, for_maps: int, per_thread: int, to_partition: int) -> None:
        """Note how many bytes of its own disk a worker needs for copies."""

    def disk_nbytes(self, num_threads: int) -> int:
        """Bytes of its own disk that a worker needs for copies."""
        return 0

    def gathered_writes(self, name: str) -> AbstractContextManager[list[Writes]]:
        """Gather what a task of that name writes at offsets; in the end the list says what, for `settle`."""
        return nullcontext([])

    def settle(self, gathered: Sequence[Writes]) -> Sequence[Writes]:
        """Add a task's requests to the job's statistics, in the process that started the run; return its writes."""
        return gathered

    def add_writes(self, number: int, writes: Sequence[Writes]) -> None:
        """Let later passes read what all tasks of a pass wrote at offsets; the same again changes nothing."""

    def suspects(self, writes: Mapping[int, Sequence[Writes]]) -> list[tuple[int, Any]]:
        """Return what may have changed since killed runs wrote it, by pass: bytes, and what `check` takes."""
        return []

    def check(self, suspect: Any) -> None:
        """Raise `ResumeError` if this has changed."""
