"""Let one job at a time write to a directory of a store: numbered objects, each created only if there is none.

The run with the highest number holds the lock, and changes its object every few seconds. Whoever sees no change for
long enough takes the next number. No clock is compared, and nothing but creation need be conditional. A holder that
was believed dead finds out from its journal, whose objects are created in the same way.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from daskgraphpart.errors import EnvironmentFaultError, OutputLockedError
from daskgraphpart.storage.lock import LockNotes
from daskgraphpart.storage.store_objects import create_object, delete_below, delete_objects, put_objects, read_objects
from daskgraphpart.storage.stores import list_in_store

if TYPE_CHECKING:
    from upath import UPath

logger = logging.getLogger(__name__)

LOCK_DIRECTORY = "lock"
SECONDS_BETWEEN_BEATS = 5.0
SECONDS_OF_PATIENCE = 20.0
RELEASED = "released"


class StoreLock:
    """The lock of a directory in a store, held until `release`; `notes` are an earlier holder's, if any."""

    def __init__(self, directory: UPath) -> None:
        self._directory = directory / LOCK_DIRECTORY
        self.notes = LockNotes()
        self._beats = 0
        self._token = secrets.token_hex(8)
        self._place = self._take()
        self._is_over = threading.Event()
        self._changes = threading.Lock()
        self.write(workspace=self.notes.workspace, output=self.notes.output)
        self._thread = threading.Thread(target=self._beat, daemon=True, name="daskgraphpart-lock")
        self._thread.start()

    def write(self, *, workspace: str | None, output: str | None = None) -> None:
        """Leave notes for whoever follows."""
        self.notes = LockNotes(workspace, output, socket.gethostname(), os.getpid())
        self._put()

    def release(self, keep_notes: bool = False) -> None:
        """Release the lock; without notes to keep, remove it."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        self._thread.join()
        with suppress(EnvironmentFaultError):  # whoever follows will wait a while
            if keep_notes:
                self._put(RELEASED)
            else:
                delete_below(self._directory)

    def _take(self) -> UPath:
        """Create the next number, once the last one is released or has not changed for long enough."""
        while True:
            number, content = self._last()
            if content and not is_released(content):
                self._wait(number, content)
            place = self._directory / f"{number + 1:08d}"
            if create_object(place, self._content()):
                if create_object(place, self._content("a second time")):
                    logger.warning(
                        "%s: this store has no conditional writes, so do not start two runs at a time", place
                    )
                if content:
                    self.notes = notes_of(content)
                    delete_objects([self._directory / f"{number:08d}"])
                return place

    def _last(self) -> tuple[int, bytes]:
        names = [name for name in list_in_store(self._directory) if name.isdecimal()]
        if not names:
            return 0, b""
        return int(names[-1]), read_objects([self._directory / names[-1]])[0]

    def _wait(self, number: int, content: bytes) -> None:
        """Return once the holder seems dead; raise `OutputLockedError` when it shows life."""
        holder = notes_of(content)
        logger.info("a run (pid %s on host %s) has not ended here; looking whether it lives", holder.pid, holder.host)
        until = time.monotonic() + SECONDS_OF_PATIENCE
        while time.monotonic() < until:
            time.sleep(SECONDS_BETWEEN_BEATS / 5)
            if self._last() != (number, content):
                raise OutputLockedError(
                    f"another run (pid {holder.pid} on host {holder.host}) is writing here",
                    file=str(self._directory.parent),
                    hint="wait until it ends, or choose another output directory",
                )

    def _beat(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_BEATS):
            try:
                self._put()
            except EnvironmentFaultError as fault:
                logger.debug("the lock was not renewed: %s", fault)

    def _put(self, state: str = "") -> None:
        with self._changes:
            self._beats += 1
            put_objects({self._place: self._content(state)})

    def _content(self, state: str = "") -> bytes:
        content = {**msgspec.to_builtins(self.notes), "run": self._token, "beats": self._beats, "state": state}
        return msgspec.json.encode(content)


class LockContent(LockNotes, frozen=True):
    """Content of a lock's object: notes, and which run holds or held it."""

    run: str = ""
    beats: int = 0
    state: str = ""


def is_released(content: bytes) -> bool:
    """Whether a run has left this as it ended early."""
    return read_content(content).state == RELEASED


def read_content(content: bytes) -> LockContent:
    """Read what a lock's object holds; nothing from what is damaged or of another form."""
    try:
        return msgspec.json.decode(content, type=LockContent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return LockContent()


def notes_of(content: bytes) -> LockNotes:
    """Read a holder's notes."""
    noted = read_content(content)
    return LockNotes(noted.workspace, noted.output, noted.host, noted.pid)
