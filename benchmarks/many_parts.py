"""Does time grow with the number of parts? The same graph into 4, 256 and 1,000 parts."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from harness import generate_once, in_turn, keep, measure, our_command, ratios, show, touch_memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="5e6")
    parser.add_argument("--edges", default="5e7")
    parser.add_argument("--parts", default="4,256,1000", help="comma between the numbers; the first is compared with")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        graph = generate_once(root / "graph", "--nodes", options.nodes, "--edges", options.edges)
        parts, out = options.parts.split(","), root / "out"
        commands = {
            number: our_command(
                "partition", str(graph), str(out), "--num-parts", number, "--method", "random", "--quiet"
            )
            for number in parts
        }
        measure(commands[parts[0]])  # compiles the kernels

        def clear(_: str) -> None:
            shutil.rmtree(out, ignore_errors=True)
            touch_memory(120 * float(options.edges))

        results = in_turn(commands, options.runs, clear)
    keep("many_parts", {"nodes": options.nodes, "edges": options.edges}, results)
    rows = []
    for number, runs in results.items():
        low, middle, high = ratios(results, number, parts[0])
        seconds = statistics.median(run.seconds for run in runs)
        peak = f"{max(run.peak_bytes for run in runs) / 1e9:.2f} GB"
        rows.append([number, f"{seconds:.1f} s", f"{middle:.2f} ({low:.2f} to {high:.2f})", peak])
    show(["parts", "median", f"this / {parts[0]} parts", "peak memory"], rows)


if __name__ == "__main__":
    main()
