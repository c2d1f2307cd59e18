"""Stores of the tests: memory, and an S3 server on this machine, in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apart
import fsspec
import pytest
from remote_stores import S3, serve_s3

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def hidden(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the files of tests from "machines" that share no disk."""
    apart.hidden = tmp_path_factory.getbasetemp()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with serve_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3) -> S3:
    """The server, empty but for one bucket."""
    s3_server.post("reset")
    s3_server.files.call_s3("create_bucket", Bucket="bucket")
    return s3_server


@pytest.fixture
def memory() -> Iterator[Any]:
    """The file system of ``memory://``, empty before and after."""
    files = fsspec.filesystem("memory")
    for clean in (True, False):
        files.store.clear()
        files.pseudo_dirs[:] = [""]
        if clean:
            yield files
