"""The lock of a directory in a store."""

from __future__ import annotations

from typing import Any

import pytest
import s3fs
from remote_stores import S3, contents_of
from upath import UPath

from daskgraphpart.errors import OutputLockedError
from daskgraphpart.storage import store_lock, upload
from daskgraphpart.storage.lock import LockNotes
from daskgraphpart.storage.output_lock import OutputLock, output_lock
from daskgraphpart.storage.store_lock import StoreLock
from daskgraphpart.storage.upload import open_for_upload


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_lock, "SECONDS_BETWEEN_BEATS", 0.05)
    monkeypatch.setattr(store_lock, "SECONDS_OF_PATIENCE", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"3", b'{"workspace": 5}', b'{"state": []}', b'{"run": "x"', b"[" * 100_000, b"\xff"]
)
def test_a_lock_object_that_is_no_json_object_is_that_of_a_dead_run(content: bytes, memory: Any) -> None:
    memory.pipe_file("/work/lock/00000001", content)
    lock = StoreLock(UPath("memory://work"))
    assert lock.notes.workspace is None and isinstance(lock.notes, LockNotes)
    lock.commit()
    lock.release()
    assert memory.find("/work") == []


@pytest.mark.usefixtures("impatient")
def test_a_lock_that_is_gone_is_not_said_to_be_of_another_run(memory: Any) -> None:
    lock = StoreLock(UPath("memory://work"))
    lock.check()
    memory.rm("/work/lock", recursive=True)
    with pytest.raises(
        OutputLockedError, match=r"memory://work: the lock .* is gone: .*has deleted it, or another.*Look"
    ):
        lock.check()
    memory.pipe_file("/work/lock/00000002", b'{"run": "x", "host": "h", "pid": 7}')
    with pytest.raises(OutputLockedError, match=r"another run \(pid 7 on host h\) has taken over while"):
        lock.check()
    lock.release()


def sleep(claimed: OutputLock) -> None:
    """Let a run show no life any more."""
    claimed._is_over.set()
    claimed._thread.join()


def dead(claimed: OutputLock, is_committed: bool) -> OutputLock:
    """Kill a run before or after it commits."""
    if is_committed:
        claimed.commit()
    sleep(claimed)
    return claimed


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("is_minio", [False, True])
def test_who_takes_an_output_in_s3_ends_what_others_have_under_way(
    is_minio: bool, s3: S3, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask = s3fs.S3FileSystem.call_s3

    def listing_all_or_none(self: Any, method: str, *settings: Any, **what: Any) -> Any:
        return {} if method == "list_multipart_uploads" and what.get("Prefix") else ask(self, method, *settings, **what)

    if is_minio:
        monkeypatch.setattr(s3fs.S3FileSystem, "call_s3", listing_all_or_none)
    out, complete = UPath("s3://bucket/out", use_listings_cache=False, **s3.options), upload.complete_upload

    def write(claimed: OutputLock, content: bytes) -> None:
        with open_for_upload(out / "a", len(content), claimed.claim) as file:
            file.write(content)

    def sleeping(*asked: Any) -> str:
        monkeypatch.setattr(upload, "complete_upload", complete)
        sleep(first)
        for content in (b"of another", b"older"):  # the second is what was there before
            with output_lock(out) as other:
                other.commit()
                write(other, content)
        return complete(*asked)

    first = OutputLock(out)
    first.commit()
    write(first, b"older")
    monkeypatch.setattr(upload, "complete_upload", sleeping)
    with pytest.raises(OutputLockedError, match="another run has taken over"):
        write(first, b"late")
    assert contents_of(s3.files, "s3://bucket/out") == {"a": b"older"}
    assert s3.unfinished_uploads("bucket") == [] and "make sure" not in caplog.text


@pytest.mark.usefixtures("impatient", "memory")
def test_what_a_run_has_left_is_of_those_before_it_until_it_commits() -> None:
    out = UPath("memory://out")
    first, *others = (dead(OutputLock(out), is_committed) for is_committed in (True, False, False, True, False))
    assert [of.previous for of in (first, *others)] == [
        (), (first.run,), (others[0].run, first.run), (others[1].run, others[0].run, first.run), (others[2].run,),
    ]  # fmt: skip


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("url", ["memory://out", "s3://bucket/out"])
def test_a_store_that_cannot_end_what_others_have_under_way_says_so(
    url: str, s3: S3, memory: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    out = UPath(url, **({"use_listings_cache": False, **s3.options} if url.startswith("s3") else {}))
    monkeypatch.setattr(upload, "_unfinished_uploads", lambda *_: iter(()))
    first = OutputLock(out)
    first.commit()
    assert "make sure" not in caplog.text
    sleep(first)
    with output_lock(out) as second:
        second.commit()
    assert "the run before has not ended" in caplog.text and "make sure that it is dead" in caplog.text
    assert s3.unfinished_uploads("bucket") == []
