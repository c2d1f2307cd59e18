"""The core: what a plain job does without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from remote_stores import make_graph

import daskgraphpart as dgp

PACKAGE = Path(dgp.__file__).parent
ROOMS = {
    "other layouts": (
        *(
            "plugins",
            "layouts/graphbolt.py",
            "layouts/graphstorm.py",
        ),
        *("layouts/owned_arrays.py", "layouts/id_maps.py"),
    ),
    "tables": (
        *("sources/table_scan.py", "sources/table_files.py", "sources/load_tables.py", "sources/tables.py"),
        *("sources/database.py", "sources/edge_lists.py", "sources/place_features.py", "sources/change_graph.py"),
        *("sources/read_table.py", "sources/text_table.py", "sources/text_rows.py", "sources/column_table.py"),
    ),
    "objects": (*("sources/stage_frames.py", "api/chunk_graph.py", "api/from_edges.py"),),
    "GraphStorm's construction": ("construction",),
    "owners to files": ("assignment/write_files.py",),
    "stores": ("storage/upload.py", "storage/stores.py"),
    "partitions read back": ("partitioned",),
    "clusters": ("engine/cluster_names.py", "engine/connect.py", "engine/on_cluster.py"),
    "machines": ("dispatching/machines.py", "dispatching/deliver.py"),
    "CSR and CSC": ("dispatching/compress_graph.py",),
    "maps larger than memory": ("dispatching/edges_by_range.py",),
    "readers of DGL's files": ("layouts/manifest_reader.py", "layouts/dgl_config_reader.py", "layouts/dgl_graph.py"),
    "other commands, keywords and displays": (
        *("cli/assign_dispatch.py", "cli/plan_command.py", "cli/table_inputs.py", "cli/dgl_options.py"),
        *("api/plan.py", "engine/displays.py", "id_ranges.py"),
    ),
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("core") / "graph"
    make_graph().write(directory, edge_format="csv", data_format="numpy")
    return directory


def run(package: Path, graph: Path, out: Path) -> None:
    """Partition in a fresh process."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONSAFEPATH": "1"}
    options = ["--num-parts", "3", "--method", "random", "--workers", "2", "--cluster", "threads", "--quiet"]
    command = [sys.executable, "-m", "daskgraphpart", "partition", str(graph), str(out), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, whose kernels are compiled once."""
    directory = tmp_path_factory.mktemp("copy") / "daskgraphpart"
    shutil.copytree(PACKAGE, directory, ignore=shutil.ignore_patterns("__pycache__"))
    return directory


@pytest.mark.parametrize("room", ROOMS)
def test_a_plain_job_does_without_a_room_on_the_rim(room: str, copy: Path, graph: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    for name in ROOMS[room]:
        (away / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).rename(away / name)
    try:
        run(copy, graph, tmp_path / "out")
    finally:
        for name in ROOMS[room]:
            (away / name).rename(copy / name)
