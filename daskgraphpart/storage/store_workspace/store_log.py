"""A log in a store, which can append to nothing: numbered objects, each created only if there is none.

It holds what comes within a few seconds and puts it as one object. What is lost with the process is done again; what
must not be, is put by `flush`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError, OutputLockedError
from daskgraphpart.storage.object_store import OBJECTS
from daskgraphpart.storage.store import Log
from daskgraphpart.storage.store_objects import create_object

if TYPE_CHECKING:
    from upath import UPath

SECONDS_BETWEEN_PUTS = 5.0
HELD_NBYTES = 1 << 20


class LogInStore(Log):
    """A log as numbered objects below a directory of a store."""

    def __init__(self, path: UPath, check: Callable[[], None]) -> None:
        self.path, self._check = path, check
        self._next = max((int(name) for name in OBJECTS.list_names(path)), default=-1) + 1
        self._held: list[bytes] = []
        self._put_at = time.monotonic()

    def append(self, content: bytes) -> None:
        """Hold some lines, and put what is held if it is much or old."""
        self._held.append(content)
        is_old = time.monotonic() - self._put_at > SECONDS_BETWEEN_PUTS
        if is_old or sum(map(len, self._held)) > HELD_NBYTES:
            self.flush()

    def flush(self) -> None:
        """Put what is held as one object."""
        if self._held:
            self._check()
            if not create_object(self.path / f"{self._next:08d}", b"".join(self._held)):
                self._held = []
                hint = "wait until it ends, then run the same command again"
                raise OutputLockedError("another run has taken over this job", file=self.path, hint=hint)
            self._held, self._next, self._put_at = [], self._next + 1, time.monotonic()

    def truncate(self, nbytes: int) -> None:
        """Do nothing: objects are whole."""

    def close(self) -> None:
        """Put what is held, if the store takes it: what is lost is done again."""
        with suppress(GraphPartError):
            self.flush()
