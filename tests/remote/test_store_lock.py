"""The lock of a directory in a store."""

from __future__ import annotations

from typing import Any

import pytest
from upath import UPath

from daskgraphpart.storage import store_lock
from daskgraphpart.storage.lock import LockNotes
from daskgraphpart.storage.store_lock import StoreLock


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"3", b'{"workspace": 5}', b'{"state": []}', b'{"run": "x"', b"[" * 100_000, b"\xff"]
)
def test_a_lock_object_that_is_no_json_object_is_that_of_a_dead_run(
    content: bytes, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_lock, "SECONDS_BETWEEN_BEATS", 0.05)
    monkeypatch.setattr(store_lock, "SECONDS_OF_PATIENCE", 0.1)
    memory.pipe_file("/work/lock/00000001", content)
    lock = StoreLock(UPath("memory://work"))
    assert lock.notes.workspace is None and isinstance(lock.notes, LockNotes)
    lock.commit()
    lock.release()
    assert memory.find("/work") == []
