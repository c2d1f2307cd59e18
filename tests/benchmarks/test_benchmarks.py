"""Every benchmark runs, on a toy, most of them in `make test-long`; times are not looked at."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from judges import dgl_python

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
TOY = "--nodes 1e4 --edges 1e5 --runs 1"
# script, its arguments, and words that have to be in what it prints
RUNS = [
    ("vs_copy", f"{TOY} --directory TMP", ("| ours", "| copy", "| copy input")),
    ("kernels", "--rows 1e4 --nodes 1e4", ("parse_edges",)),
    ("compiled_wheel", "--directory TMP", ("| first run with kernels |",)),
]
LONG_RUNS = [
    ("vs_dgl", f"{TOY} --dgl-python DGL-2.1.0 --directory TMP", ("dgl.distributed.partition_graph",)),
    ("drop_in", f"{TOY} --dgl-python DGL-2.1.0 --directory TMP", ('| ours, `"auto"`',)),
    ("vs_graphbolt", f"{TOY} --dgl-python DGL-2.1.0 --directory TMP", ("4 parts, ours", "preprocess_ondisk_dataset")),
    ("chunk_string_ids", "--edges 2e4 --directory TMP", ("all restored",)),
    ("memory_vs_scale", "--edges 1e4,2e4 --runs 1 --directory TMP", ("| 10000 |", "| 20000 |")),
    ("verify", f"{TOY} --directory TMP", ("| dispatch |", "| verify |", "| checksums |", "| quick |")),
    ("kinds", "--edges 2e4 --parts 4 --kinds web --directory TMP", ("| web | nodes |", "| web | nodes,edges |")),
    ("many_parts", f"{TOY} --parts 2,30 --directory TMP", ("| partition | 2 |", "| verify | 30 |")),
    ("many_types", "--cases 50:400:1,50:400:70 --runs 1 --directory TMP", ("| 50 | 400 | 1 |", "| 50 | 400 | 70 |")),
    ("layouts", f"{TOY} --directory TMP", ("| parquet |", "| ondisk (1 part) |")),
    ("open_partitions", f"{TOY} --directory TMP", ("|",)),
    ("id_mapping", "--ids 1e3 --runs 1 --dgl-python DGL-1.1.3", ("map_to_homo_eid",)),
    ("fetch_costs", "--edges 1e5 --directory TMP", ("| 1e5 | cut |", "| 1e5 | fetch |")),
    ("clusters", f"{TOY} --directory TMP", ("random, killed", "auto, local", "tasks were sent again")),
    ("loader_gpu", "--toy --directory TMP", ("| parts.neighbor_loader", "| ranks", "| the same sampler")),
]


@pytest.mark.parametrize(
    ("script", "arguments", "words"),
    [pytest.param(*run, id=run[0]) for run in RUNS]
    + [pytest.param(*run, id=run[0], marks=(pytest.mark.long, pytest.mark.dgl)) for run in LONG_RUNS],
)
def test_a_benchmark_runs(script: str, arguments: str, words: tuple[str, ...], tmp_path: Path) -> None:
    copy = copied(tmp_path)
    places = {"TMP": str(tmp_path)}
    command = [
        dgl_python(word.removeprefix("DGL-")) if word.startswith("DGL-") else places.get(word, word)
        for word in arguments.split()
    ]
    done = subprocess.run(
        [sys.executable, str(copy / f"{script}.py"), *command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(done.stdout.count(word) >= words.count(word) for word in words), done.stdout
    if script == "vs_copy":
        kept = json.loads((copy / "results" / "vs_copy.jsonl").read_text())
        assert set(kept["results"]) == {"ours", "copy", "copy input"}


def test_threads_are_at_most_as_many_times_as_fast_as_they_are(tmp_path: Path) -> None:
    copy, graph, python = copied(tmp_path), str(tmp_path / "graph"), sys.executable
    words = [graph, "--nodes", "1e4", "--edges", "1e5", "--quiet"]
    subprocess.run([python, "-m", "daskgraphpart", "generate", *words], check=True)
    words = ["assign", graph, str(tmp_path / "owners"), "--num-parts", "2", "--quiet"]
    subprocess.run([python, str(copy / "parallel_limit.py"), *words], check=True)
    kept = json.loads((copy / "results" / "parallel_limit.jsonl").read_text())
    times = kept["results"]["threads"]
    assert all(1 <= times[threads] <= int(threads) for threads in times)


def copied(directory: Path) -> Path:
    """Copy benchmarks, so that results of toys are not kept among those that count."""
    copy = directory / "benchmarks"
    shutil.copytree(BENCHMARKS, copy, ignore=shutil.ignore_patterns("results", "__pycache__"))
    (directory / "docs").symlink_to(BENCHMARKS.parent / "docs")
    return copy
