"""Rows that DGL's own `DistNodeDataLoader` fetches from other parts, counted on its clients, and what `report` says.

A server and a client for every part, all on this machine, in the environment with DGL 2.1 of the tests. A tenth of the
nodes of the largest type trains, or a ``--share``; graphs have reverse edges. Each case is appended to
results/fetched_by_dgl.jsonl.

    python benchmarks/fetched_by_dgl.py --graphs cora,web:1e7 --parts 2,4,8 --fanouts 10,10
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from fetched_rows import BATCH, MANY, WAYS, geometric, load_graph
from graphs import Graph
from harness import RESULTS, keep_lines, show
from judges import SCRIPTS, dgl_environment, dgl_python

import daskgraphpart as dgp

# beside other work on few cores
PATIENT = "import sys; sys.path.insert(0, sys.argv.pop(1)); import serve, fetching; serve.MOST_SECONDS = 1800; "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="cora,musae_github,coauthor_physics,dblp_hetero,cnr2000,vcs_networkit")
    parser.add_argument("--parts", default="2,8")
    parser.add_argument("--fanouts", default="10,10")
    parser.add_argument("--share", type=float, default=0.1, help="of nodes that are seeds")
    options = parser.parse_args()
    for name in options.graphs.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            graph, target = to_train_on(name, options.share, Path(scratch))
            for parts in map(int, options.parts.split(",")):
                counted = count(graph, target, parts, options.fanouts, Path(scratch) / str(parts))
                row = {"graph": name, "parts": parts, "fanouts": options.fanouts, "share": options.share, **counted}
                print(json.dumps(row), flush=True)
                keep_lines("fetched_by_dgl", {"batch_size": BATCH}, row)
    rows = table()
    show(rows[0], rows[1:])


def to_train_on(name: str, share: float, root: Path) -> tuple[dgp.Graph, str]:
    """A graph with seeds of its largest type; servers of DGL start where all types have data."""
    graph = load_graph(name)
    target = max(graph.schema.node_types, key=lambda of: of.num_nodes)
    data = {of.name: {"x": np.zeros((of.num_nodes, 1), np.float32)} for of in graph.schema.node_types}
    data[target.name]["train_mask"] = np.random.default_rng(0).random(target.num_nodes) < share
    written = Graph(graph.schema, graph.edges, data).write(root / "graph", edge_format="numpy")
    return dgp.read_chunked(written).with_reverse_edges(), target.name


def count(graph: dgp.Graph, target: str, num_parts: int, fanouts: str, root: Path) -> dict[str, Any]:
    """Partition in all ways, and count an epoch of each."""
    training: dict[str, Any] = {"fanouts": fanouts, "training_options": {"batch_size": BATCH}}
    files: dict[str, Any] = {"layout_options": {"graph_formats": "csc"}, "method_options": {"fill_parts": True}}
    made = {way: dgp.partition(graph, root / way, num_parts, **files, **training, **how) for way, how in WAYS.items()}
    hops = list(map(int, fanouts.split(",")))
    task = {"target": target, "fanouts": hops, "batch_size": BATCH, "work": str(root / "work")}
    task["runs"] = {way: str(parts.config) for way, parts in made.items()}
    (root / "task.json").write_text(json.dumps(task))
    command = [dgl_python("2.1.0"), "-c", f"{PATIENT} fetching.main()"]
    where: dict[str, Any] = {"env": dgl_environment(root), "cwd": root}
    arguments = [*command, str(SCRIPTS), str(root / "task.json")]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True, **where)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    rows: dict[str, Any] = {}
    for way, parts in made.items():
        sampling = parts.report(fanouts=fanouts, batch_size=BATCH).sampling
        assert sampling is not None
        _, inputs, fetched = np.sum(found[way], axis=0).tolist()
        said = int(sampling.per_epoch(sampling.remote_nodes).sum())
        rows[way] = {"rows": fetched, "inputs": inputs, "report": said}
    return rows


def table() -> list[list[str]]:
    """The newest row of each case; last the geometric mean of those with many rows."""
    lines = (RESULTS / "fetched_by_dgl.jsonl").read_text(encoding="utf-8").splitlines()
    kept = [json.loads(line)["results"] for line in lines]
    heads = [
        "graph",
        "parts",
        "fan-outs",
        "seeds",
        "METIS, as DGL calls it",
        "fewest cut edges",
        "`fetch`",
        "",
        "as `report` says",
    ]
    rows, ratios, said = [heads], [], []
    for of in {(of["graph"], of["parts"], of["fanouts"], of["share"]): of for of in kept}.values():
        counts = [of[way]["rows"] for way in WAYS]
        ratio, told = counts[2] / max(1, counts[1]), of["fetch"]["report"]
        ratios += [ratio] * (counts[1] >= MANY)
        said += [told / counts[2]] * (counts[2] >= MANY)
        figures = [*(f"{number:,}" for number in counts), f"{ratio:.2f}", f"{told:,}"]
        rows.append([of["graph"], str(of["parts"]), of["fanouts"], f"{of['share']:.0%}", *figures])
    mean = [f"geometric mean, from {MANY:,} rows on", *[""] * 6]
    return [*rows, [*mean, f"{geometric(ratios):.2f}", f"{geometric(said):.3f} of it"]]


if __name__ == "__main__":
    main()
