"""KarypisLab's own ParMETIS (branch `dgl`, built by `make parmetis`) partitions what `parmetis write` writes."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from commands import call
from graphs import load_real_graph
from judges import judge_with_dgl, save_for_judge
from parmetis_programs import read_lines

from daskgraphpart import open_partitions, parmetis

if TYPE_CHECKING:
    from graphs import Graph

pytestmark = [pytest.mark.long, pytest.mark.dgl, pytest.mark.real]

PROGRAMS = Path(__file__).parents[3] / "build" / "parmetis" / "bin"
NUM_PARTS, NUM_PROCESSES = 4, 2  # on one process the programs of that branch crash
GRAPHS = ("cora", "oewn")
"""One type of nodes and edges, and several types."""


def written(graph: Graph, root: Path, *options: str) -> Path:
    graph.write(root / "in")
    assert call("parmetis", "write", root / "in", root / "pm", *options, "--quiet") == 0
    return root / "pm"


def run(program: str, directory: Path, *arguments: object) -> int:
    """Run a program of ParMETIS over MPI; the cut that it reports."""
    if not (PROGRAMS / program).exists():
        pytest.skip("no ParMETIS: run `make parmetis`, which needs mpicc, cmake and github.com")
    allowed = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
    command = ["mpirun", "--oversubscribe", "-np", NUM_PROCESSES, PROGRAMS / program, *arguments]
    environment = {**os.environ, **allowed, "TMPDIR": "/tmp"}  # sockets have short names
    done = subprocess.run(
        [*map(str, command)], cwd=directory, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = re.search(rf"Final +{NUM_PARTS}-way Cut: +(\d+)", done.stdout)
    assert found, done.stdout
    return int(found[1])


@pytest.mark.parametrize("name", GRAPHS)
def test_its_parts_come_back_as_owners_and_dgl_loads_the_partitions(name: str, tmp_path: Path) -> None:
    graph = load_real_graph(name)
    pm, owners, out = written(graph, tmp_path), tmp_path / "owners", tmp_path / "out"
    cut = run("pm_dglpart2", pm, graph.schema.name, NUM_PARTS)
    parmetis.read(tmp_path / "in", pm, owners)
    lines = np.array(read_lines(pm / f"{graph.schema.name}_part.{NUM_PARTS}"), int)
    homogeneous = lines[np.argsort(lines[:, 0]), 1]
    found = [np.load(owners / f"{ntype}.npy") for ntype in graph.schema.ntypes]
    assert np.concatenate(found).tolist() == homogeneous.tolist()
    assert call("dispatch", tmp_path / "in", owners, out, "--quiet") == 0
    assert call("verify", tmp_path / "in", out, "--quiet") == 0
    judge_with_dgl("2.1.0", {save_for_judge(graph, tmp_path / "judge"): [open_partitions(out).config]}, tmp_path)
    src, dst = (ends_of(graph, end) for end in (0, 1))
    pairs = np.unique(np.stack([np.minimum(src, dst), np.maximum(src, dst)]), axis=1)
    assert cut == int((homogeneous[pairs[0]] != homogeneous[pairs[1]]).sum()), "the graph that it cut is ours"


@pytest.mark.parametrize("name", GRAPHS)
def test_its_complete_output_is_converted_and_dgl_loads_the_partitions(name: str, tmp_path: Path) -> None:
    whole, rng = load_real_graph(name), np.random.default_rng(3)
    nodes = {of.name: {"feat": rng.random((of.num_nodes, 3))} for of in whole.schema.node_types}
    edges = {of.name: {"feat": rng.integers(-99, 99, (of.num_edges, 2))} for of in whole.schema.edge_types}
    graph = replace(whole, node_data=nodes, edge_data=edges)
    pm, out = written(graph, tmp_path, "--node-attr", "feat", "--edge-attr", "feat"), tmp_path / "out"
    run("pm_dglpart", pm, graph.schema.name, NUM_PARTS // NUM_PROCESSES)
    removed = f"{graph.schema.name}_removed_edges.txt"
    dtypes = ("--node-attr-dtype", "float64", "--edge-attr-dtype", "int64")
    assert call("parmetis", "convert", pm, out, "--removed-edges", removed, *dtypes, "--quiet") == 0
    assert call("verify", tmp_path / "in", out, "--quiet") == 0
    judge_with_dgl("2.1.0", {save_for_judge(graph, tmp_path / "judge"): [open_partitions(out).config]}, tmp_path)


def ends_of(graph: Graph, end: int) -> np.ndarray:
    """Homogeneous IDs of the sources, or the destinations, of all edges."""
    first = dict(zip(graph.schema.ntypes, graph.schema.homo_starts, strict=False))
    return np.concatenate([ends[end] + first[etype.split(":")[2 * end]] for etype, ends in graph.edges.items()])
