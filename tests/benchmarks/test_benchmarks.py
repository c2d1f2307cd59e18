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


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A copy, so that results of toys are not kept among those that count."""
    shutil.copytree(BENCHMARKS, tmp_path / "benchmarks", ignore=shutil.ignore_patterns("results", "__pycache__"))
    return tmp_path / "benchmarks"


def run(script: Path, *arguments: str) -> str:
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


TOY = ("--nodes", "1e4", "--edges", "1e5", "--runs", "1")


def test_vs_copy(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "vs_copy.py", *TOY, "--directory", str(tmp_path))
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == ["ours", "copy", "copy input"]
    kept = json.loads((scripts / "results" / "vs_copy.jsonl").read_text())
    assert set(kept["results"]) == {"ours", "copy", "copy input"}


@pytest.mark.long
def test_memory_vs_scale(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "memory_vs_scale.py", "--edges", "1e4,2e4", "--runs", "1", "--directory", str(tmp_path))
    assert len(table.splitlines()) == 4


def test_chunk_string_ids(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "chunk_string_ids.py", "--edges", "2e4", "--directory", str(tmp_path))
    assert "all restored" in table
    kept = json.loads((scripts / "results" / "chunk_string_ids.jsonl").read_text())
    assert set(kept["results"]) == {"2e4"}


@pytest.mark.long
def test_verify(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "verify.py", *TOY, "--directory", str(tmp_path))
    found = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert found == ["dispatch", "verify", "contents", "checksums", "quick"]


def test_kernels(scripts: Path) -> None:
    assert "parse_edges" in run(scripts / "kernels.py", "--rows", "1e4", "--nodes", "1e4")


@pytest.mark.dgl
def test_vs_dgl(scripts: Path, tmp_path: Path) -> None:
    arguments = (*TOY, "--dgl-python", dgl_python("2.1.0"), "--directory", str(tmp_path))
    assert "dgl.distributed.partition_graph" in run(scripts / "vs_dgl.py", *arguments)


@pytest.mark.long
def test_many_parts(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "many_parts.py", *TOY, "--parts", "2,30", "--directory", str(tmp_path))
    assert len(table.splitlines()) == 4


@pytest.mark.long
def test_open_partitions(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "open_partitions.py", *TOY, "--directory", str(tmp_path))
    assert len(table.splitlines()) == 3


@pytest.mark.dgl
@pytest.mark.long
def test_id_mapping(scripts: Path) -> None:
    table = run(scripts / "id_mapping.py", "--ids", "1e3", "--runs", "1", "--dgl-python", dgl_python("1.1.3"))
    assert "map_to_homo_eid" in table


@pytest.mark.long
def test_kill_and_resume(scripts: Path) -> None:
    table = run(scripts / "kill_and_resume.py", "--runs", "2", "--cases", "random,dispatch")
    assert table.splitlines()[-1].startswith("| all | 2 |")


@pytest.mark.long
def test_clusters(scripts: Path, tmp_path: Path) -> None:
    table = run(scripts / "clusters.py", *TOY, "--directory", str(tmp_path))
    jobs = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")]
    random = [f"random, {way}" for way in ("threads", "local", "client", "killed")]
    assert jobs == ["job", "---", *random, "job", "---", "auto, threads", "auto, local"]
    assert "tasks were sent again" in table


@pytest.mark.long
def test_kill_commands(scripts: Path) -> None:
    shown = run(scripts / "kill_commands.py", "--kills", "4", "--cases", "auto,multilevel,metis,cluster")
    assert shown.count("same bytes, nothing left") == 4
