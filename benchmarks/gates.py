"""The gates: is this commit as good as an earlier one? One table: before, now, ratio, limit.

The earlier commit is checked out beside this one and run with the same interpreter, in turn with it, on the same input.
``python benchmarks/gates.py --base f463d1d``; ``--gates bytes,weight`` runs some of them:

- ``bytes``: partitions of every real graph by random owners, from csv and parquet, have the same bytes
- ``dispatch``: `partition --method random` of a power-law graph with features: wall and CPU seconds, peak memory
- ``scale``: peak memory of the same job on growing graphs, budget 1 GB
- ``cuts``: `auto`, balanced nodes, all real graphs in 4, 8 and 64 parts: cut against METIS, CPU seconds
- ``both``: likewise with the default constraints
- ``ids``: string IDs to dense ones, `build --map-ids`, budget 1 GB
- ``weight``: lines, files, packages
- ``core``: lines and files of the package that `partition` of a chunked graph into `dgl` loads
- ``writes``: how often an edge of a table is written before `bucket-edges`, a feature column before its file
- ``tests``: real DGL on all real graphs, kills and resumes
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from chunk_string_ids import write_edges
from harness import RESULTS, measure, show
from pyarrow import csv, parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "data")]
from graphs import REAL_GRAPHS, file_hashes, load_real_graph  # noqa: E402

KEPT = RESULTS / "gates.json"
PARTS = (4, 8, 64)
RANDOM = ("--num-parts", "4", "--method", "random", "--quiet")


CORE = """
import contextlib, sys
from pathlib import Path
from daskgraphpart.cli.main import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "daskgraphpart"]
files = [Path(module.__file__) for module in modules if module.__file__]
print(sum(len(file.read_text().splitlines()) for file in files), len(files))
"""
"""Prints lines and files of the package that a command has loaded."""

WRITES = """
import json, sys
import daskgraphpart as dgp
from daskgraphpart.engine.progress import SilentProgress
scratch, of_pass, tables = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])

def written():
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])

found = []

class Listener(SilentProgress):
    def begin(self, name, *_):
        if name == of_pass:
            found.append(written() - before)

before, graph = written(), scratch + "/chunked"
if hasattr(dgp, "scan_tables"):
    graph = dgp.scan_tables(**tables)
else:
    dgp.chunk_edge_lists(graph, **tables)
dgp.partition(graph, scratch + "/partitions", 4, method="random", progress=Listener())
print(found[-1])
"""
"""Prints the bytes that a job from tables has written when a pass begins."""
WRITTEN_EDGES, WRITTEN_NODES = 4_000_000, 100_000
TABLES = ("dense.csv", "names.csv", "few.csv", "rows.npy", "rows.parquet")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    gate: str
    before: float
    now: float
    limit: str
    passed: bool


@dataclass(frozen=True)
class Run:
    """What a command took: the whole process tree."""

    seconds: float
    cpu_s: float
    peak_bytes: int


class Gates:
    """Two checkouts, a directory for their files, and how large the inputs are."""

    def __init__(self, base: Path, scratch: Path, options: argparse.Namespace) -> None:
        self.base, self.scratch, self.options = base, scratch, options

    def run(self, checkout: Path, *arguments: str) -> Run:
        """Run a command of one checkout in a fresh process; it has to succeed."""
        # the working directory must not come before the checkout, in this process or in those that it starts
        package = ("env", "PYTHONSAFEPATH=1", f"PYTHONPATH={checkout}", sys.executable, "-m", "daskgraphpart")
        before = os.times()
        taken = measure([*package, *arguments])
        after = os.times()
        cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
        return Run(taken.seconds, cpu_s, taken.peak_bytes)

    def pairs(self, prepare: Callable[[], None], *arguments: str) -> tuple[list[Run], list[Run]]:
        """Run both in turn, each once more than counted, which compiles the kernels and warms the disk."""
        found: tuple[list[Run], list[Run]] = ([], [])
        for _ in range(self.options.runs + 1):
            for checkout, runs in zip((self.base, ROOT), found, strict=True):
                prepare()
                runs.append(self.run(checkout, *arguments))
        return found[0][1:], found[1][1:]

    def bytes(self) -> Iterator[Row]:
        """Hashes of all files that both write."""
        same, cases = 0, 0
        for name in self.options.graphs:
            for edge_format in ("csv", "parquet"):
                directory = self.scratch / "graph"
                graph = load_real_graph(name).write(directory, edge_format=edge_format, num_chunks=3)
                hashes = []
                for checkout in (self.base, ROOT):
                    out = self.scratch / "out"
                    self.run(checkout, "partition", str(graph), str(out), *RANDOM)
                    forget_digest(out)
                    hashes.append(file_hashes(out))
                    shutil.rmtree(out)
                shutil.rmtree(directory)
                cases, same = cases + 1, same + (hashes[0] == hashes[1])
                if hashes[0] != hashes[1]:
                    print(f"bytes differ: {name} {edge_format}", flush=True)
        yield Row("same bytes, cases", cases, same, "all", same == cases)

    def dispatch(self) -> Iterator[Row]:
        """Wall time, CPU time and memory of the dispatch, pair by pair."""
        for edge_format in ("csv", "parquet"):
            graph, out = self.generated(self.options.edges, edge_format), self.scratch / "out"
            command = ("partition", str(graph), str(out), *RANDOM, "--memory", "4GB")
            before, now = self.pairs(lambda out=out: shutil.rmtree(out, ignore_errors=True), *command)
            shutil.rmtree(graph)
            yield in_pairs(f"dispatch of {edge_format}, wall s", before, now, lambda run: run.seconds, 1.05)
            yield in_pairs(f"dispatch of {edge_format}, CPU s", before, now, lambda run: run.cpu_s, 1.05)
            yield in_pairs(f"dispatch of {edge_format}, peak GB", before, now, lambda run: run.peak_bytes / 1e9, 1.1)

    def scale(self) -> Iterator[Row]:
        """Memory does not grow with the graph."""
        for edges in self.options.scale_edges.split(","):
            graph, out = self.generated(edges, "parquet"), self.scratch / "out"
            command = ("partition", str(graph), str(out), *RANDOM, "--memory", "1GB")
            before, now = self.pairs(lambda out=out: shutil.rmtree(out, ignore_errors=True), *command)
            shutil.rmtree(graph)
            yield in_pairs(f"{float(edges):.0e} edges in 1 GB, peak GB", before, now, lambda r: r.peak_bytes / 1e9, 1.1)
            yield in_pairs(f"{float(edges):.0e} edges in 1 GB, wall s", before, now, lambda r: r.seconds, 1.05)

    def cuts(self) -> Iterator[Row]:
        """Cut of `auto` against METIS, and what it costs; the earlier commit is measured once and kept."""
        yield from self.assigned("nodes")

    def both(self) -> Iterator[Row]:
        """The same with nodes and in-edges balanced, the default."""
        yield from self.assigned("nodes,edges")

    def assigned(self, balance: str) -> Iterator[Row]:
        """Cuts and CPU seconds of `auto`, before and now, beside those of METIS."""
        before = self.measured_once(f"auto {balance}", lambda: self.over_all(self.base, "auto", balance))
        metis = self.measured_once(f"metis {balance}", lambda: self.over_all(self.base, "metis", balance))
        now = self.over_all(ROOT, "auto", balance)
        keep(f"now: auto {balance}", now)
        of_metis = [[of[case][0] / max(metis[case][0], 1e-9) for case in now] for of in (before, now)]
        mean = [statistics.mean(ratios) for ratios in of_metis]
        worst = [max(ratios) for ratios in of_metis]
        cpu = [sum(of[case][1] for case in now) for of in (before, now)]
        metis_cpu = sum(metis[case][1] for case in now)
        is_gate = balance == "nodes"
        yield Row(
            f"{balance}: cut / METIS, mean", *mean, "0.90" if is_gate else "1", mean[1] <= (0.9 if is_gate else 1)
        )
        yield Row(f"{balance}: cut / METIS, worst", *worst, "1.02" if is_gate else "-", worst[1] <= 1.02 or not is_gate)
        yield Row(f"{balance}: CPU s of auto", *cpu, "x 0.25", cpu[1] <= cpu[0] / 4)
        yield Row(f"{balance}: CPU of auto / METIS", cpu[0] / metis_cpu, cpu[1] / metis_cpu, "-", True)

    def over_all(self, checkout: Path, method: str, balance: str) -> dict[str, list[float]]:
        """Cut, CPU seconds and largest excess over the allowed balance of every case, each in a fresh process."""
        found = {}
        for name in self.options.graphs:
            graph = load_real_graph(name).write(self.scratch / "graph", edge_format="numpy")
            # the first run of all is not counted: it compiles the kernels
            for parts in PARTS if found else (PARTS[0], *PARTS):
                report, out = self.scratch / "report.json", self.scratch / "owners"
                run = self.run(
                    checkout, "assign", str(graph), str(out), "--num-parts", str(parts), "--method", method,
                    "--balance", balance, "--report", str(report), "--memory", "8GB", "--overwrite", "--quiet",
                )  # fmt: skip
                content = json.loads(report.read_text(encoding="utf-8"))
                excess = max(b["ratio"] / b["allowed"] - 1 for b in content["balances"] if b.get("allowed"))
                found[f"{name} {parts}"] = [content["cut_share"], run.cpu_s, excess]
                print(checkout.name, method, balance, name, parts, found[f"{name} {parts}"], flush=True)
            shutil.rmtree(graph)
        return found

    def ids(self) -> Iterator[Row]:
        """String IDs, out of core."""
        text, out = self.scratch / "edges.tsv", self.scratch / "chunked"
        write_edges(text, int(float(self.options.id_edges)))
        command = (
            "chunk",  # as earlier checkouts call build
            str(out),
            "--edges",
            str(text),
            *["--map-ids", "--memory", "1GB", "--workers", "2", "--quiet"],
        )
        before, now = self.pairs(lambda: shutil.rmtree(out, ignore_errors=True), *command)
        text.unlink()
        yield in_pairs("string IDs, wall s", before, now, lambda run: run.seconds, 1.5)
        yield in_pairs("string IDs, CPU s", before, now, lambda run: run.cpu_s, 1.5)
        yield in_pairs("string IDs, peak GB", before, now, lambda run: run.peak_bytes / 1e9, 1.1, at_most=1.25)

    def weight(self) -> Iterator[Row]:
        """Size of the package."""
        for folder, target in (("daskgraphpart", 0.5), ("tests", 0.5)):
            before, now = (list((checkout / folder).rglob("*.py")) for checkout in (self.base, ROOT))
            lines = [sum(len(path.read_text(encoding="utf-8").splitlines()) for path in of) for of in (before, now)]
            yield Row(f"lines of {folder}", *lines, f"x {target}", lines[1] <= target * lines[0])
            yield Row(f"files of {folder}", len(before), len(now), f"x {target}", len(now) <= target * len(before))

    def core(self) -> Iterator[Row]:
        """Size of what a plain job loads."""
        graph, out = self.generated("1e5", "parquet"), self.scratch / "out"
        sizes = []
        for checkout in (self.base, ROOT):
            sizes.append([int(n) for n in self.script(checkout, CORE, "partition", str(graph), str(out), *RANDOM)])
            shutil.rmtree(out)
        shutil.rmtree(graph)
        for i, (what, limit) in enumerate((("lines", 13_000), ("files", 100))):
            yield Row(f"core, {what}", sizes[0][i], sizes[1][i], f"{limit:,}", sizes[1][i] <= limit)

    def writes(self) -> Iterator[Row]:
        """Bytes written before a pass begins, over those of the edges as int64, or of the column."""
        rng, files = np.random.default_rng(0), {name: str(self.scratch / name) for name in TABLES}
        src, dst = rng.integers(0, WRITTEN_NODES, (2, WRITTEN_EDGES))
        csv.write_csv(pa.table({"src": src, "dst": dst}), files["dense.csv"])
        csv.write_csv(pa.table({"src": [f"n{i}" for i in src], "dst": [f"n{i}" for i in dst]}), files["names.csv"])
        csv.write_csv(pa.table({"src": src[:9], "dst": dst[:9]}), files["few.csv"])
        rows = rng.random((WRITTEN_NODES, 64), np.float32)
        np.save(files["rows.npy"], rows)
        columns = {"id": rng.permutation(WRITTEN_NODES), **{f"c{i}": column for i, column in enumerate(rows.T)}}
        parquet.write_table(pa.table(columns), files["rows.parquet"])
        counts, few = {"num_nodes": {"_N": WRITTEN_NODES}}, {"edges": {"_N:_E:_N": files["few.csv"]}}
        in_order, by_id = ({"node_data": {"_N": {"x": files[x]}}} for x in ("rows.npy", "rows.parquet"))
        by_id["node_data"]["_N"]["x"] += ":id:*"
        cases = (
            ("edge, dense IDs", {"edges": {"_N:_E:_N": files["dense.csv"]}, **counts}, src.nbytes * 2, 0.1),
            ("edge, string IDs", {"edges": {"_N:_E:_N": files["names.csv"]}, "map_ids": True}, src.nbytes * 2, 1.1),
            ("column in the order of rows", {**few, **counts, **in_order}, rows.nbytes, 0.2),
            ("column by ID", {**few, **counts, **by_id}, rows.nbytes, 1.2),
        )
        for name, tables, nbytes, limit in cases:
            of_pass, found = "bucket-edges" if name.startswith("edge") else "place-rows", []
            for checkout in (self.base, ROOT):
                place = self.scratch / "written"
                place.mkdir()
                found.append(int(self.script(checkout, WRITES, str(place), of_pass, json.dumps(tables))[0]) / nbytes)
                shutil.rmtree(place)
            yield Row(f"writes of an {name}".replace("an c", "a c"), *found, f"{limit}", found[1] <= limit)

    def script(self, checkout: Path, script: str, *arguments: str) -> list[str]:
        """Run a script on the package of one checkout; return the words that it prints at its end."""
        environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(checkout)}
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()[-1].split()

    def tests(self) -> Iterator[Row]:
        """Tests that are gates by themselves."""
        for name, what in (("real DGL on all real graphs", "real_graphs"), ("kills and resumes", "resume")):
            done = subprocess.run([sys.executable, "-m", "pytest", "--quiet", f"tests/{what}"], cwd=ROOT, check=False)
            yield Row(name, 0, done.returncode, "0", done.returncode == 0)

    def generated(self, edges: str, edge_format: str) -> Path:
        """Generate a power-law graph with 50 float32 features a node."""
        sizes = ("--nodes", str(int(float(edges) / 10)), "--edges", str(int(float(edges))))
        graph = self.scratch / "graph"
        self.run(self.base, "generate", str(graph), *sizes, "--edge-format", edge_format, "--quiet")
        return graph

    def measured_once(self, name: str, work: Callable[[], dict[str, list[float]]]) -> dict[str, list[float]]:
        """Look up the figures of the earlier commit, or measure them."""
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
        key = f"{self.options.base}: {name}"
        if key not in kept or not {f"{g} {p}" for g in self.options.graphs for p in PARTS} <= kept[key].keys():
            keep(key, work())
            kept = json.loads(KEPT.read_text(encoding="utf-8"))
        return dict(kept[key])


def forget_digest(out: Path) -> None:
    """Take its own checksum out of the manifest of partitions: earlier versions wrote none."""
    for path in out.glob("*.manifest.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("digest", None)
        path.write_text(json.dumps(content), encoding="utf-8")


def keep(key: str, found: dict[str, list[float]]) -> None:
    """Add figures to those that are kept."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    kept[key] = {**kept.get(key, {}), **found}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def in_pairs(
    name: str,
    before: Sequence[Run],
    now: Sequence[Run],
    figure: Callable[[Run], float],
    limit: float,
    at_most: float = 0.0,
) -> Row:
    """Compare medians by the median of the ratios, pair by pair."""
    ratio = statistics.median(figure(b) / figure(a) for a, b in zip(before, now, strict=True))
    first, second = (statistics.median(figure(run) for run in runs) for runs in (before, now))
    return Row(name, first, second, f"x {limit}", ratio <= limit or second <= at_most)


def main() -> None:
    names = ("weight", "core", "writes", "bytes", "dispatch", "scale", "cuts", "both", "ids", "tests")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="f463d1d", help="commit to compare with")
    parser.add_argument("--gates", default=",".join(names))
    parser.add_argument("--graphs", default=",".join(REAL_GRAPHS))
    parser.add_argument("--edges", default="5e7", help="of the graph of `dispatch`")
    parser.add_argument("--scale-edges", default="1e7,4e7,16e7")
    parser.add_argument("--id-edges", default="1e7")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    options.graphs = options.graphs.split(",")
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        base = Path(scratch) / "base"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(base), options.base], check=True)
        try:
            gates = Gates(base, Path(scratch), options)
            rows = [row for name in options.gates.split(",") for row in getattr(gates, name)()]
        finally:
            subprocess.run([*git, "remove", "--force", str(base)], check=True)
    cells = [
        [r.gate, f"{r.before:,.4g}", f"{r.now:,.4g}", f"{r.now / r.before:.2f}" if r.before else "-", r.limit,
         "yes" if r.passed else "NO"]
        for r in rows
    ]  # fmt: skip
    show(["gate", f"before ({options.base})", "now", "now / before", "limit", "held"], cells)
    sys.exit(0 if all(row.passed for row in rows) else 1)


if __name__ == "__main__":
    main()
