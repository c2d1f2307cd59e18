"""What does a part cost? A graph in 4, 256 and 1,000 parts, written and verified: CPU seconds, wall time, memory."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median

from harness import cpu_seconds, generate_once, graph_options, keep_lines, measure, our_command, show, touch_memory


def main() -> None:
    parser = graph_options(__doc__, runs=3)
    parser.set_defaults(parts="4,256,1000")
    options = parser.parse_args()
    numbers, found = options.parts.split(","), {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        graph, out = Path(scratch) / "graph", Path(scratch) / "out"
        generate_once(graph, "--nodes", options.nodes, "--edges", options.edges)
        for run in range(options.runs + 1):
            for number in numbers if run else numbers[:1]:  # the first compiles the kernels
                shutil.rmtree(out, ignore_errors=True)
                touch_memory(120 * float(options.edges))
                partition = ("partition", str(graph), str(out), "--num-parts", number, "--method", "random", "--quiet")
                for command in (partition, ("verify", str(graph), str(out), "--quiet")):
                    before = cpu_seconds()
                    taken = asdict(measure(our_command(*command))) | {"cpu_seconds": cpu_seconds() - before}
                    if run:
                        found.setdefault(command[0], {}).setdefault(number, []).append(taken)
    keep_lines("many_parts", {"nodes": options.nodes, "edges": options.edges}, found)
    rows = []
    for command, by_number in found.items():
        fewest = median(run["cpu_seconds"] for run in by_number[numbers[0]])
        for number, runs in by_number.items():
            cpu, seconds = (median(run[key] for run in runs) for key in ("cpu_seconds", "seconds"))
            more = int(number) - int(numbers[0])
            of_part = f"{1000 * (cpu - fewest) / more:.2f} ms" if more else ""
            peak = f"{max(run['peak_bytes'] for run in runs) / 1e9:.2f} GB"
            rows.append([command, number, f"{cpu:.1f} s", of_part, f"{seconds:.1f} s", peak])
    show(["command", "parts", "CPU time", f"a part beyond {numbers[0]}", "wall time", "peak memory"], rows)


if __name__ == "__main__":
    main()
