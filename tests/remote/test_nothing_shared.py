"""Scheduler, workers and client share nothing but a bucket, and are killed at random: the bytes of one machine.

Sizes are real ones, beyond the memory of spools, copies and requests: EDGES of the environment, 50 features.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import apart
import pytest
from apart import machines_apart, start_client, start_worker
from cluster_tasks import share_small_graphs

import daskgraphpart as dgp
from daskgraphpart.storage.paths import open_known
from daskgraphpart.storage.upload import upload_file

if TYPE_CHECKING:
    from pathlib import Path

    from remote_stores import S3

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(7200),
]

EDGES = int(float(os.environ.get("EDGES", "1.5e6")))
LAYOUTS = ["dgl", "graphbolt", "graphstorm", "ranks", "parquet"]
"""All that a store can hold: ondisk names its files by local path."""
HOW: dict[str, Any] = {"num_parts": 4, "layout": LAYOUTS, "memory": "1GB", "workers": 3, "progress": False}
URL_IN, URL_OUT, URL_WORK = "s3://bucket/graph", "s3://bucket/parts", "s3://bucket/work"
PIECE = 8 << 20
SHARE = "import cluster_tasks; cluster_tasks.share_small_graphs()\n"
"""Workers share `partition-graph` of graphs of this size, too."""

JOB = """
import json, logging, sys
import dask
import daskgraphpart
from daskgraphpart.storage import store_lock
store_lock.SECONDS_BETWEEN_BEATS, store_lock.SECONDS_OF_PATIENCE = 0.5, 3
dask.config.set({"distributed.comm.timeouts.connect": "5s", "daskgraphpart.connect-timeout": "5s"})
logging.basicConfig(level=logging.INFO)
daskgraphpart.partition(**json.loads(sys.argv[1]))
"""


def digests_here(root: Path) -> dict[str, str]:
    """Hash all files below a directory, by relative name."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                found[str(path.relative_to(root))] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def digests_there(files: Any, url: str) -> dict[str, str]:
    """Hash all files below a directory of a store, a piece at a time."""
    root, found = files._strip_protocol(url), {}
    for name, size in files.du(url, total=False).items():
        digest = hashlib.sha256()
        for start in range(0, size, PIECE):
            digest.update(files.cat_file(name, start=start, end=min(start + PIECE, size)))
        found[name[len(root) + 1 :]] = digest.hexdigest()
    return found


@pytest.mark.parametrize("is_shared", [False, True])
def test_machines_killed_at_random_make_the_bytes_of_one(
    is_shared: bool, s3: S3, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LOWER", SHARE if is_shared else "")
    if is_shared:
        share_small_graphs(monkeypatch.setattr)
    nodes = str(EDGES // 10)
    command = [sys.executable, "-m", "daskgraphpart", "generate", str(tmp_path / "graph"), "--nodes", nodes]
    subprocess.run([*command, "--edges", str(EDGES), "--labels", "--quiet"], check=True)
    for path in sorted((tmp_path / "graph").rglob("*")):
        if path.is_file():
            upload_file(str(path), open_known("s3", f"{URL_IN}/{path.relative_to(tmp_path / 'graph')}", s3.options))
    begun = time.monotonic()
    how = {**HOW, "method": "multilevel" if is_shared else "auto"}
    dgp.partition(tmp_path / "graph", tmp_path / "out", **how)
    alone = time.monotonic() - begun
    there = {"graph": URL_IN, "out": URL_OUT, **how, "workspace": URL_WORK, "storage_options": s3.options}
    rng, kills, killed = random.Random(os.environ.get("SEED", "0")), request.config.getoption("--kills"), []
    begun = time.monotonic()
    while True:
        with machines_apart(3) as (address, scheduler, workers):
            client = start_client(JOB, json.dumps({**there, "cluster": address}))
            doomed = "nobody"
            while doomed in ("nobody", "worker"):  # a worker's place is taken by another
                doomed = rng.choice(["client", "worker", "scheduler", "all"]) if len(killed) < kills else "nobody"
                try:
                    client.wait(rng.uniform(8, 10 + 3 * alone) if doomed != "nobody" else None)
                    doomed = "ended"
                    break
                except subprocess.TimeoutExpired:
                    killed.append(doomed)
                if doomed == "worker":
                    workers[-1].kill()
                    workers.append(start_worker(address))
            victims: dict[str, list[subprocess.Popen[Any]]] = {
                "client": [client],
                "scheduler": [scheduler],
                "all": [client, scheduler, *workers],
                "ended": [],
            }
            for victim in victims[doomed]:
                victim.kill()
            printed, _ = client.communicate(timeout=300)
        print(f"{time.monotonic() - begun:.0f} s: {doomed}, exit code {client.returncode}")
        if doomed == "ended":
            assert client.returncode == 0, printed
            break
        assert client.returncode != 0, printed
        if doomed == "scheduler":
            assert "Run the same command again to continue" in printed or "No dask scheduler answers" in printed
    print(f"killed: {killed}; {alone:.0f} s on one machine, {time.monotonic() - begun:.0f} s apart with all kills")
    found = digests_there(s3.files, URL_OUT)
    assert found == digests_here(tmp_path / "out")
    print(f"{len(found)} files equal")
    assert s3.files.find(URL_WORK) == [] and s3.unfinished_uploads("bucket") == []
