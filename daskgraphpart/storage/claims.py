"""An output in a store belongs to one run: it holds the lock in the output, and asks before each write.

Objects are created if there are none, and replaced or deleted only if they are what they were before the run asked. So
a run that slept, lost its network or was believed dead changes nothing of what another has finished meanwhile.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from daskgraphpart.errors import EnvironmentFaultError
from daskgraphpart.storage.checksums import FileChecksum, hash_bytes, hash_file
from daskgraphpart.storage.conditional import delete_if, version_in_store, write_if
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.store_lock import StoreLock, check_held, lost_lock
from daskgraphpart.storage.store_objects import list_below, put_objects
from daskgraphpart.storage.stores import list_in_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from upath import UPath

MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """What tells a task whether its run still holds an output, and whether other files may be there."""

    place: UPath
    run: str
    is_conditional: bool
    has_files: bool

    def check(self) -> None:
        """Raise `OutputLockedError` if another run has taken over the output."""
        check_held(self.place, self.run)

    def version_before(self, path: UPath) -> str | None:
        """Return the version of the object that a write will replace, None if there is none."""
        return version_in_store(path) if self.has_files else None

    def put(
        self, path: UPath, replaced: str | None, attempt: Callable[[str | None], str | None], checksum: FileChecksum
    ) -> str:
        """Write an object by attempts to replace a version; return its own.

        It may be there already: a task may run twice, and an answer may be lost. Any other was put, before this run
        took over, by one that was believed dead, unless the lock is lost.
        """
        for _ in range(MAX_TRIES):
            self.check()
            if (version := attempt(replaced)) is not None:
                return version
            replaced = version_in_store(path)
            if replaced is not None and hash_file(path) == checksum:
                return replaced
        raise lost_lock(self.place)

    def delete(self, path: UPath) -> None:
        """Delete an object, if there is one."""
        for _ in range(MAX_TRIES):
            version = version_in_store(path)
            if version is None:
                return
            self.check()
            if delete_if(path, version):
                return
        raise lost_lock(self.place)

    def write(self, path: UPath, content: bytes, replaced: str | None) -> str:
        """Write a small object; return its version."""
        if not self.is_conditional:
            self.check()
            put_objects({path: content})
            return version_in_store(path) or ""
        return self.put(path, replaced, partial(write_if, path, content), hash_bytes(content))

    def delete_all(self, path: UPath) -> None:
        """Delete an object, and all below a directory of its name."""
        for name in list_below(path):
            self.delete(path / name if name else path)


class Claimed:
    """An output that a run holds: its lock, the claim for tasks, and whether the run can be continued."""

    def __init__(self, out: UPath) -> None:
        self.lock, self.is_kept = StoreLock(out, LOCK_NAME), False
        has_files = True
        with suppress(EnvironmentFaultError):  # a key may not list
            has_files = any(name != LOCK_NAME for name in list_in_store(out))
        self.claim = Claim(self.lock.place, self.lock.run, self.lock.is_conditional, has_files)


@contextmanager
def claimed_output(out: UPath) -> Iterator[Claimed]:
    """Take an output in a store for one run."""
    claimed = Claimed(out)
    try:
        yield claimed
        claimed.lock.commit()
    finally:
        claimed.lock.release(keep_notes=claimed.is_kept)
