"""Combining partitions: what comes out keeps the limits that one of them kept, and cuts no more than the best such."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskgraphpart as dgp
from daskgraphpart.adjacency.csr_blocks import Adjacency, write_block
from daskgraphpart.assignment import choose
from daskgraphpart.assignment.multilevel import combine
from daskgraphpart.assignment.multilevel.in_memory import Csr
from daskgraphpart.assignment.multilevel.level import Level, create_parts
from daskgraphpart.engine.runner import Runner, open_runner
from daskgraphpart.sources.generate import generate
from daskgraphpart.storage.region import Region, create_npy


def a_graph(num_nodes: int, num_edges: int, seed: int, block: int = 1 << 20) -> tuple[Csr, list[tuple[int, int]]]:
    """Weighted graph, a third of its nodes without neighbours, with two weights; and the spans of its blocks."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((num_nodes, num_nodes), np.int64)
    joined = max(2, 2 * num_nodes // 3)
    ends = rng.permutation(num_nodes)[rng.integers(0, joined, (2, num_edges))]
    np.add.at(matrix, tuple(ends), rng.integers(1, 5, num_edges))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=num_nodes))]).astype(np.int64)
    weights = np.stack([np.ones(num_nodes, np.int64), rng.integers(0, 9, num_nodes)], axis=1)
    weights[np.diff(indptr) == 0, 1] = 0  # like edges; what weighs nothing else always finds a part with room
    spans = [(start, min(start + block, num_nodes)) for start in range(0, num_nodes, block)]
    return Csr(indptr, columns.astype(np.int32), matrix[rows, columns], np.ascontiguousarray(weights)), spans


def stored(graph: Csr, spans: list[tuple[int, int]], directory: Path) -> Level:
    """Write a graph as a level on disk."""
    blocks = []
    for i, (start, stop) in enumerate(spans):
        first, last = graph.indptr[start], graph.indptr[stop]
        rows = graph.indptr[start : stop + 1] - first
        arcs = graph.indices[first:last], graph.weights[first:last].astype(np.int32)
        blocks.append(write_block(str(directory / f"block-{i}"), start, rows, *arcs))
    columns = []
    for i, column in enumerate(graph.node_weights.T):
        columns.append(create_npy(directory / f"weights-{i}.npy", np.int64, column.shape))
        columns[-1].write(column, 0)
    isolated = int(np.count_nonzero(np.diff(graph.indptr) == 0))
    adjacency = Adjacency(graph.num_nodes, isolated, int(graph.weights.sum()), 1, tuple(blocks))
    return Level(adjacency, tuple(columns), str(directory))


def combined(level: Level, pool: list[np.ndarray], num_parts: int, limits: np.ndarray, runner: Runner) -> np.ndarray:
    regions: list[Region] = []
    for i, parts in enumerate(pool):
        regions.append(create_parts(level, f"pool-{i}.npy"))
        regions[-1].write(parts, 0)
    target = create_parts(level, "target.npy")
    combine.combine(level, num_parts, limits, (regions, target, 0), runner)
    return target.read()


def value(graph: Csr, parts: np.ndarray, limits: np.ndarray, num_parts: int) -> tuple[float, int]:
    return round(graph.overload(parts, limits, num_parts), 9), graph.cut(parts)


@settings(max_examples=15)
@given(st.integers(3, 60), st.integers(1, 150), st.integers(1, 60), st.integers(0, 2**32), st.integers(1, 3))
def test_what_comes_out_is_no_worse_than_the_best_that_keeps_the_limits(
    num_nodes: int, num_edges: int, block: int, seed: int, size: int
) -> None:
    graph, spans = a_graph(num_nodes, num_edges, seed, block)
    if not graph.indices.size:
        return
    num_parts, rng = 1 + seed % 5, np.random.default_rng(seed)
    pool = [rng.integers(0, num_parts, num_nodes).astype(np.int32) for _ in range(size)]
    limits = graph.loads(pool[0], num_parts).max(axis=0)
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as directory,
        open_runner(dgp.Resources(1 << 28, "sync", 1)) as runner,
    ):
        patch.setattr(combine, "_calls", lambda *_: [])  # nothing but what is combined
        found = combined(stored(graph, spans, Path(directory)), pool, num_parts, limits, runner)
    assert found.min() >= 0
    assert found.max() < num_parts
    assert value(graph, found, limits, num_parts) <= min(value(graph, parts, limits, num_parts) for parts in pool)


@settings(max_examples=25)
@given(st.integers(1, 200), st.lists(st.integers(1, 300), min_size=1, max_size=4), st.integers(0, 2**32))
def test_an_overlay_is_the_sets_of_nodes_that_no_partition_separates(
    num_nodes: int, counts: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pool = [rng.integers(-1, count, num_nodes).astype(np.int32) for count in counts]
    with TemporaryDirectory() as directory:
        regions = [create_npy(Path(directory) / f"{i}.npy", np.int32, (num_nodes,)) for i in range(len(pool) + 1)]
        for region, parts in zip(regions, pool, strict=False):
            region.write(parts, 0)
        combine.overlay_parts(None, (tuple(regions[:-1]), regions[-1]))
        found = regions[-1].read()
    by_definition = list(zip(*(parts.tolist() for parts in pool), strict=True))
    pairs = set(zip(found.tolist(), by_definition, strict=True))
    assert len(set(found.tolist())) == len(set(by_definition)) == len(pairs)


@pytest.mark.parametrize("libraries", [("metis", "kaminpar"), ("kaminpar",), ("metis",)])
def test_a_graph_that_does_not_shrink_is_combined_with_either_library(
    libraries: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combine, "has_library", libraries.__contains__)
    graph, spans = a_graph(150, 400, seed=1)
    pool = [np.random.default_rng(i).permutation(150).astype(np.int32) % 4 for i in range(6)]  # hardly any two agree
    limits = np.ceil(graph.node_weights.sum(axis=0) / 4 * 1.1).astype(np.int64)
    with open_runner(dgp.Resources(1 << 28, "sync", 1)) as runner:
        found = combined(stored(graph, spans, tmp_path), pool, 4, limits, runner)
    assert graph.overload(found, limits, 4) == 0.0
    assert graph.cut(found) < min(graph.cut(parts) for parts in pool)


def owners_of(graph: Path, cluster: str, workers: int) -> np.ndarray:
    resources = dgp.Resources(1 << 30, cluster, workers)
    found = dgp.assign(graph, 4, method=dgp.AssignOptions(balance="nodes,edges"), resources=resources)
    assert found.report is not None
    assert "combined" in found.report.method
    assert all(balance.is_kept for balance in found.report.balances), found.report.balances
    (owners,) = found.owners.values()
    return owners.read()


def test_combined_parts_are_the_same_for_any_number_of_workers_and_without_metis_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "TINY_ARCS", 0)
    with open_runner(dgp.Resources(1 << 28)) as runner:
        generate(tmp_path / "g", kind="rmat", num_nodes=2000, num_edges=12_000, feature_width=0, runner=runner)
    first = owners_of(tmp_path / "g", "threads", 2)
    for cluster, workers in (("threads", 1), ("sync", 1)):
        assert np.array_equal(first, owners_of(tmp_path / "g", cluster, workers))
    for module in (combine, choose):
        monkeypatch.setattr(module, "has_library", "kaminpar".__eq__)
    assert np.bincount(owners_of(tmp_path / "g", "threads", 2), minlength=4).max() <= 1.03 * 500
