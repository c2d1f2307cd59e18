"""Large graphs: what a quick look at them decides. Small ones stand for them, with the sizes lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import load_real_graph

import daskgraphpart as dgp
from daskgraphpart.adjacency import csr_blocks
from daskgraphpart.adjacency.export import export_graph
from daskgraphpart.assignment import choose, coarsened, skewed
from daskgraphpart.assignment.libraries.call import Candidate, Exported, run_library
from daskgraphpart.assignment.multilevel.in_memory import Csr, refine
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.assignment.pipeline import prepare_task
from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.sources.generate import generate

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.report import AssignReport


@pytest.fixture(autouse=True)
def every_graph_is_large_and_skewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "MEDIUM_ARCS", 0)
    monkeypatch.setattr(choose, "LARGE_ARCS", 0)
    monkeypatch.setattr(csr_blocks, "HUB_FACTOR", 0)


def generated(directory: Path, kind: str, num_edges: int = 60_000) -> Path:
    with open_runner(dgp.Resources(1 << 28)) as runner:
        generate(directory, kind=kind, num_nodes=30_000, num_edges=num_edges, feature_width=0, runner=runner)
    return directory


def report_of(graph: Path, method: str, balance: str) -> AssignReport:
    report = dgp.assign(graph, 8, method=dgp.AssignOptions(method, balance=balance, threads=1)).report
    assert report is not None
    assert all(each.is_kept for each in report.balances), report.balances
    return report


def test_hubs_that_know_one_another_are_kept_together(tmp_path: Path) -> None:
    graph = generated(tmp_path / "rmat", "rmat")
    found = report_of(graph, "auto", "nodes")
    assert found.method == "by-degree"
    assert found.cut_share < 0.7 * report_of(graph, "metis", "nodes").cut_share


def test_a_graph_with_nothing_to_be_found_gets_the_quick_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skewed, "NOTHING_FOUND", 0.5)  # in a small graph there is always something
    assert "fast" in report_of(generated(tmp_path / "rmat", "rmat"), "auto", "nodes,edges").method


def test_metis_gets_graphs_with_hubs_that_are_not_too_large_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "LARGE_ARCS", 1 << 20)
    graph = generated(tmp_path / "rmat", "rmat")
    found = report_of(graph, "auto", "nodes,edges")
    assert found.method.startswith("metis")
    assert found.cut_share <= report_of(graph, "metis", "nodes,edges").cut_share
    assert "metis" not in report_of(graph, "auto", "nodes").method


def test_a_graph_with_communities_gets_the_thorough_context(tmp_path: Path) -> None:
    graph = generated(tmp_path / "communities", "communities", 240_000)
    found = report_of(graph, "auto", "nodes")
    assert "eco" in found.method
    assert found.cut_share <= report_of(graph, "metis", "nodes").cut_share


def test_metis_keeps_the_constraint_in_focus_and_loosens_the_others() -> None:
    assert Candidate("metis", focus=1, looseness=0.5).tolerances([1.03, 1.10]) == pytest.approx([1.5, 1.10])
    assert Candidate("metis", focus=1, looseness=0.5, tightness=0.5).tolerances([1.8, 1.101]) == pytest.approx(
        [1.8, 1.051]
    )
    assert Candidate("metis", tightness=0.0).tolerances([1.03, 1.10]) == pytest.approx([1.001, 1.001])


def test_constraints_that_are_far_exceeded_are_restored() -> None:
    side = 60
    number = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
            np.stack([number[:-1].ravel(), number[1:].ravel()]),
        ],
        axis=1,
    )
    src, dst = np.concatenate([pairs, pairs[::-1]], axis=1)
    order = np.lexsort((dst, src))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=side * side))])
    weights = np.stack([np.ones(side * side, np.int64), 1 + np.arange(side * side) // 400], axis=1)
    graph = Csr(indptr, dst[order].astype(np.int32), np.ones(src.size, np.int64), weights)
    lopsided = np.minimum(np.arange(side * side) // 1800, 2).astype(np.int32)  # the third and fourth part are empty
    limits = np.ceil(1.05 * weights.sum(axis=0) / 4).astype(np.int64)
    found = refine(graph, lopsided, 4, limits, 3, 0)
    assert graph.overload(lopsided, limits, 4) > 1.5
    assert graph.overload(found, limits, 4) < 0.01
    assert np.array_equal(found, refine(graph, lopsided, 4, limits, 3, 0))
    assert graph.cut(found) < 0.15 * pairs.shape[1]


@pytest.fixture
def no_graph_has_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr_blocks, "HUB_FACTOR", 10**9)
    monkeypatch.setattr(choose, "COARSENED_ARCS", 0)
    monkeypatch.setattr(coarsened, "NOTHING_ELSE", 0.3)  # parts are not much larger than communities


@pytest.mark.usefixtures("no_graph_has_hubs")
@pytest.mark.parametrize("balance", ["nodes", "nodes,edges"])
def test_a_graph_with_clusters_is_coarsened_before_a_library_gets_it(tmp_path: Path, balance: str) -> None:
    graph = generated(tmp_path / "communities", "communities", 480_000)
    found = report_of(graph, "auto", balance)
    assert found.method.startswith("coarsened")
    assert found.cut_share <= 1.1 * report_of(graph, "metis", balance).cut_share


@pytest.mark.usefixtures("no_graph_has_hubs")
def test_what_is_coarsened_does_not_depend_on_the_workers(tmp_path: Path) -> None:
    graph = generated(tmp_path / "communities", "communities", 480_000)
    found = [
        dgp.assign(graph, 4, method=dgp.AssignOptions(threads=1), resources=dgp.Resources(1 << 30, cluster, workers))
        .owners["_N"]
        .read()
        for cluster, workers in (("sync", 1), ("threads", 3))
    ]
    assert np.array_equal(*found)


@pytest.mark.usefixtures("no_graph_has_hubs")
@pytest.mark.parametrize("factor", [0, csr_blocks.EVEN_FACTOR])
def test_a_mesh_goes_to_the_library_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: int) -> None:
    monkeypatch.setattr(csr_blocks, "EVEN_FACTOR", factor)
    graph = load_real_graph("walshaw_mesh/wing").write(tmp_path / "mesh", edge_format="numpy")
    assert report_of(graph, "auto", "nodes").method.startswith("kaminpar (eco")


@pytest.mark.parametrize("name", ["cora", "oewn"])
def test_neighbors_of_both_widths_are_the_same_graph_to_kaminpar(tmp_path: Path, name: str) -> None:
    graph = read_chunked(load_real_graph(name).write(tmp_path / "graph", edge_format="numpy"))
    found = []
    for wide in (False, True):
        with open_runner(dgp.Resources(1 << 30, "sync")) as runner:
            options = AssignOptions("kaminpar", "nodes,edges")  # with weights of nodes and of arcs
            task = prepare_task(graph, 4, options, tmp_path / f"adjacency-{wide}", runner)
            path = tmp_path / f"{wide}.parhip"
            file = export_graph(task.level.adjacency, path, None, (True, True, wide), runner)
            file.node_weights.write(np.arange(1, file.num_nodes + 1), 0)
        exported = Exported(
            str(path), "", file.num_nodes, file.num_arcs, 4, file.num_nodes**2 // 7, (), file.starts.offset,
            file.neighbors.offset, file.arc_weights.offset,
        )  # fmt: skip
        for compress in (False, True):
            call = Candidate("kaminpar", 0, compress=compress)
            found.append(run_library(call, exported, tmp_path, f"call-{wide}-{compress}"))
    assert np.array_equal(found[0], found[2])
    assert np.array_equal(found[1], found[3])
