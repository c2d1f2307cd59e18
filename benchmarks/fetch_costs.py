"""What `--objtype fetch` costs on a large graph: CPU time and memory of `partition` with and without it, and rows.

Communities with ten edges a node, 8 parts, fan-outs 10,10; three of five nodes are seeds. The commands take turns;
what training fetches is what `report` counts on the finished parts.

    python benchmarks/fetch_costs.py --edges 5e7,2e8 --directory /scratch

What a billion edges take is the ledger of fewer: ``ledger.py partition GRAPH OUT --num-parts 8 --objtype fetch
--fanouts 10,10 --memory 4GB --graph-formats csc`` with 10 M edges in communities.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness import RESULTS, cpu_seconds, generate_once, keep_lines, measure, our_command, show

import daskgraphpart as dgp
from daskgraphpart.units import format_size

SAMPLED = ("--fanouts", "10,10", "--batch-size", "1000")
PASSES = (
    "split-in-edges", "sort-in-edges", "expect-samples", "add-up-samples", "expect-work", "weigh-samples",
    "predict-rows", "count-cut-edges",
)  # fmt: skip
WAYS: dict[str, tuple[str, ...]] = {"cut": (), "fetch": ("--objtype", "fetch", *SAMPLED)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", default="5e7", help="comma between the sizes")
    parser.add_argument("--kind", default="communities")
    parser.add_argument("--parts", default="8")
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    rows = [["edges", "", "CPU time", "peak memory", "rows fetched"]]
    for edges in options.edges.split(","):
        results = {}
        with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
            size = ("--nodes", f"{float(edges) / 10:.0f}", "--edges", f"{float(edges):.0f}", "--features", "1")
            graph = generate_once(Path(scratch) / "graph", *size, "--kind", options.kind, "--labels")
            for way, how in WAYS.items():
                results[way] = run(graph, Path(scratch) / "out", ("--num-parts", options.parts, *how), options.memory)
                of = results[way]
                rows.append([edges, way, f"{of['cpu']:.0f} s", f"{of['peak_bytes'] / 1e9:.2f} GB", f"{of['rows']:,}"])
                print(rows[-1], flush=True)
        setting = {"edges": edges, "kind": options.kind, "parts": options.parts, "memory": options.memory}
        keep_lines("fetch_costs", setting, results)
    show(rows[0], rows[1:])


def of_a_billion() -> list[list[str]]:
    """Bytes that the passes for training move with a billion edges: as many times what their newest ledger says."""
    ledgers = map(json.loads, (RESULTS / "ledger.jsonl").read_text(encoding="utf-8").splitlines())
    *_, newest = (kept for kept in ledgers if "fetch" in kept["setting"]["command"])
    times = 1e9 / newest["setting"]["num_edges"]
    rows = [
        [f"`{name}`", *(format_size(times * newest["results"][name][of]) for of in ("read", "written"))]
        for name in PASSES
    ]
    return [["pass, a billion edges", "read", "written"], *rows]


def run(graph: Path, out: Path, how: tuple[str, ...], memory: str) -> dict[str, Any]:
    """Partition, and count what training fetches of the parts."""
    before = cpu_seconds()
    command = our_command(
        "partition", str(graph), str(out), *how, "--memory", memory, "--graph-formats", "csc", "--quiet"
    )
    measured = asdict(measure(command)) | {"cpu": cpu_seconds() - before}
    sampling = dgp.open_partitions(out).report(fanouts="10,10", batch_size=1000).sampling
    assert sampling is not None
    shutil.rmtree(out)
    return {**measured, "rows": int(sampling.per_epoch(sampling.remote_nodes).sum())}


if __name__ == "__main__":
    main()
