"""Cut graphs of many kinds by `auto`, and by METIS and KaMinPar alone with the same limits."""

from __future__ import annotations

import itertools
import json
import os
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

from harness import generate_once, graph_options, keep_lines, show

import daskgraphpart as dgp

KINDS = ("citations", "web", "bipartite", "lfr", "knowledge", "grid", "communities", "rmat")
METHODS = ("metis", "kaminpar", "auto")
CASE = ("kind", "parts", "balance", "seed")


def main() -> None:
    parser = graph_options(__doc__, runs=3)
    parser.set_defaults(edges="1.5e6", parts="4,16,64")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    numbers = [int(number) for number in options.parts.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        directory = options.directory or Path(scratch)  # one that stays has the cases that are done, too
        kept = directory / "kinds.jsonl"
        done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
        known = {tuple(row[key] for key in CASE): row for row in done}
        for kind in options.kinds.split(","):
            degree = 3 if kind == "grid" else 8
            sizes = ("--nodes", str(int(float(options.edges)) // degree), "--edges", options.edges, "--features", "0")
            graph = generate_once(directory / kind, "--kind", kind, *sizes)
            assigned(graph, numbers[0], "auto", "nodes", 0)  # compiles
            for case in itertools.product((kind,), numbers, ("nodes", "nodes,edges"), range(options.runs)):
                if case not in known:
                    methods = {method: assigned(graph, case[1], method, *case[2:]) for method in METHODS}
                    known[case] = {**dict(zip(CASE, case, strict=True)), **methods}
                    with kept.open("a") as file:
                        file.write(json.dumps(known[case]) + "\n")
                    print(known[case], flush=True)
                rows.append(known[case])
    keep_lines("kinds", {"edges": options.edges, "parts": options.parts, "runs": options.runs}, rows)
    heads, *lines = table(rows)
    show(heads, lines)


def assigned(graph: Path, parts: int, method: str, balance: str, seed: int) -> dict[str, Any]:
    """Cut, and CPU seconds with those of libraries."""
    before = os.times()
    report = dgp.assign(graph, parts, method=method, balance=balance, seed=seed, memory="8GB").quality
    assert report is not None
    cpu = sum(os.times()[:4]) - sum(before[:4])
    return {"cut": report.cut_share, "cpu": cpu, "used": report.method}


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
