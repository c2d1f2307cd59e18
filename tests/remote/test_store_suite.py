"""Files on a disk, in object stores, in workspaces there, and in stores that fail: one suite."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from faulty_store import faulty_store
from store_suite import StoreSuite, WorkspaceSuite
from upath import UPath

from daskgraphpart.storage.store_workspace.pieced_store import pieced_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from remote_stores import S3


class TestLocalStore(WorkspaceSuite):
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return tmp_path / "work"


class TestObjectStore(StoreSuite):
    @pytest.fixture(params=["memory", "s3"])
    def root(self, request: pytest.FixtureRequest) -> UPath:
        if request.param == "memory":
            request.getfixturevalue("memory")
            return UPath("memory://bucket/root")
        return UPath("s3://bucket/root", use_listings_cache=False, **request.getfixturevalue("s3").options)

    def put(self, path: Any, content: bytes) -> None:
        path.fs.pipe_file(path.path, content)


class TestPiecedStore(WorkspaceSuite):
    @pytest.fixture(params=["memory", "s3", "a store that fails"])
    def root(self, request: pytest.FixtureRequest) -> Iterator[Path]:
        with ExitStack() as stack:
            directory = UPath("memory://bucket")
            if request.param == "memory":
                request.getfixturevalue("memory")
            else:
                s3: S3 = request.getfixturevalue("s3")
                options = s3.options
                if request.param != "s3":
                    numbers, faults = itertools.count(1), itertools.cycle(("busy", "reset", "lost", "half"))
                    choose = lambda *_: None if next(numbers) % 5 else next(faults)  # noqa: E731
                    address, _ = stack.enter_context(faulty_store(s3.address, choose))
                    options = {**replace(s3, address=address).options, "config_kwargs": {}}
                directory = UPath("s3://bucket", use_listings_cache=False, **options)
            store = stack.enter_context(pieced_store(directory / "work", directory / "out"))
            yield Path(store.root) / "job"
