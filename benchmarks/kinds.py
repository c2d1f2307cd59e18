"""Cut graphs of many kinds by `auto`, and by METIS and KaMinPar alone with the same limits."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

from harness import generate_once, graph_options, keep_lines, show

import daskgraphpart as dgp

KINDS = ("citations", "web", "bipartite", "lfr", "knowledge", "grid", "communities", "rmat")
METHODS = ("metis", "kaminpar", "auto")


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.set_defaults(edges="1.5e6", parts="4,16,64")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    rows = []
    for kind in options.kinds.split(","):
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            degree = 3 if kind == "grid" else 8
            sizes = ("--nodes", str(int(float(options.edges)) // degree), "--edges", options.edges, "--features", "0")
            graph = generate_once(Path(scratch) / "graph", "--kind", kind, *sizes)
            numbers = map(int, options.parts.split(","))
            for parts, balance, seed in itertools.product(numbers, ("nodes", "nodes,edges"), range(options.runs)):
                row: dict[str, Any] = {"kind": kind, "parts": parts, "balance": balance, "seed": seed}
                for method in METHODS:
                    before = os.times()
                    report = dgp.assign(graph, parts, method=method, balance=balance, seed=seed, memory="8GB").quality
                    cpu = sum(os.times()[:4]) - sum(before[:4])
                    assert report is not None
                    row[method] = {"cut": report.cut_share, "cpu": cpu, "used": report.method}
                rows.append(row)
                print(row, flush=True)
    keep_lines("kinds", {"edges": options.edges}, rows)
    heads, *lines = table(rows)
    show(heads, lines)


def table(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Cut and CPU time of `auto` over those of METIS and KaMinPar, by kind and constraints: mean (worst)."""
    lines = [["graph", "balance", "cut, over METIS'", "over KaMinPar's", "CPU time, over METIS'", "over KaMinPar's"]]
    for balance, kind in itertools.product(("nodes", "nodes,edges"), (*KINDS, "**all**")):
        some = [row for row in rows if row["balance"] == balance and kind in (row["kind"], "**all**")]
        if not some:
            continue
        line = [kind, balance]
        for what, other in itertools.product(("cut", "cpu"), ("metis", "kaminpar")):
            ratios = [row["auto"][what] / row[other][what] for row in some]
            line.append(f"{mean(ratios):.2f} ({max(ratios):.2f})" if what == "cut" else f"{mean(ratios):.1f}")
        lines.append(line)
    return lines


if __name__ == "__main__":
    main()
