"""Stores of the tests: memory, and an S3 server on this machine, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from remote_stores import S3

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        server = S3(f"http://127.0.0.1:{port}")
        try:
            for _ in range(200):
                assert process.poll() is None, "the server ended"
                try:
                    server.post("reset")
                    break
                except OSError:
                    time.sleep(0.1)
            yield server
        finally:
            process.terminate()


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
