"""A package of somebody else registers a reader: the last example of the page on layouts, installed by pip."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from foreign_packages import call, install, run_suite
from graphs import file_hashes

import daskgraphpart as dgp
from daskgraphpart.testing import ReaderSuite

if TYPE_CHECKING:
    from pathlib import Path

NUM_NODES, NUM_EDGES = 5000, 100_000
OPTIONS = ("--num-parts", 3, "--method", "fennel", "--edge-weight", "weight", "--quiet", "--cluster", "threads")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory into which pip has installed the package."""
    return install("dimacs_reader", tmp_path_factory)


class TestTables(ReaderSuite):
    reader = "tables"

    def example(self, directory: Path) -> tuple[Path, dgp.Graph]:
        (directory / "graph.csv").write_text("src,dst\n0,1\n1,2\n2,0\n0,2\n")
        return directory / "graph.csv", dgp.from_edges(([0, 1, 2, 0], [1, 2, 0, 2]), name="graph", num_nodes=3)


SUITE = r"""
import numpy as np

import daskgraphpart as dgp
from daskgraphpart.testing import ReaderSuite


class TestDimacs(ReaderSuite):
    reader = "dimacs"

    def example(self, directory):
        path, weights = directory / "roads.gr", {"weight": np.array([7, 9, 1])}
        path.write_text("p sp 4 3\na 1 2 7\na 4 1 9\na 3 3 1\n")
        return path, dgp.from_edges(([0, 3, 2], [1, 0, 2]), name="roads", num_nodes=4, edge_data=weights)
"""


def test_the_example_passes_the_suite(installed: Path, tmp_path: Path) -> None:
    run_suite(installed, tmp_path, SUITE)


@pytest.fixture(scope="module")
def edges() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.column_stack([rng.integers(0, NUM_NODES, (NUM_EDGES, 2)), rng.integers(1, 900, NUM_EDGES)])


@pytest.fixture
def roads(edges: np.ndarray, tmp_path: Path) -> Path:
    """A file of several pieces, with comments."""
    lines = [f"a {src + 1} {dst + 1} {weight}" for src, dst, weight in edges.tolist()]
    lines.insert(75_000, "c half way")
    (tmp_path / "roads.gr").write_text("\n".join(["c a road network", f"p sp {NUM_NODES} {NUM_EDGES}", *lines, ""]))
    return tmp_path / "roads.gr"


def test_every_job_takes_its_files(installed: Path, roads: Path, edges: np.ndarray, tmp_path: Path) -> None:
    (src, dst, weight) = edges.T
    graph = dgp.from_edges((src, dst), name="roads", num_nodes=NUM_NODES, edge_data={"weight": weight})
    dgp.partition(graph, tmp_path / "expected", 3, method="fennel", edge_weight="weight", progress=False)
    done = call(installed, "partition", roads, tmp_path / "out", *OPTIONS)
    assert (done.returncode, done.stderr) == (0, "")
    assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "expected")
    assert "5,000 nodes, 100,000 edges" in call(installed, "plan", roads, "--num-parts", 2).stdout
    assert call(installed, "verify", roads, tmp_path / "out", "--quiet").returncode == 0
    changed = ("build", tmp_path / "both", "--graph", roads, "--add-reverse", "dgl", "--cast", "weight=int32")
    assert "200,000" in call(installed, *changed).stdout
    assert call(tmp_path, "partition", roads, tmp_path / "none", *OPTIONS).returncode == 2  # without the package


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(b"p sp 5000", b"p xy 5000", "no header: expected a line such as", marks=pytest.mark.long),
        (b"100000\n", b"100001\n", "fewer edges than the header says: expected 100,001, found 100,000"),
        pytest.param(b"100000\n", b"99999\n", "more edges than the header says", marks=pytest.mark.long),
        (b"\na ", b"\na 9", "no such node in edge 1: expected nodes from 1 to 5,000"),
        pytest.param(b"\na ", b"\nb ", "not all lines are edges", marks=pytest.mark.long),
    ],
)
def test_its_faults_are_one_sentence(
    old: bytes, new: bytes, message: str, installed: Path, roads: Path, tmp_path: Path
) -> None:
    roads.write_bytes(roads.read_bytes().replace(old, new, 1))
    done = call(installed, "partition", roads, tmp_path / "out", *OPTIONS)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{roads}: {message}" in line
    assert not os.path.exists(tmp_path / "out" / "roads.json")
