"""Stores as the tests use them: how the S3 server is reached, what is put in and taken out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
from graphs import Graph

from daskgraphpart import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEYS = {"key": "of-tests", "secret": "of-tests"}


@dataclass(frozen=True)
class S3:
    """A server, and how it is reached."""

    address: str

    @property
    def options(self) -> dict[str, Any]:
        """What `fsspec.filesystem` is given."""
        config = {"retries": {"max_attempts": 1}, "connect_timeout": 5}
        return {
            **KEYS,
            "endpoint_url": self.address,
            "client_kwargs": {"region_name": "us-east-1"},
            "config_kwargs": config,
        }

    @property
    def files(self) -> Any:
        """The file system of fsspec."""
        return fsspec.filesystem("s3", use_listings_cache=False, **self.options)

    def post(self, what: str, data: str = "") -> None:
        """Tell the server itself something."""
        request = urllib.request.Request(
            f"{self.address}/moto-api/{what}", data.encode(), {"Content-Type": "text/plain"}, method="POST"
        )
        urllib.request.urlopen(request, timeout=10).close()

    def unfinished_uploads(self, bucket: str) -> list[str]:
        """Keys of uploads in parts that were begun and are neither finished nor given up."""
        found = self.files.call_s3("list_multipart_uploads", Bucket=bucket)
        return [upload["Key"] for upload in found.get("Uploads", ())]


SERVER = """
import sys
from moto import backends
from moto.s3 import exceptions, models
from moto.server import main
from werkzeug.serving import WSGIRequestHandler

class Uploads(dict):
    def __missing__(self, upload):
        raise exceptions.NoSuchUpload(upload)  # moto's own answer is 500

begin = models.FakeBucket.__init__

def begun(self, *args, **kwargs):
    begin(self, *args, **kwargs)
    self.multiparts = Uploads()

models.FakeBucket.__init__ = begun
# a third of what a request takes: the directory of moto, searched twice, and lines for nobody
names = [*backends.list_of_moto_modules()]
backends.list_of_moto_modules = lambda: names
WSGIRequestHandler.log_request = lambda *_: None
main(sys.argv[1:])
"""


@contextmanager
def serve_s3() -> Iterator[S3]:
    """Run an S3 server on this machine, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-c", SERVER, "-H", "127.0.0.1", "-p", str(port)]
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


def make_graph(num_nodes: int = 300, num_edges: int = 2000) -> Graph:
    """Two node types and two edge types with features of both kinds."""
    rng = np.random.default_rng(5)
    types = (NodeType("user", num_nodes), NodeType("item", num_nodes // 2))
    edge_types = (EdgeType("user", "buys", "item", num_edges), EdgeType("user", "knows", "user", num_edges // 2))
    schema = GraphSchema("shop", types, edge_types)
    counts = {t.name: t.num_nodes for t in types}
    edges = {
        t.name: (rng.integers(counts[t.src], size=t.num_edges), rng.integers(counts[t.dst], size=t.num_edges))
        for t in edge_types
    }
    nodes = {
        "user": {
            "feat": rng.standard_normal((num_nodes, 8)).astype(np.float32),
            "train_mask": rng.random(num_nodes) < 0.5,
        },
        "item": {"price": rng.standard_normal(num_nodes // 2)},
    }
    return Graph(schema, edges, nodes, {"user:buys:item": {"when": rng.integers(0, 99, num_edges)}})


def copy_in(directory: Path, files: Any, target: str) -> None:
    """Copy a directory into a store."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            files.pipe_file(f"{target}/{path.relative_to(directory)}", path.read_bytes())


def contents_of(files: Any, target: str) -> dict[str, bytes]:
    """All files below a directory of a store, by relative name."""
    root = files._strip_protocol(target).strip("/")
    return {name.strip("/")[len(root) + 1 :]: files.cat_file(name) for name in files.find(target)}


def local_contents(directory: Path) -> dict[str, bytes]:
    """The same of a local directory."""
    return {os.fspath(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}
