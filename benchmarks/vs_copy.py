"""How far from the physical limit? Partitioning against copying.

Two copies are measured beside it: `copy` reads the input and writes as many bytes as the output has, which is what any
program must do that turns one into the other; `copy input` copies the input's files. All end when the data are on disk.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from harness import generate_once, graph_options, in_turn, keep, measure, our_command, ratios, show, touch_memory


def main() -> None:
    parser = graph_options(__doc__, runs=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        graph = generate_once(root / "graph", "--nodes", options.nodes, "--edges", options.edges)
        ours, like_output, copied = root / "ours", root / "like-output", root / "copied"
        partition = our_command(
            "partition", str(graph), str(ours), "--num-parts", options.parts, "--method", "random", "--quiet"
        )
        measure(partition)  # compiles the kernels
        shutil.move(ours, like_output)

        def clear(_: str) -> None:
            for directory in (ours, copied):
                shutil.rmtree(directory, ignore_errors=True)
            touch_memory(120 * float(options.edges))

        commands = {
            "ours": ["sh", "-c", f"{' '.join(partition)} && sync"],
            "copy": ["sh", "-c", f"cat {graph}/*/* > /dev/null && cp -r {like_output} {copied} && sync"],
            "copy input": ["sh", "-c", f"cp -r {graph} {copied} && sync"],
        }
        results = in_turn(commands, options.runs, clear)
    setting = {"nodes": options.nodes, "edges": options.edges, "parts": options.parts}
    keep("vs_copy", setting, results)
    rows = []
    for name, runs in results.items():
        low, middle, high = ratios(results, "ours", name)
        seconds = statistics.median(run.seconds for run in runs)
        rows.append([name, f"{seconds:.1f} s", f"{middle:.2f} ({low:.2f} to {high:.2f})"])
    show(["what", "median", "ours / this"], rows)


if __name__ == "__main__":
    main()
