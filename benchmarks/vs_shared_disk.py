"""The same job by workers that share a disk, and by workers that share only a bucket, on an S3 server on this machine.

    python benchmarks/vs_shared_disk.py --edges 5e7 --features 50 --method random

Bytes are what the workers read and wrote by calls (a shared disk), and what the store sent and received (a bucket).
The server takes processors and memory from the workers, so times are not compared.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client, LocalCluster
from harness import generate_once, graph_options, keep_lines, show
from upath import UPath

import daskgraphpart as dgp

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "data"), str(HERE.parent / "tests")]
from remote_stores import S3, serve_s3  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS = 3
PAUSE_S = 0.05
IN_MEMORY = {"MOTO_S3_DEFAULT_KEY_BUFFER_SIZE": "65536"}  # of the server, of each object


@dataclass
class Peaks:
    """The most that each worker's directory held, in bytes."""

    local: dict[str, int] = field(default_factory=dict)


def main() -> None:
    parser = graph_options(__doc__, runs=1)
    parser.add_argument("--features", default="50")
    parser.add_argument("--method", default="random")
    parser.add_argument("--memory", default="4GB")
    parser.set_defaults(nodes="2.5e6", parts="8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.directory) as scratch:
        root = Path(scratch)
        os.environ.update(IN_MEMORY, TMPDIR=scratch)  # where the server keeps its objects
        sizes = ("--nodes", options.nodes, "--edges", options.edges, "--features", options.features)
        kind = ("--kind", "communities", "--edge-format", "numpy")
        graph = generate_once(root / "graph", *kind, *sizes)
        with workers(root) as (client, peaks):
            disk = on_disk(graph, root, client, peaks, options)
        with workers(root) as (client, peaks), serve_s3() as server:
            bucket = in_a_bucket(graph, root, client, peaks, server, options)
    names = {"read": "MB read", "written": "MB written", "memory": "MB of a worker", "local": "MB of local disk"}
    show(
        ["what", "shared disk", "bucket", "ratio"],
        [
            [name, f"{disk[key] / 1e6:,.0f}", f"{bucket[key] / 1e6:,.0f}", f"{bucket[key] / max(disk[key], 1):.2f}"]
            for key, name in names.items()
        ],
    )
    print(bucket["summary"], f"; plan: {bucket['plan']}")
    setting = {key: str(value) for key, value in vars(options).items() if key not in ("runs", "directory")}
    keep_lines("vs_shared_disk", {**setting, "workers": WORKERS}, {"shared disk": disk, "bucket": bucket})


@contextmanager
def workers(root: Path) -> Iterator[tuple[Client, Peaks]]:
    """Workers of one thread, each with a directory of its own, whose size is sampled."""
    local, peaks, is_over = root / "local", Peaks(), threading.Event()
    how: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(processes=True, local_directory=str(local), **how) as cluster, Client(cluster) as client:
        sampler = threading.Thread(target=sample, args=(client.run(place_of), peaks, is_over))
        sampler.start()
        try:
            yield client, peaks
        finally:
            is_over.set()
            sampler.join()
    shutil.rmtree(local, ignore_errors=True)


def place_of(dask_worker: Any) -> tuple[str, int]:
    """Directory of a worker, and its process."""
    return str(dask_worker.local_directory), os.getpid()


def sample(places: dict[str, tuple[str, int]], peaks: Peaks, is_over: threading.Event) -> None:
    """Measure directories until it is over."""
    while not is_over.wait(PAUSE_S):
        for worker, place in places.items():
            peaks.local[worker] = max(peaks.local.get(worker, 0), disk_usage(*place))


def disk_usage(directory: str, process: int) -> int:
    """Bytes on disk of all files below a directory, and of those without a name that a process has open there."""
    used = 0
    for parent, _, names in os.walk(directory):
        used += sum(blocks_of(os.path.join(parent, name)) for name in names)
    for number in os.listdir(f"/proc/{process}/fd"):
        opened = f"/proc/{process}/fd/{number}"
        try:
            target = os.readlink(opened)
        except OSError:
            continue
        if target.startswith(directory) and target.endswith(" (deleted)"):
            used += blocks_of(opened)
    return used


def blocks_of(path: str) -> int:
    """Bytes on disk of a file, which may be gone."""
    try:
        return os.stat(path).st_blocks * 512
    except OSError:
        return 0


def usage() -> dict[str, int]:
    """Bytes that this process read and wrote by calls, and the most memory it had, without files that it mapped."""
    with open("/proc/self/io", encoding="ascii") as file:
        moved = dict(line.split(": ") for line in file.read().splitlines())
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    return {"read": int(moved["rchar"]), "written": int(moved["wchar"]), "memory": int(peak[1]) * 1000}


def on_disk(graph: Path, root: Path, client: Client, peaks: Peaks, options: Any) -> dict[str, Any]:
    """Partition on a disk that all workers see."""
    before = client.run(usage)
    client_before = usage()
    run(str(graph), str(root / "out"), client, options, workspace=str(root / "work"))
    shutil.rmtree(root / "out")
    after, client_after = client.run(usage), usage()
    moved = {
        key: sum(of[key] - before[worker][key] for worker, of in after.items()) + client_after[key] - client_before[key]
        for key in ("read", "written")
    }
    return {**moved, "memory": max(of["memory"] for of in after.values()), "local": max(peaks.local.values())}


def in_a_bucket(graph: Path, root: Path, client: Client, peaks: Peaks, server: S3, options: Any) -> dict[str, Any]:
    """Partition where the graph, the partitions and the workspace are in a bucket."""
    server.files.call_s3("create_bucket", Bucket="bucket")
    server.files.put(str(graph), "s3://bucket/graph", recursive=True)
    where = {"workspace": "s3://bucket/work", "storage_options": server.options}
    stored, out = (UPath(f"s3://bucket/{name}", **server.options) for name in ("graph", "out"))
    given = dgp.read_chunked(stored)
    plan = dgp.plan(given, int(options.parts), out=out, **how(client, options), workspace=where["workspace"])
    notes: list[str] = []
    run("s3://bucket/graph", "s3://bucket/out", client, options, progress=notes_into(notes), **where)
    print(*notes, sep="\n")
    traffic = next(note for note in notes if "requests" in note)
    after = client.run(usage)
    return {
        "read": size_before("read", traffic),
        "written": size_before("written", traffic),
        "memory": max(of["memory"] for of in after.values()),
        "local": max(peaks.local.values()),
        "summary": traffic,
        "plan": dict(plan._facts()).get("disk", ""),
        "planned": (plan.local_nbytes, plan.local_task_nbytes, plan.local_method_nbytes),
    }


def notes_into(notes: list[str]) -> Any:
    """Keep the notes of a job."""

    def listen(event: dict[str, Any]) -> None:
        if event["event"] == "note":
            notes.append(event["text"])

    return listen


def size_before(word: str, traffic: str) -> float:
    """Bytes that a line of traffic names before a word."""
    number, unit = re.search(rf"([\d.,]+) (\w+) {word}", traffic).groups()  # type: ignore[union-attr]
    return float(number.replace(",", "")) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def how(client: Client, options: Any) -> dict[str, Any]:
    """Options of the job."""
    return {"method": options.method, "memory": options.memory, "workers": WORKERS, "cluster": client}


def run(graph: str, out: str, client: Client, options: Any, **where: Any) -> None:
    """Partition."""
    where.setdefault("progress", False)
    dgp.partition(graph, out, int(options.parts), **how(client, options), **where)


if __name__ == "__main__":
    main()
