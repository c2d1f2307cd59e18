"""How long does it take to prove a partition? Verifying against dispatching, side by side.

`verify` compares every node, edge and row of features with the input, and all checksums; `contents` leaves the
checksums out, `checksums` does nothing else, `quick` reads headers. The bar: `verify` takes at most twice as long as
`dispatch`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from harness import generate_once, in_turn, keep, measure, our_command, ratios, show, touch_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="2e6")
    parser.add_argument("--edges", default="2e7")
    parser.add_argument("--features", default="16", help="width of the nodes' feature vectors")
    parser.add_argument("--parts", default="4")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        size = ("--nodes", options.nodes, "--edges", options.edges, "--features", options.features)
        graph = generate_once(root / "graph", *size)
        owners, whole, made, work = (root / name for name in ("owners", "whole", "made", "work"))
        assign = ("assign", str(graph), str(owners), "--num-parts", options.parts, "--method", "random", "--quiet")
        measure(our_command(*assign))
        measure(our_command("dispatch", str(graph), str(owners), str(whole), "--quiet"))  # compiles the kernels
        more = ("--quiet", "--workspace", str(work))
        commands = {
            "dispatch": our_command("dispatch", str(graph), str(owners), str(made), "--quiet"),
            "verify": our_command("verify", str(graph), str(whole), *more),
            "contents": our_command("verify", str(graph), str(whole), "--no-checksums", *more),
            "checksums": our_command("verify", str(whole), "--checksums", *more),
            "quick": our_command("verify", str(graph), str(whole), "--quick", *more),
        }
        measure(commands["verify"])  # compiles its own

        def clear(name: str) -> None:
            shutil.rmtree(made, ignore_errors=True)
            if name in ("dispatch", "verify"):
                touch_memory(120 * float(options.edges))

        results = in_turn(commands, options.runs, clear)
    keep("verify", {name: getattr(options, name) for name in ("nodes", "edges", "features", "parts")}, results)
    rows = []
    for name, runs in results.items():
        low, middle, high = ratios(results, name, "dispatch")
        seconds = statistics.median(run.seconds for run in runs)
        peak = max(run.peak_bytes for run in runs) / 2**20
        rows.append([name, f"{seconds:.1f} s", f"{peak:,.0f} MiB", f"{middle:.2f} ({low:.2f} to {high:.2f})"])
    show(["what", "median", "peak memory", "this / dispatch"], rows)


if __name__ == "__main__":
    main()
