"""Run the main job where the system gives it no more memory than the budget and the libraries need.

The input is eight times the budget. Each method runs in a process with a hard limit of budget + margin: that of a
cgroup (v2) if one may be made, which counts files in memory too, otherwise RLIMIT_DATA, which counts all private
writable memory: heap, stacks, and what libraries and compiled kernels set up. The margin is for the interpreter and the
libraries; the first line of the table shows how much of it they take on a graph of nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from harness import generate_once, keep_lines, our_command, show

from daskgraphpart.engine.settings import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMES_BUDGET = 8
WIDTH = 256
NODES_PER_EDGE = 1 / 16
CGROUPS = Path("/sys/fs/cgroup")
PROGRAM = """
import sys
import daskgraphpart as dgp
graph, out, method, memory = sys.argv[1:]
dgp.partition(graph, out, 4, method=method, memory=memory, workers=2)
lines = dict(line.split(":") for line in open("/proc/self/status"))
print(int(lines["VmHWM"].split()[0]) * 1024, int(lines["VmData"].split()[0]) * 1024)
"""


@contextlib.contextmanager
def hard_limit(nbytes: int) -> Iterator[tuple[str, Callable[[], None]]]:
    """Name of the limit that can be had here, and what sets it in a process that is about to start."""
    entries = Path("/proc/self/cgroup").read_text().splitlines()
    own = CGROUPS / next((entry[3:].lstrip("/") for entry in entries if entry.startswith("0::")), "")
    delegated = own / "cgroup.subtree_control"  # not there, or without memory: another version, or nothing for us
    group = own / f"hard-limit-{os.getpid()}"
    if delegated.is_file() and "memory" in delegated.read_text().split() and os.access(own, os.W_OK):
        group.mkdir()
        try:
            (group / "memory.max").write_text(str(nbytes))
            with contextlib.suppress(OSError):
                (group / "memory.swap.max").write_text("0")
            yield "cgroup memory.max", lambda: _join(group)
        finally:
            group.rmdir()
        return
    yield "RLIMIT_DATA", lambda: resource.setrlimit(resource.RLIMIT_DATA, (nbytes, nbytes))


def _join(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def run_limited(graph: Path, out: Path, method: str, memory: str, limit: int) -> tuple[str, float, int, int]:
    """Partition under the limit: its name, seconds, most resident bytes, private writable bytes at the end."""
    started = time.monotonic()
    command = [sys.executable, "-c", PROGRAM, str(graph), str(out), method, memory]
    with hard_limit(limit) as (name, set_limit):
        done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=set_limit)
    if done.returncode:
        raise SystemExit(f"{method} failed under {name} of {limit:,} bytes ({done.returncode}):\n{done.stderr[-3000:]}")
    resident, private = (int(number) for number in done.stdout.split())
    return name, time.monotonic() - started, resident, private


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", default="128MB", help="the budget")
    parser.add_argument("--margin", default="384MB", help="for the interpreter and the libraries")
    parser.add_argument("--methods", default="random,fennel")
    parser.add_argument("--directory", type=Path, help="where files go; default a temporary directory")
    options = parser.parse_args()
    budget, margin = parse_size(options.memory), parse_size(options.margin)
    input_bytes = TIMES_BUDGET * budget
    nodes = int(input_bytes / (4 * WIDTH + 16 / NODES_PER_EDGE)) + 1
    rows, results = [], {}
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        how = ("--edge-format", "numpy", "--features", str(WIDTH))
        tiny = generate_once(root / "tiny", "--nodes", "100", "--edges", "100", *how)
        graph = generate_once(root / "graph", "--nodes", str(nodes), "--edges", str(int(nodes / NODES_PER_EDGE)), *how)
        size = sum(path.stat().st_size for path in graph.rglob("*") if path.is_file())
        assert size >= input_bytes
        for method in options.methods.split(","):  # without a limit: also compiles the kernels
            command = our_command("partition", str(tiny), str(root / "out"), "--num-parts", "4", "--method", method)
            subprocess.run([*command, "--memory", options.memory, "--quiet", "--overwrite"], check=True)
        for name, source in (("nothing", tiny), *((method, graph) for method in options.methods.split(","))):
            method = "random" if source is tiny else name
            shutil.rmtree(root / "out", ignore_errors=True)
            kind, seconds, resident, private = run_limited(
                source, root / "out", method, options.memory, budget + margin
            )
            rows.append([name, f"{seconds:.1f} s", f"{resident / 1e6:.0f} MB", f"{private / 1e6:.0f} MB"])
            results[name] = {"seconds": seconds, "resident_bytes": resident, "private_bytes": private}
    setting = {"memory": options.memory, "margin": options.margin, "input_bytes": size, "limit": kind}
    keep_lines("hard_limit", setting, results)
    print(f"input {size / 1e6:.0f} MB, budget {budget / 1e6:.0f} MB, {kind} {(budget + margin) / 1e6:.0f} MB\n")
    show(["method", "wall time", "most resident", "private at the end"], rows)


if __name__ == "__main__":
    main()
