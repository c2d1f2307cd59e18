"""Rows that training fetches from other parts: fewest cut edges beside `--objtype fetch`, counted on finished parts.

A tenth of the nodes, at random, trains (or `--share`), with reverse edges. Owners are dispatched, and `report` samples
an epoch as DGL does, by other random numbers than those that chose the parts. ``python benchmarks/fetched_rows.py``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from harness import keep_lines

import daskgraphpart as dgp

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from graphs import load_real_graph  # noqa: E402

GRAPHS = "cora,musae_github,coauthor_physics,dblp_hetero,fb15k237,oewn,cnr2000,vcs_networkit,vcs_curl,usa_road_ny"
MANY = 1000
WAYS: dict[str, dict[str, Any]] = {"cut": {"objtype": "cut"}, "fetch": {"objtype": "fetch"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", default=GRAPHS)
    parser.add_argument("--parts", default="8")
    parser.add_argument("--fanouts", default="10,10")
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.1, help="of nodes that are seeds")
    options = parser.parse_args()
    found = []
    for name in options.graphs.split(","):
        with tempfile.TemporaryDirectory() as scratch:
            graph = with_mask(name, options.share, Path(scratch))
            for parts in map(int, options.parts.split(",")):
                ways = {way: count(graph, parts, how, options, Path(scratch)) for way, how in WAYS.items()}
                found.append({"graph": name, "parts": parts, **ways})
                print(found[-1], flush=True)
    for line in table(found):
        print("  ".join(line))
    taken = {"fanouts": options.fanouts, "batch_size": options.batch_size, "share": options.share}
    keep_lines("fetched_rows", taken, {"rows": found})


def table(found: list[dict[str, Any]]) -> list[list[str]]:
    """Rows of both, predicted ones, and the busiest part's work; last the geometric mean of those with many rows."""
    rows = [
        ["graph", "parts", "rows, fewest cut edges", "rows, `fetch`", "", "predicted", "work, cut", "work, `fetch`"]
    ]
    ratios = []
    for of in found:
        cut, fetch = of["cut"], of["fetch"]
        ratio = fetch["rows"] / max(1, cut["rows"])
        ratios += [ratio] * (cut["rows"] >= MANY)
        counts = [f"{cut['rows']:,}", f"{fetch['rows']:,}", f"{ratio:.2f}", f"{fetch['predicted']:,}"]
        rows.append([of["graph"], str(of["parts"]), *counts, f"{cut['work']:.2f}", f"{fetch['work']:.2f}"])
    mean = float(np.exp(np.mean(np.log(ratios))))
    return [*rows, [f"geometric mean, from {MANY:,} rows on", "", "", "", f"{mean:.2f}", "", "", ""]]


def with_mask(name: str, share: float, root: Path) -> Path:
    """Write a real graph with a mask of seeds on each node type."""
    graph = load_real_graph(name)
    rng = np.random.default_rng(0)
    masks = {of.name: {"train_mask": rng.random(of.num_nodes) < share} for of in graph.schema.node_types}
    return replace(graph, node_data=masks, edge_data={}).write(root / "graph", edge_format="numpy")


def count(graph: Path, num_parts: int, how: dict[str, Any], options: argparse.Namespace, root: Path) -> dict[str, Any]:
    """Assign, dispatch, and count an epoch."""
    sampled = {"fanouts": options.fanouts, "batch_size": options.batch_size}
    changed = dgp.read_chunked(graph).with_reverse_edges()
    owners = dgp.assign(changed, num_parts, **how, **sampled)
    parts = dgp.dispatch(changed, owners, root / "parts", graph_formats="csc", overwrite=True)
    counted = parts.report(fanouts=options.fanouts, batch_size=options.batch_size).sampling
    assert owners.quality.rows is not None
    sampled_seeds = np.maximum(1, np.minimum(counted.seeds, counted.num_batches * options.batch_size))
    return {
        "rows": round(float((counted.remote_nodes * (counted.seeds / sampled_seeds)).sum())),
        "predicted": owners.quality.rows.num_fetched,
        "cut": owners.quality.cut_share,
        "work": owners.quality.rows.busiest,
        "why": owners.quality.why,
    }


if __name__ == "__main__":
    main()
