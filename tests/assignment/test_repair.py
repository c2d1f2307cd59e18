"""Repair in memory: the sweeps of the disk over blocks that are held, read once, whatever they find to do."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskgraphpart as dgp
from daskgraphpart.adjacency.csr_blocks import Adjacency, write_block
from daskgraphpart.assignment.multilevel import in_memory, refine_held, sweep_in_memory
from daskgraphpart.assignment.multilevel.held_graph import Held, Rows, contract_held
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.assignment.multilevel.refine_held import HeldConfig, refine_task, repair_task
from daskgraphpart.assignment.multilevel.sweep_in_memory import Sweeper
from daskgraphpart.assignment.multilevel.vcycle import refine_blocks
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.kernels.moves import propose_relief
from daskgraphpart.sources.generate import generate
from daskgraphpart.storage.region import create_npy


@st.composite
def problems(draw: st.DrawFn) -> tuple[Held, np.ndarray, int, np.ndarray]:
    """Weighted graph in blocks, parts of its nodes, number of parts, limits that can be kept more or less."""
    n, m, size = draw(st.integers(1, 60)), draw(st.integers(0, 200)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = np.zeros((n, n), np.int32)
    np.add.at(matrix, (rng.integers(0, n, m), rng.integers(0, n, m)), rng.integers(1, 5, m))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    blocks = []
    for start in range(0, n, size):
        rows, columns = np.nonzero(matrix[start : start + size])
        counts = np.bincount(rows, minlength=min(size, n - start))
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        blocks.append(Rows(start, indptr, columns.astype(np.int32), matrix[start : start + size][rows, columns]))
    node_weights = np.stack([np.ones(n, np.int64), rng.integers(0, 9, n)], axis=1)[:, : draw(st.integers(1, 2))]
    num_parts = draw(st.integers(1, 6))
    limits = (node_weights.sum(axis=0) * draw(st.floats(0.7, 1.5)) / num_parts).astype(np.int64) + 1
    parts = rng.integers(-1, num_parts, n).astype(np.int32)
    return Held(tuple(blocks), np.ascontiguousarray(node_weights)), parts, num_parts, limits


def sweeper(num_parts: int, limits: np.ndarray, most_arcs: int = 0) -> Sweeper:
    return Sweeper(num_parts, limits, map, most_arcs)


def stored(graph: Held, directory: Path) -> Level:
    """Write a graph as a level on disk."""
    blocks = tuple(
        write_block(str(directory / f"block-{i}"), b.start, b.indptr, b.indices, b.weights if b.weights.size else None)
        for i, b in enumerate(graph.blocks)
    )
    weights = []
    for i, column in enumerate(graph.node_weights.T):
        weights.append(create_npy(directory / f"weights-{i}.npy", np.int64, column.shape))
        weights[-1].write(column, 0)
    isolated = int(graph.isolated().sum())
    total = sum(int(b.weights.sum()) for b in graph.blocks)
    return Level(Adjacency(graph.num_nodes, isolated, total, 1, blocks), tuple(weights), str(directory))


@given(problems())
def test_sweeps_in_memory_find_what_those_over_blocks_on_disk_do(problem: Any) -> None:
    graph, parts, num_parts, limits = problem
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        patch.setattr(sweep_in_memory, "MOST_MOVE_SWEEPS", 3)
        patch.setattr(sweep_in_memory, "MOVES_SETTLED", 1e-9)
        mine = parts.copy()
        graph.deal_out_rest(mine, num_parts, limits)
        sweeper(num_parts, limits).move(graph, mine)
        sweeper(num_parts, limits).relieve(graph, mine)
        level = stored(graph, Path(directory))
        region = create_parts(level, "parts.npy")
        region.write(parts, 0)
        with open_runner(dgp.Resources(1 << 24)) as runner:
            refine_blocks(level, region, num_parts, limits, runner)
        assert np.array_equal(mine, region.read())


@given(problems(), st.integers(1, 4), st.sampled_from([repair_task, refine_task]))
def test_a_repair_gives_every_node_a_part_and_adds_to_no_overload(problem: Any, threads: int, task: Any) -> None:
    graph, parts, num_parts, limits = problem
    dealt = parts.copy()
    graph.deal_out_rest(dealt, num_parts, limits)
    found = []
    for count in (1, threads):
        with TemporaryDirectory() as directory:
            level = stored(graph, Path(directory))
            region = create_parts(level, "parts.npy")
            region.write(parts, 0)
            most = tuple(int(limit) for limit in limits)
            has_helped = task(None, HeldConfig(level, region, num_parts, most, 1, 0, count, 40))
            found.append(region.read())
    assert np.array_equal(*found)
    assert found[0].min() >= 0
    assert found[0].max() < num_parts
    before, after = (sweeper(num_parts, limits).value(graph, each) for each in (dealt, found[0]))
    assert after[0] <= before[0]
    if task is refine_task:
        assert has_helped == (after < before)
    else:
        assert has_helped


@given(problems())
def test_contraction_of_blocks_gives_the_graph_that_contraction_of_one_piece_does(problem: Any) -> None:
    graph, parts, num_parts, _ = problem
    clusters = np.maximum(parts, 0)
    coarse = contract_held(graph, clusters, num_parts, map)
    expected = in_memory.contract(graph.csr(), clusters, num_parts)
    found = coarse.csr()
    for name in ("indptr", "indices", "weights", "node_weights"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@given(problems())
def test_a_v_cycle_keeps_nodes_in_range_and_never_makes_balance_worse(problem: Any) -> None:
    graph, parts, num_parts, limits = problem
    cycle = sweeper(num_parts, limits, most_arcs=30)
    graph.deal_out_rest(parts, cycle.num_parts, cycle.limits)
    before = graph.overload(parts, limits, num_parts)
    after = cycle.v_cycle(graph, parts.copy(), 1, 0)
    assert after.min() >= 0
    assert after.max() < num_parts
    assert graph.overload(after, limits, num_parts) <= before + 1e-9


def test_a_v_cycle_does_not_overload_a_part_with_nodes_that_coarser_graphs_lack() -> None:
    """The isolated node 8 weighs (1, 8); a V-cycle that forgot it filled its part up, from an overload of 0."""
    ends = [(0, 2, 1), (0, 13, 2), (1, 4, 3), (1, 5, 1), (1, 11, 4), (2, 6, 4), (2, 9, 4), (2, 13, 1), (3, 4, 1)]
    ends += [(3, 7, 4), (4, 7, 2), (4, 11, 3), (6, 12, 6), (6, 14, 3), (9, 10, 2), (9, 11, 1), (9, 13, 1), (10, 11, 1)]
    matrix = np.zeros((15, 15), np.int32)
    for src, dst, weight in ends:
        matrix[src, dst] = matrix[dst, src] = weight
    blocks = []
    for node, row in enumerate(matrix):
        around = np.flatnonzero(row).astype(np.int32)
        blocks.append(Rows(node, np.array([0, around.size]), around, row[around]))
    in_degrees = [4, 3, 2, 0, 5, 5, 4, 8, 8, 1, 5, 5, 2, 2, 4]
    node_weights = np.stack([np.ones(15, np.int64), np.array(in_degrees)], axis=1)
    graph, limits = Held(tuple(blocks), node_weights), np.array([8, 30])
    parts = np.array([1, -1, 1, 0, -1, 0, 1, 1, 0, -1, 1, -1, 1, 1, 0], np.int32)
    graph.deal_out_rest(parts, 2, limits)
    before = graph.overload(parts, limits, 2)
    after = sweeper(2, limits, most_arcs=30).v_cycle(graph, parts.copy(), 1, 0)
    assert graph.overload(after, limits, 2) <= before


def test_nodes_of_no_part_are_not_moved_out_of_the_last_one() -> None:
    indptr, none = np.array([0, 0, 0, 0], np.int64), np.empty(0, np.int32)
    parts, loads = np.array([-1, 1, 1], np.int32), np.array([[0], [2]], np.int64)
    targets, scores = np.empty(3, np.int32), np.zeros(3)
    weights, limits = np.ones((3, 1), np.int64), np.array([1], np.int64)
    propose_relief(indptr, none, none, 0, parts, weights, loads, limits, targets, scores)
    assert targets.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("most_held", [0, 1 << 28])
@pytest.mark.parametrize("method", ["kaminpar", "auto", "metis", "multilevel"])
def test_limits_are_kept_in_memory_and_on_disk(
    method: str, most_held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refine_held, "MOST_ARCS_HELD", most_held)
    monkeypatch.setattr("daskgraphpart.assignment.multilevel.vcycle.MOST_ARCS_IN_MEMORY", 20_000)
    with open_runner(dgp.Resources(1 << 28)) as runner:
        generate(tmp_path / "g", kind="rmat", num_nodes=5000, num_edges=50_000, feature_width=0, runner=runner)
    report = dgp.assign(tmp_path / "g", 6, method=dgp.AssignOptions(method, balance="nodes,edges")).report
    assert report is not None
    assert all(balance.is_kept for balance in report.balances), report.balances
    assert report.cut_share < 1 - 1 / 6
