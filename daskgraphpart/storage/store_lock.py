"""Let one job at a time write to a directory of a store: numbered objects, each created only if there is none.

The run with the highest number holds the lock, and changes its object every few seconds. Whoever sees no change for
long enough takes the next number, and says so in the object before. No clock is compared. A holder that was believed
dead finds out from its object, before it writes anything.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from daskgraphpart.errors import EnvironmentFaultError, OutputLockedError
from daskgraphpart.storage.lock import Lock, LockNotes
from daskgraphpart.storage.object_store import OBJECTS
from daskgraphpart.storage.store_objects import (
    content_of,
    create_object,
    delete_version,
    put_objects,
    replace_object,
    version_in_store,
)

if TYPE_CHECKING:
    from upath import UPath

logger = logging.getLogger(__name__)

LOCK_DIRECTORY = "lock"
SECONDS_BETWEEN_BEATS = 5.0
SECONDS_OF_PATIENCE = 20.0
RELEASED, SUPERSEDED = "released", "superseded"


@dataclass(frozen=True, slots=True)
class Claim:
    """What tells a task whether its run still holds a lock: the lock's object, and the run that it must name."""

    place: UPath
    run: str

    def check(self) -> None:
        """Raise `OutputLockedError` if another run has taken the lock, or it is gone."""
        content = content_of(self.place)
        noted = read_content(content)
        if noted.run == self.run and not noted.state:
            return
        directory = self.place.parent
        names = [name for name in OBJECTS.list_names(directory) if name > self.place.name]
        if not content and not names:  # whoever took it and has ended leaves nothing, either
            raise OutputLockedError(
                "the lock of this run is gone: the store has deleted it, or another run has taken over and has ended",
                file=str(directory.parent),
                hint="look for a rule that deletes objects there, and run the same command again",
            )
        other = notes_of(content_of(directory / names[-1])) if names else None
        by = "" if other is None else f" (pid {other.pid} on host {other.host})"
        raise OutputLockedError(
            f"another run{by} has taken over while this one slept, or could not reach the store",
            file=str(directory.parent),
            hint="choose another output directory, or run again with --overwrite once that run has ended",
        )


class StoreLock(Lock):
    """The lock of a directory in a store, held until `release`; `notes` and `previous` are an earlier holder's, if any.

    `previous` are the run that held the lock before and has not given it up as done, and those before it if it has not
    come to `commit`; `is_after_silence` says that it has not given it up at all, and may live.
    """

    def __init__(self, directory: UPath, name: str = LOCK_DIRECTORY) -> None:
        self.directory, self._directory = directory, directory / name
        self.notes, self.is_after_silence = LockNotes(), False
        self.previous: tuple[str, ...] = ()
        self.is_conditional = True
        self.run = secrets.token_hex(8)
        self._beats, self._is_lost, self.is_committed = 0, False, False
        self._version: str | None = None
        self.claim = Claim(self._take(), self.run)
        self._is_over = threading.Event()
        self._changes = threading.Lock()
        self._note(self.notes.workspace, self.notes.output)
        self._thread = threading.Thread(target=self._beat, daemon=True, name="daskgraphpart-lock")
        self._thread.start()

    def write(self, *, workspace: str | None, output: str | None = None) -> None:
        self.commit()
        self._note(workspace, output)

    def commit(self) -> None:
        if not self.is_committed:
            self.is_committed = True
            self._put()

    def check(self) -> None:
        self.claim.check()

    def release(self, keep_notes: bool = False) -> None:
        """Release the lock; without notes to keep, remove it. A run that has changed nothing leaves all as it was."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        self._thread.join()
        is_left = keep_notes and self.is_committed
        with suppress(EnvironmentFaultError):  # whoever follows will wait a while
            listed = OBJECTS.list_names(self._directory) if self.is_committed else {}
            places = [self._directory / name for name in listed if name < self.claim.place.name]
            left = [(place, version_in_store(place)) for place in places]
            self.check()  # what has these versions is of earlier holders
            if is_left:
                self._put(RELEASED)
            else:
                left.append((self.claim.place, self._version))
            for place, version in left:
                if version is not None:
                    delete_version(place, version)

    def _take(self) -> UPath:
        """Create the next number, once the last one is released or has not changed for long enough."""
        while True:
            number, content = self._last()
            noted = read_content(content)
            self.previous = (noted.run, *noted.after) if content else ()
            mine = self._content()
            if content and not is_released(content):
                self._wait(number, content)
            last, place = (self._directory / f"{of:08d}" for of in (number, number + 1))
            version = version_in_store(last)
            if not self._create(place, mine):
                continue
            if self._create(place, self._content("a second time")):
                self.is_conditional = False
                logger.warning(
                    "%s: this store has no conditional writes, so do not start two runs at a time: if one of them"
                    " sleeps, it may replace files of the other",
                    self.directory,
                )
            self._version = version_in_store(place)
            is_taken = not content or self._supersede(last, content, version)
            if not self.is_conditional or (is_taken and content_of(place) == mine):
                return place
            if self._version is not None:  # the last holder lives, or this run has slept here
                delete_version(place, self._version)

    def _supersede(self, place: UPath, content: bytes, version: str | None) -> bool:
        """Tell the last holder that it has lost the lock; return False if it has shown life, or is gone."""
        noted = read_content(content)
        superseded = msgspec.json.encode(msgspec.structs.replace(noted, state=SUPERSEDED))
        if not self.is_conditional:
            put_objects({place: superseded})
        else:
            is_same = version is not None and content_of(place) == content
            if not is_same or not (noted.state or replace_object(place, superseded, version or "")):
                return False
        self.notes, self.is_after_silence = notes_of(content), noted.state != RELEASED
        return True

    def _create(self, place: UPath, content: bytes) -> bool:
        try:
            return create_object(place, content)
        except EnvironmentFaultError as fault:
            if not isinstance(fault.__cause__, OSError) or fault.__cause__.errno != errno.ENOSYS:
                raise
        put_objects({place: content})  # the store does not know the condition
        return True

    def _last(self) -> tuple[int, bytes]:
        names = [name for name in OBJECTS.list_names(self._directory) if name.isdecimal()]
        if not names:
            return 0, b""
        return int(names[-1]), content_of(self._directory / names[-1])

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
                    file=str(self.directory),
                    hint="wait until it ends, or choose another output directory",
                )

    def _beat(self) -> None:
        while not self._is_over.wait(SECONDS_BETWEEN_BEATS):
            try:
                self._put()
            except EnvironmentFaultError as fault:
                logger.debug("the lock was not renewed: %s", fault)

    def _note(self, workspace: str | None, output: str | None) -> None:
        self.notes = LockNotes(workspace, output, socket.gethostname(), os.getpid())
        self._put()

    def _put(self, state: str = "") -> None:
        """Change the object, unless the lock is lost."""
        with self._changes:
            if self._is_lost:
                return
            self._beats += 1
            content, place = self._content(state), self.claim.place
            if not self.is_conditional:
                put_objects({place: content})
            else:
                self._version = None if self._version is None else replace_object(place, content, self._version)
                self._is_lost = self._version is None

    def _content(self, state: str = "") -> bytes:
        after = () if self.is_committed else self.previous
        own = {"run": self.run, "beats": self._beats, "state": state, "after": after}
        content = {**msgspec.to_builtins(self.notes), **own}
        return msgspec.json.encode(content)


class LockContent(LockNotes, frozen=True):
    """Content of a lock's object: notes, which run holds or held it, and `after` which ones that it may continue."""

    run: str = ""
    beats: int = 0
    state: str = ""
    after: tuple[str, ...] = ()


def is_released(content: bytes) -> bool:
    """Whether a run has left this as it ended early, or another that followed it is gone."""
    return read_content(content).state in (RELEASED, SUPERSEDED)


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
