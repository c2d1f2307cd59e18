"""`assign --extend` beside partitioning anew: a tenth of the nodes of a graph are new; cut, CPU and wall time.

The old nodes are the first nine tenths of each type, in the order in which the graph has them, and the edges between
them; they are partitioned by `auto`, and then the whole graph is: by `auto` anew, and by extending. Commands are run in
turn, each in a fresh process, and include reading the graph. What the same commands take for a ring of 200 nodes, the
start of processes that is, is taken off beside. ``python benchmarks/extend.py --graphs vcs_curl``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from harness import generate_once, keep_lines, measure, our_command, show, touch_memory

import daskgraphpart as dgp
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from graphs import REAL_GRAPHS, Graph, load_real_graph  # noqa: E402

RING = "ring"
NEW = 0.1
MORE = {"auto": (), "extend": ("--extend",), "extend, 2 % move": ("--may-move", "2%", "--extend")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--graphs", default="communities,cora,vcs_networkit,cnr2000,musae_github,coauthor_physics,dblp_hetero"
    )
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--edges", default="1.6e7", help="of the generated graph")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows, found = [], []
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        for name in (RING, *options.graphs.split(",")):
            found.append({"graph": name, **compare(name, Path(scratch), options)})
            print(found[-1], flush=True)
    start = found[0]["runs"]
    for row in found[1:]:
        anew = row["runs"]["auto"]
        for how in MORE:
            mine = row["runs"][how]
            times = [f"{mine[kind]:.1f}" for kind in ("cpu", "seconds")]
            shares = [f"{mine[kind] / anew[kind]:.2f}" for kind in ("cut", "cpu", "seconds")]
            own = mine["cpu"] - start[how]["cpu"]
            work = [f"{own:.2f}", f"{own / max(0.01, anew['cpu'] - start['auto']['cpu']):.2f}"]
            balance = f"{mine['nodes']:.3f}, {mine['edges']:.3f}"
            rows.append(
                [row["graph"], how, f"{mine['cut']:.2%}", *times, *shares, *work, balance, f"{mine['moved']:.2%}"]
            )
    shares = ["cut / anew", "CPU", "wall", "CPU s without start", "/ anew"]
    show(["graph", "", "cut", "CPU s", "wall s", *shares, "nodes, edges", "old moved"], rows)
    keep_lines("extend", {"parts": options.parts, "new": NEW, "edges": options.edges}, {"rows": found})


def compare(name: str, root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Extend and partition anew one graph: medians of cut, CPU and wall seconds, balance, share of old nodes moved."""
    if name in (RING, *REAL_GRAPHS):
        whole = ring(200) if name == RING else load_real_graph(name)
        directory = whole.write(root / name, edge_format="numpy")
    else:
        edges = int(float(options.edges))
        size = ("--nodes", str(edges // 20), "--edges", str(edges), "--features", "0", "--edge-format", "numpy")
        directory = generate_once((options.directory or root) / f"{name}-{edges}", "--kind", name, *size)
        graph = dgp.read_chunked(directory)
        frames = {etype: frame.compute() for etype, frame in graph.edges.items()}
        whole = Graph(graph.schema, {etype: (f.src.to_numpy(), f.dst.to_numpy()) for etype, f in frames.items()})
    old = first_nodes(whole).write(root / f"{name}-old", edge_format="numpy")
    before = root / f"{name}-before"
    measure(assign(old, before, options.parts))
    was = {t.name: np.load(before / f"{t.name}.npy") for t in whole.schema.node_types}
    runs: dict[str, list[dict[str, Any]]] = {how: [] for how in MORE}
    for _ in range(options.runs):
        for how, more in MORE.items():
            touch_memory(2e9)
            out, started = root / f"{name}-after", children_seconds()
            words = (*more, str(before)) if more else ()
            taken = measure(assign(directory, out, options.parts, *words, "--report", str(root / "report.json")))
            report = json.loads((root / "report.json").read_text(encoding="utf-8"))
            now = {ntype: np.load(out / f"{ntype}.npy")[: rows.size] for ntype, rows in was.items()}
            moved = sum(int(np.count_nonzero(now[ntype] != rows)) for ntype, rows in was.items())
            runs[how].append(
                {
                    "cut": report["cut_share"],
                    "cpu": children_seconds() - started,
                    "seconds": taken.seconds,
                    "moved": moved / sum(rows.size for rows in was.values()),
                    **{b["name"]: b["ratio"] for b in report["balances"]},
                }
            )
    return {
        "runs": {how: {key: statistics.median(run[key] for run in of) for key in of[0]} for how, of in runs.items()}
    }


def ring(num_nodes: int) -> Graph:
    """Nodes with an edge to the next one each."""
    schema = GraphSchema(RING, (NodeType("a", num_nodes),), (EdgeType("a", "to", "a", num_nodes),))
    ids = np.arange(num_nodes)
    return Graph(schema, {"a:to:a": (ids, (ids + 1) % num_nodes)})


def first_nodes(graph: Graph) -> Graph:
    """The first nodes of each type, and the edges between them."""
    counts = {t.name: t.num_nodes - int(t.num_nodes * NEW) for t in graph.schema.node_types}
    edges = {}
    for edge_type in graph.schema.edge_types:
        src, dst = (np.asarray(ids) for ids in graph.edges[edge_type.name])
        kept = (src < counts[edge_type.src]) & (dst < counts[edge_type.dst])
        edges[edge_type.name] = src[kept], dst[kept]
    schema = replace(
        graph.schema,
        node_types=tuple(replace(t, num_nodes=counts[t.name]) for t in graph.schema.node_types),
        edge_types=tuple(replace(t, num_edges=edges[t.name][0].size) for t in graph.schema.edge_types),
    )
    return Graph(schema, edges)


def assign(graph: Path, out: Path, parts: int, *more: str) -> Sequence[str]:
    return our_command("assign", str(graph), str(out), "--num-parts", str(parts), "--quiet", "--overwrite", *more)


def children_seconds() -> float:
    """CPU time of all commands so far."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
