"""The jobs that faults befall, and their inputs: every command that writes, small enough to run hundreds of times."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from commands import call
from faults.kills import make_inputs
from inside import Resources
from keywords import spelled
from parmetis_programs import pm_dglpart
from pyarrow import parquet

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

OF_JOBS = ("--memory", "64MB", "--workers", "2", "--quiet")
ALL = ("--num-hops", "3", "--graph-formats", "coo,csr,csc", "--out-edges")


@dataclass(frozen=True)
class Job:
    """A command; ``{in}``, ``{out}`` and ``{work}`` stand for directories; `judge` says whether its output is whole.

    `sizes`: how the work is cut, where not as in `kills.TINY`, and `most_arcs` that are solved in memory; `out`: what
    in the directory of the output is given as ``{out}``.
    """

    name: str
    words: tuple[str, ...]
    judge: tuple[str, ...]
    sizes: dict[str, int] = field(default_factory=dict)
    out: str = "out"

    @property
    def can_continue(self) -> bool:
        """Whether it has a journal."""
        return self.words[0] in ("partition", "dispatch", "assign")


def partition(name: str, graph: str, method: str, *options: str, **sizes: int) -> Job:
    """A `partition` into three parts."""
    words = ("partition", f"{{in}}/{graph}", "{out}", "--num-parts", "3", "--method", method, *OF_JOBS, *options)
    return Job(name, (*words, "--workspace", "{work}"), ("verify", f"{{in}}/{graph}", "{out}", "--quiet"), sizes)


def assign(name: str, graph: str, method: str, *options: str) -> Job:
    """An `assign` to three parts; what reads owners judges them."""
    words = ("assign", f"{{in}}/{graph}", "{out}", "--num-parts", "3", "--method", method, *OF_JOBS, *options)
    judge = ("dispatch", f"{{in}}/{graph}", "{out}", "{out}-judged", *OF_JOBS)
    return Job(name, (*words, "--workspace", "{work}"), judge)


CITES, WRITES = "paper:cites:paper", "author:writes:paper"
JOBS = {
    job.name: job
    for job in (
        partition("random", "homogeneous", "random", "--staging", "in-place"),
        partition("zarr", "parquet", "random", "--staging", "zarr", *ALL),
        partition("fennel", "heterogeneous", "fennel", "--num-trainers-per-machine", "2", "--fill-parts"),
        partition("multilevel", "homogeneous", "multilevel", "--refine"),
        partition("on-disk", "homogeneous", "multilevel", most_arcs=500),
        partition("by-range", "heterogeneous", "random", map_bytes=0),
        Job(
            "dispatch",
            ("dispatch", "{in}/parquet", "{in}/owners-heterogeneous", "{out}", *OF_JOBS, "--workspace", "{work}"),
            ("verify", "{in}/parquet", "{out}", "--quiet"),
        ),
        assign("assign", "homogeneous", "fennel", "--num-trainers-per-machine", "2"),
        assign("metis", "heterogeneous", "metis"),
        Job(
            "build",
            (
                "build", "{out}", "--map-ids", "--edges", f"{CITES}={{in}}/lists/cites.csv", "--edges",
                f"{WRITES}={{in}}/lists/writes.parquet", "--node-data", "paper/x={in}/lists/x.npy",
                "--nodes", "paper={in}/lists/papers.csv:doi", *OF_JOBS, "--workspace", "{work}",
            ),
            ("info", "{out}"),
        ),
        Job(
            "convert",
            (
                "parmetis", "convert", "{in}/parmetis", "{out}", "--graph-name", "h", "--removed-edges",
                "h_removed_edges.txt", *OF_JOBS, "--workspace", "{work}",
            ),
            ("verify", "{in}/bare", "{out}", "--quiet"),
        ),
        Job(
            "to-original",
            (
                "to-original", "{in}/partitions", "{in}/rows.npy", "{out}", "--type", "item",
                *OF_JOBS, "--workspace", "{work}",
            ),
            ("from-original", "{in}/partitions", "{out}", "{out}-judged.npy", "--type", "item", *OF_JOBS),
            out="rows.npy",
        ),
    )
}  # fmt: skip


def make_all(root: Path) -> None:
    """Write the inputs of all jobs."""
    make_inputs(root)
    how = Resources(1 << 28, "sync")
    dgp.partition(root / "heterogeneous", root / "partitions", 3, method="random", **spelled(how))
    np.save(root / "rows.npy", np.arange(1200.0).reshape(400, 3))
    forms = {"edges_fmt": "parquet", "data_fmt": "parquet"}
    dgp.chunk_graph(root / "heterogeneous", "h", num_chunks=2, output_path=root / "parquet", **spelled(how), **forms)
    _make_lists(root / "lists")
    # what `pm_dglpart` makes of the heterogeneous graph without its features
    shutil.copytree(root / "heterogeneous", root / "bare")
    path = root / "bare" / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "node_data": {}, "edge_data": {}}))
    assert call("parmetis", "write", root / "bare", root / "parmetis", *OF_JOBS) == 0
    pm_dglpart(root / "parmetis", "h", 3)


def _make_lists(directory: Path) -> None:
    """Edge lists with IDs that have to be mapped."""
    rng = np.random.default_rng(11)
    directory.mkdir()
    (directory / "papers.csv").write_text("doi\n" + "".join(f"p{i}\n" for i in rng.permutation(300)))
    cites = rng.integers(0, 300, (900, 2))
    (directory / "cites.csv").write_text("src,dst\n" + "".join(f"p{a},p{b}\n" for a, b in cites))
    writes = rng.integers(0, 200, 700), rng.integers(0, 300, 700)
    columns = [[f"a{i}" for i in writes[0]], [f"p{i}" for i in writes[1]]]
    parquet.write_table(pa.table(columns, names=["src", "dst"]), directory / "writes.parquet")
    np.save(directory / "x.npy", rng.random((300, 4), np.float32))
