"""Call real DGL, in an environment of its own, to judge partitions."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphs import Graph

ROOT = Path(__file__).parent.parent
DGL_VERSIONS = ("1.1.3", "2.1.0")
SCRIPTS = Path(__file__).parent / "real_dgl"


def dgl_python(version: str) -> str:
    """Python with that DGL; without it a test is skipped."""
    python = ROOT / f".venv-dgl-{version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no DGL {version}: run `make dgl-envs graphstorm-env`")
    return str(python)


def require_pyg_sampler() -> None:
    """Without a sampler for PyG's own loaders a test is skipped."""
    from torch_geometric import typing as installed

    if not (installed.WITH_PYG_LIB or installed.WITH_TORCH_SPARSE):
        pytest.skip("NeighborLoader needs torch-sparse: run `make pyg-samplers`")


def dgl_environment(home: Path) -> dict[str, str]:
    """Environment variables of processes of DGL."""
    fixed = {"DGLBACKEND": "pytorch", "HOME": str(home), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **fixed}


@cache
def dgl_forks(version: str) -> subprocess.Popen[str]:
    """The process with that DGL, which forks for each script until this process ends."""
    command = [dgl_python(version), str(SCRIPTS / "forks.py")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dgl_environment(SCRIPTS), cwd=SCRIPTS
    )
    atexit.register(process.communicate)  # closes its stdin, so that it ends
    return process


def run_script_in_dgl(version: str, script: Path, *arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    """Run a script, with DGL imported; its exit code, and what it printed to both streams."""
    process, streams = dgl_forks(version), [cwd / f"dgl-{version}.{name}" for name in ("out", "err")]
    assert process.stdin is not None and process.stdout is not None
    words = [str(script), *map(str, arguments)]
    task = {"words": words, "environment": dgl_environment(cwd), "cwd": str(cwd), "streams": [*map(str, streams)]}
    try:
        print(json.dumps(task), file=process.stdin, flush=True)
        exit_code = int(process.stdout.readline())
    except BaseException:  # what is answered later is not for whoever asks next
        process.kill()
        dgl_forks.cache_clear()
        raise
    out, err = (stream.read_text() for stream in streams)
    return exit_code, out, err


def run_in_dgl(version: str, script: str, *arguments: str | Path, cwd: Path) -> dict[str, Any]:
    """Run a script of tests/real_dgl and return the JSON of its last line."""
    exit_code, out, err = run_script_in_dgl(version, SCRIPTS / script, *arguments, cwd=cwd)
    assert exit_code == 0, f"DGL {version}:\n{out[-2000:]}\n{err[-6000:]}"
    result: dict[str, Any] = json.loads(out.strip().splitlines()[-1])
    return result


def judge_with_dgl(version: str, configs_of: Mapping[Path, Sequence[Path]], cwd: Path) -> None:
    """Have DGL load every part of every config and compare it with the graph."""
    work = cwd / f"judge-{version}.json"
    work.write_text(json.dumps({str(graph): [str(path) for path in configs] for graph, configs in configs_of.items()}))
    verdict = run_in_dgl(version, "judge.py", work, cwd=cwd)
    assert verdict == {"dgl": version, "configs": sum(map(len, configs_of.values()))}


def save_for_judge(graph: Graph, directory: Path) -> Path:
    """Write a graph as the judge reads it."""
    directory.mkdir(parents=True, exist_ok=True)
    counter = iter(range(1_000_000))

    def save(array: np.ndarray) -> str:
        name = f"{next(counter)}.npy"
        np.save(directory / name, array)
        return name

    def data(of_types: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, str]:
        return {f"{kind}/{name}": save(rows) for kind, of in of_types.items() for name, rows in of.items()}

    content = {
        "name": graph.schema.name,
        "num_nodes": {t.name: t.num_nodes for t in graph.schema.node_types},
        "edges": {etype: [save(src), save(dst)] for etype, (src, dst) in graph.edges.items()},
        "node_data": data(graph.node_data),
        "edge_data": data(graph.edge_data),
    }
    (directory / "graph.json").write_text(json.dumps(content))
    return directory
