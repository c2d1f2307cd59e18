"""A store that is busy, slow or badly connected: the same bytes, by asking again."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from faulty_store import FAULTS, SLOW_SECONDS, faulty_store
from remote_stores import S3, contents_of, copy_in, local_contents, make_graph
from upath import UPath

from daskgraphpart import partition
from daskgraphpart.storage import object_store
from daskgraphpart.storage.object_store import OBJECTS
from daskgraphpart.storage.store_objects import create_object
from daskgraphpart.storage.upload import SEND_NBYTES, upload_file

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.timeout(170),
]

URL_IN, URL_OUT, URL_WORK = "s3://bucket/graph", "s3://bucket/partitions", "s3://bucket/work"


def patient_options(s3: S3) -> dict[str, Any]:
    """How users reach a store: they leave alone how often it is asked again."""
    return {name: value for name, value in s3.options.items() if name != "config_kwargs"}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("method", ["random", "fennel"])
def test_a_store_that_fails_once_in_fifty_requests_gives_the_same_bytes(
    method: str, fault: str, s3: S3, tmp_path: Path
) -> None:
    make_graph().write(tmp_path / "graph", num_chunks=3)
    copy_in(tmp_path / "graph", s3.files, URL_IN)
    how: dict[str, Any] = {"num_parts": 3, "method": method, "memory": "200MB", "workers": 2}
    partition(tmp_path / "graph", tmp_path / "out", **how)
    numbers = itertools.count(1)
    notes: list[str] = []
    with faulty_store(s3.address, lambda *_: None if next(numbers) % 50 else fault) as (address, store):
        there = {"workspace": URL_WORK, "storage_options": patient_options(replace(s3, address=address))}
        partition(URL_IN, URL_OUT, **how, **there, progress=lambda event: notes.append(event.get("text", "")))
    assert len(store.made) > 5
    assert contents_of(s3.files, URL_OUT) == local_contents(tmp_path / "out")
    assert s3.files.find(URL_WORK) == []
    (told,) = (note for note in notes if note.startswith("store: "))
    assert fault != "busy" or f"{len(store.made)} requests failed" in told, told  # aiohttp mends connections by itself


def test_what_was_created_though_the_answer_was_lost_is_ours(s3: S3) -> None:
    last: list[str] = []

    def choose(method: str, path: str) -> str | None:
        is_first = method == "PUT" and path not in last
        last.append(path)
        return "lost" if is_first else None

    with faulty_store(s3.address, choose) as (address, store):
        place = UPath("s3://bucket/work/journal/0", **patient_options(replace(s3, address=address)))
        assert create_object(place, b"mine") and store.made == ["lost"]
        assert not create_object(place, b"another's")
    assert s3.files.cat_file(place.path) == b"mine"


def test_an_upload_is_complete_though_the_answer_was_lost(s3: S3, tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(SEND_NBYTES + 12_345)
    (tmp_path / "large").write_bytes(content)
    ends: list[str] = []

    def choose(method: str, path: str) -> str | None:
        if "?uploadId" in path:
            ends.append(path)
        return "lost" if "?uploadId" in path and len(ends) == 1 else None

    with faulty_store(s3.address, choose) as (address, store):
        options = {**patient_options(replace(s3, address=address)), "config_kwargs": {"retries": {"max_attempts": 1}}}
        upload_file(str(tmp_path / "large"), UPath("s3://bucket/large", **options))
    assert store.made == ["lost"] and len(ends) > 1
    assert s3.files.cat_file("s3://bucket/large") == content


def test_a_request_that_met_another_one_is_made_again(s3: S3, tmp_path: Path) -> None:
    content = np.random.default_rng(0).bytes(SEND_NBYTES + 12_345)
    (tmp_path / "large").write_bytes(content)
    asked: list[str] = []

    def choose(method: str, path: str) -> str | None:
        is_first = method != "GET" and path not in asked
        asked.append(path)
        return "conflict" if is_first else None

    with faulty_store(s3.address, choose) as (address, store):
        root = UPath("s3://bucket", **patient_options(replace(s3, address=address)))
        assert create_object(root / "journal", b"mine")
        upload_file(str(tmp_path / "large"), root / "large")
    assert len(store.made) == 5  # of both objects, of two parts, and of the begin and end of the upload
    assert s3.files.cat_file("s3://bucket/journal") == b"mine"
    assert s3.files.cat_file("s3://bucket/large") == content


def test_a_store_that_does_not_answer_is_named(
    s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(object_store, "SECONDS_OF_SILENCE", SLOW_SECONDS / 5)
    (tmp_path / "large").write_bytes(bytes(SEND_NBYTES + 1))
    with faulty_store(s3.address, lambda *_: "slow") as (address, _):
        root = UPath("s3://bucket", **patient_options(replace(s3, address=address)))
        for ask in (lambda path: path.fs and upload_file(str(tmp_path / "large"), path), OBJECTS.size):
            caplog.clear()
            ask(root / "large")
            assert "s3://bucket/large: no answer for" in caplog.text
