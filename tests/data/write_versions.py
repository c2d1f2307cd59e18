"""Write what this version leaves on disk, for `tests/layouts/test_versions.py`: `python tests/data/write_versions.py`.

Done once for a version, and not again: later ones must read these very bytes, in `versions/<version>.tar.gz`.
"""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import listeners

import daskgraphpart as dgp

VERSIONS = Path(__file__).parent / "versions"
EDGES = "user,item,price\n" + "".join(f"u{i % 7},{i * 5 % 11},{i / 4}\n" for i in range(40))
USERS = "key,age,set\n" + "".join(f"u{i},{20 + i},{('train', 'val', 'test', '')[i % 4]}\n" for i in range(8))


def write() -> None:
    """Write into the working directory: a graph, owners, partitions of all layouts, and an unfinished job."""
    Path("edges.csv").write_text(EDGES, encoding="utf-8")
    Path("users.csv").write_text(USERS, encoding="utf-8")
    tables = dgp.scan_tables(
        {"user:buys:item": "edges.csv:user,item"}, edge_columns="price", map_ids=True,
        nodes={"user": "users.csv:key"}, node_data={"user": {"age": "users.csv:key:age"}},
        split={"user": "users.csv:key:set"}, name="old",
    )  # fmt: skip
    tables.write_chunked("graph")
    for form in ("npy", "parquet", "zarr"):
        dgp.assign("graph", 2, out=f"owners-{form}", form=form, method="random")
    dgp.partition("graph", "parts", 2, method="owners-npy", layout=("dgl", "graphbolt", "ranks", "parquet"))
    dgp.partition("graph", "graphstorm", 2, method="owners-npy", layout="graphstorm")
    dgp.partition("graph", "ondisk", 1, layout=("dgl", "ondisk"))
    try:
        stopped = listeners.Listener(stop_after="relabel-nodes")
        dgp.partition("graph", "unfinished", 2, method="random", progress=stopped)
    except listeners.Stopped:
        return
    raise AssertionError("the job was not stopped")


if __name__ == "__main__":
    VERSIONS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        write()
        with tarfile.open(VERSIONS / f"{dgp.__version__}.tar.gz", "x:gz") as archive:
            archive.add(".")
