"""Clients of one output in this process, each in a thread: they sleep, are killed and wake where the test says.

A client passes a gate before each change in the store, after all it has asked before, and where a pass begins. One that
sleeps shows no life; one that is killed changes nothing any more.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from listeners import Listener

from daskgraphpart import GraphPartError
from daskgraphpart.storage import output_lock, store_lock, upload
from daskgraphpart.storage.store_workspace import indexes, pieced_store, store_log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

_CLIENTS: dict[int, Client] = {}
_LOCKS: dict[int, Client] = {}


class Killed(BaseException):
    """What a client is killed by, and can do nothing after."""


@dataclass(eq=False)
class Client:
    """A run of `job`, which is given a listener; it sleeps at a gate by number, or at the begin of a pass by name."""

    job: Callable[[Any], Any]
    sleep_at: int | str = -1
    gates: int = 0
    asleep_at: str = ""
    outcome: Any = None
    is_killed: bool = False
    shows_life: bool = False  # while it sleeps
    is_awake: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def start(self) -> Client:
        """Run until it sleeps or ends."""
        self.is_awake.set()
        threading.Thread(target=self._run, daemon=True).start()
        self._wait()
        return self

    def wake(self, sleep_at: int | str = -1) -> Client:
        """Run on until it sleeps or ends."""
        self.sleep_at = sleep_at
        self.is_awake.set()
        self._wait()
        return self

    def kill(self) -> None:
        """End at the gate."""
        self.is_killed = True
        self.wake()

    @property
    def sleeps(self) -> bool:
        """Whether it sleeps."""
        return self.outcome is None

    @property
    def cleans_up(self) -> bool:
        """Whether it sleeps where a run cleans up after itself, or after others."""
        return self.sleeps and self.asleep_at in ("abort", "clear", "release")

    def gate(self, name: str = "") -> None:
        """Sleep here if that was asked for."""
        if self.is_killed:
            raise Killed
        self.gates += 1
        if self.sleep_at in (self.gates, name or None):
            self.asleep_at = name
            with self.changed:
                self.is_awake.clear()
                self.changed.notify_all()
            assert self.is_awake.wait(60)
            if self.is_killed:
                raise Killed

    def _wait(self) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.outcome is not None or not self.is_awake.is_set(), 60)

    def _run(self) -> None:
        _CLIENTS[threading.get_ident()] = self
        listener = _Gated(self)
        try:
            outcome = self.job(listener) or "done"
        except (GraphPartError, Killed) as fault:
            outcome = fault
        except BaseException as fault:
            outcome = AssertionError(f"{type(fault).__name__}: {fault}")
            outcome.__cause__ = fault
        del _CLIENTS[threading.get_ident()]  # another thread may get this number
        with self.changed:
            self.outcome = outcome
            self.changed.notify_all()


class _Gated(Listener):
    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        super().begin(name, num_units, nbytes, num_rows)
        self.client.gate(name)


@contextmanager
def gates(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let clients pass gates, and a lock that shows no life be taken soon."""

    def gated(function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any, **settings: Any) -> Any:
            client = _CLIENTS.get(threading.get_ident())
            if client is not None:
                client.gate(what)
            return function(*arguments, **settings)

        return call

    start, put = store_lock.StoreLock.__init__, store_lock.StoreLock._put

    def started(self: Any, *arguments: Any) -> None:
        if (client := _CLIENTS.get(threading.get_ident())) is not None:
            _LOCKS[id(self)] = client
        start(self, *arguments)

    def renewed(self: Any, *state: str) -> None:
        client = _LOCKS.get(id(self))
        if client is None or ((client.is_awake.is_set() or client.shows_life) and not client.is_killed):
            put(self, *state)

    with monkeypatch.context() as patched:
        patched.setattr(store_lock, "SECONDS_BETWEEN_BEATS", 0.1)
        patched.setattr(store_lock, "SECONDS_OF_PATIENCE", 0.5)
        patched.setattr(store_lock.StoreLock, "__init__", started)
        patched.setattr(store_lock.StoreLock, "_put", renewed)
        for module, name, what in (
            (upload, "complete_upload", "complete"),
            (output_lock, "delete_version", "delete"),
            (output_lock, "abort_uploads", "abort"),
            (store_lock, "create_object", "lock"),
            (store_lock, "replace_object", "renew"),
            (store_lock, "delete_version", "release"),
            (indexes, "put_objects", "index"),
            (store_log, "create_object", "log"),
            (pieced_store, "delete_below", "clear"),
        ):
            patched.setattr(module, name, gated(getattr(module, name), what))
        yield
        _LOCKS.clear()
