"""Call real DGL, in an environment of its own, to judge partitions."""

from __future__ import annotations

import json
import os
import subprocess
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


def run_in_dgl(version: str, script: str, *arguments: str | Path, cwd: Path) -> dict[str, Any]:
    """Run a script of tests/real_dgl and return the JSON of its last line."""
    command, environment = [dgl_python(version), str(SCRIPTS / script), *map(str, arguments)], dgl_environment(cwd)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False, timeout=800)
    assert done.returncode == 0, f"DGL {version}:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}"
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def judge_with_dgl(version: str, configs_of: Mapping[Path, Sequence[Path]], cwd: Path) -> None:
    """Have DGL load every part of every config and compare it with the graph; one process, as its import is slow."""
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
