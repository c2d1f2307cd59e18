"""GraphStorm's graph construction: a config over tables with string IDs, by this package and by gconstruct 0.5.1.

Two node types and two relations in Parquet; IDs such as ``user-9e3779b97f4a7c15``, transforms of three kinds, labels
and splits. Both write partitions for GraphStorm, with owners at random, which costs neither side anything. gconstruct
runs in the environment of ``make graphstorm-env``; past ``--limit`` it is stopped, and its peak up to then is told.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import keep_lines, measure, our_command, show

from daskgraphpart.engine.measure import SECONDS_BETWEEN_SAMPLES, tree_bytes

ROOT = Path(__file__).parent.parent
GRAPHSTORM = ROOT / ".venv-dgl-graphstorm-0.5.1" / "bin" / "python"
WITHOUT_AUTOGLUON = ROOT / "tests" / "real_dgl" / "without_autogluon"
FILES, WIDTH, NUM_CLASSES = 8, 32, 10
COUNTRIES = np.array([f"country-{i:02d}" for i in range(50)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="2e6")
    parser.add_argument("--edges", default="2e7")
    parser.add_argument("--parts", default="4")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--limit", type=float, default=14, help="GB at which gconstruct is stopped")
    parser.add_argument("--ways", default="ours,gconstruct")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        config = write_tables(root, int(float(options.nodes)), int(float(options.edges)))
        if "ours" in options.ways:
            measure(ours(write_tables(root / "small", 1000, 5000), root / "small" / "out", options))  # compiles kernels
            results["ours"] = run(ours(config, root / "ours", options), float("inf"))
        if "gconstruct" in options.ways:
            results["gconstruct"] = run(gconstruct(config, root / "theirs", options.parts), options.limit * 1e9)
    setting = {"nodes": options.nodes, "edges": options.edges, "parts": options.parts, "memory": options.memory}
    keep_lines("vs_gconstruct", setting, results)
    show(*table(results))


def table(results: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: what each way took."""
    rows = []
    for way, found in results.items():
        end = "" if found["ended"] else ", then stopped"
        peak = f"{found['peak_bytes'] / 1e9:.2f} GB{end}"
        rows.append([way, f"{found['seconds']:.0f} s", f"{found['cpu_seconds']:.0f} s", peak])
    return ["", "wall time", "CPU time", "peak memory"], rows


def ours(config: Path, out: Path, options: argparse.Namespace) -> list[str]:
    what = ("partition", str(config), str(out), "--num-parts", options.parts, "--layout", "graphstorm")
    return our_command(*what, "--method", "random", "--memory", options.memory, "--quiet")


def gconstruct(config: Path, out: Path, parts: str) -> list[str]:
    where = ("--conf-file", str(config), "--output-dir", str(out), "--graph-name", "bench")
    how = ("--num-parts", parts, "--part-method", "random", "--num-processes", "1")
    return [str(GRAPHSTORM), "-m", "graphstorm.gconstruct.construct_graph", *where, *how]


def run(command: list[str], limit: float) -> dict[str, Any]:
    """Run a command until it ends, or holds more than `limit` bytes."""
    environment = {**os.environ, "DGLBACKEND": "pytorch", "PYTHONPATH": str(WITHOUT_AUTOGLUON)}
    peak, cpu, started = 0, cpu_of_children(), time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment if command[0] == str(GRAPHSTORM) else None
        )
        while True:
            try:
                code = process.wait(SECONDS_BETWEEN_SAMPLES)
                break
            except subprocess.TimeoutExpired:
                peak = max(peak, tree_bytes(process.pid))
            if peak > limit:
                process.kill()
                process.wait()
                code = None
                break
        output.seek(0)
        if code:
            raise SystemExit(f"{' '.join(command)} ended with {code}:\n{output.read()[-3000:]}")
    taken = {"seconds": time.monotonic() - started, "cpu_seconds": cpu_of_children() - cpu}
    return {**taken, "peak_bytes": peak, "ended": code == 0}


def cpu_of_children() -> float:
    """CPU time of all commands that have ended, with the processes they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_tables(root: Path, num_nodes: int, num_edges: int) -> Path:
    """Write the tables, and the config that describes them."""
    root.mkdir(exist_ok=True)
    sizes = {"user": num_nodes * 3 // 4, "item": num_nodes // 4}
    rng = np.random.default_rng(0)
    for ntype, size in sizes.items():
        for number, rows in enumerate(np.array_split(np.arange(size), FILES)):
            vectors = pa.FixedSizeListArray.from_arrays(rng.random(len(rows) * WIDTH, np.float32), WIDTH)
            columns = {
                "id": ids(ntype, rows),
                "age": rng.random(len(rows)) * 80,
                "country": COUNTRIES[rng.integers(0, len(COUNTRIES), len(rows))],
                "vector": vectors.cast(pa.list_(pa.float32())),
                "class": rng.integers(0, NUM_CLASSES, len(rows)),
            }
            pq.write_table(pa.table(columns), root / f"{ntype}-{number}.parquet")
    for (src, relation, dst), share in RELATIONS.items():
        for number in range(FILES):
            count = int(num_edges * share) // FILES
            ends = (
                ids(ntype, (rng.random(count) ** 2 * sizes[ntype]).astype(np.int64))
                for ntype in (src, dst)
            )  # fmt: skip
            columns = dict(zip(("src", "dst"), ends, strict=True)) | {"weight": rng.random(count, np.float32)}
            pq.write_table(pa.table(columns), root / f"{relation}-{number}.parquet")
    (root / "config.json").write_text(json.dumps({"version": "gconstruct-v0.1", **described(root)}, indent=2))
    return root / "config.json"


RELATIONS = {("user", "follows", "user"): 0.6, ("user", "buys", "item"): 0.4}


def ids(ntype: str, rows: np.ndarray) -> pa.Array:
    """IDs of 16 hexadecimal digits in no order."""
    scattered = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)  # odd: IDs stay different
    digits = scattered[:, None] >> (np.uint64(60) - np.uint64(4) * np.arange(16, dtype=np.uint64)) & np.uint64(15)
    text = np.frombuffer(b"0123456789abcdef", np.uint8)[digits].tobytes()
    prefix = f"{ntype}-"
    return pa.array([prefix + text[i : i + 16].decode() for i in range(0, len(text), 16)])


def described(root: Path) -> dict[str, Any]:
    """Tables, transforms and labels, as gconstruct has them."""
    form = {"format": {"name": "parquet"}}
    features = [
        {"feature_col": "age", "transform": {"name": "max_min_norm"}},
        {"feature_col": "country", "transform": {"name": "to_categorical"}},
        {"feature_col": "vector"},
    ]
    label = {"label_col": "class", "task_type": "classification", "split_pct": [0.8, 0.1, 0.1]}
    nodes = [
        {"node_type": ntype, "node_id_col": "id", "files": str(root / f"{ntype}-*.parquet"), "features": features}
        for ntype in ("user", "item")
    ]
    edges = [
        {
            "relation": list(names),
            "source_id_col": "src",
            "dest_id_col": "dst",
            "files": str(root / f"{names[1]}-*.parquet"),
            "features": [{"feature_col": "weight"}],
            **form,
        }
        for names in RELATIONS
    ]
    nodes[0]["labels"] = [label]
    return {"nodes": [{**entry, **form} for entry in nodes], "edges": edges}


if __name__ == "__main__":
    main()
