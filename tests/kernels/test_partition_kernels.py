"""Kernels of the partitioners keep their promises: limits, loads, and the cut they say they saved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.kernels.arcs import merge_arcs
from daskgraphpart.kernels.clusters import (
    apply_clusters,
    match_two_hops,
    number_clusters,
    propose_clusters,
)
from daskgraphpart.kernels.move_nodes import assign_greedily, cut_of_rows, overload, rebalance_rows, refine_rows
from daskgraphpart.kernels.streaming import stream_nodes


class Problem(NamedTuple):
    """A weighted graph, parts of its nodes, limits of the parts."""

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    node_weights: np.ndarray
    parts: np.ndarray
    num_parts: int
    limits: np.ndarray

    @property
    def num_nodes(self) -> int:
        return self.indptr.size - 1

    @property
    def shares(self) -> np.ndarray:
        return 1 / np.maximum(self.limits, 1)

    def over(self, parts: np.ndarray) -> np.ndarray:
        """Loads minus limits, by the definition."""
        loads = [self.node_weights[parts == part].sum(axis=0) for part in range(self.num_parts)]
        return np.array(loads, np.float64) - self.limits

    def cut(self, parts: np.ndarray) -> int:
        rows = np.repeat(np.arange(self.num_nodes), np.diff(self.indptr))
        return int(self.weights[parts[rows] != parts[self.indices]].sum()) // 2

    def block(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, last = self.indptr[start], self.indptr[stop]
        return self.indptr[start : stop + 1] - first, self.indices[first:last], self.weights[first:last]


def fixed_nodes(problem: Problem) -> np.ndarray:
    """Some nodes that stay, or none."""
    every = 4 if problem.num_nodes % 2 else problem.num_nodes + 1
    return np.arange(1, problem.num_nodes + 1) % every == 0


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n, m = draw(st.integers(1, 40)), draw(st.integers(0, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = np.zeros((n, n), np.int32)
    np.add.at(matrix, (rng.integers(0, n, m), rng.integers(0, n, m)), rng.integers(1, 5, m))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    num_parts = draw(st.integers(1, 6))
    more = [rng.integers(0, 9, n) for _ in range(draw(st.integers(0, 2)))]
    node_weights = np.stack([np.ones(n, np.int64), *more], axis=1)
    limits = (node_weights.sum(axis=0) * draw(st.floats(0.6, 2.0)) / num_parts).astype(np.int64) + 1
    parts = rng.integers(0, num_parts, n).astype(np.int32)
    return Problem(indptr, columns.astype(np.int32), matrix[rows, columns], node_weights, parts, num_parts, limits)


@given(problems())
def test_the_measured_cut_and_volume_are_those_of_the_definition(problem: Problem) -> None:
    args = (problem.indptr, problem.indices, problem.weights, 0, problem.parts, problem.num_parts)
    cut, volume = cut_of_rows(*args)
    assert cut == 2 * problem.cut(problem.parts)
    rows = np.repeat(np.arange(problem.num_nodes), np.diff(problem.indptr))
    ends = zip(rows, problem.indices, strict=True)
    pairs = {(row, problem.parts[column]) for row, column in ends if problem.parts[row] != problem.parts[column]}
    assert volume == len(pairs)
    assert cut_of_rows(*args[:-1], 0) == (cut, 0)


@given(problems(), st.integers(1, 40))
def test_refinement_saves_what_it_says_and_overloads_no_part(problem: Problem, size: int) -> None:
    parts, n = problem.parts.copy(), problem.num_nodes
    for start in range(0, n, size):
        stop = min(start + size, n)
        before, mine, following = problem.cut(parts), parts[start:stop].copy(), np.zeros(n, np.bool_)
        over, active = problem.over(parts), np.ones(stop - start, np.bool_)
        worst = np.maximum(over, 0)
        args = (*problem.block(start, stop), start, parts, mine, problem.node_weights[start:stop], over)
        fixed = fixed_nodes(problem)[start:stop]
        saved = refine_rows(*args, problem.shares, active, following, fixed, 50)
        assert np.array_equal(mine[fixed], parts[start:stop][fixed])
        moved = np.flatnonzero(mine != parts[start:stop]) + start
        parts[start:stop] = mine
        assert saved >= 0
        assert problem.cut(parts) == before - saved
        assert np.array_equal(over, problem.over(parts))
        assert (over <= worst).all()
        assert following[moved].all()


@given(problems(), st.integers(1, 40))
def test_rebalancing_lowers_the_overload_and_keeps_the_loads_right(problem: Problem, size: int) -> None:
    parts, n = problem.parts.copy(), problem.num_nodes
    for start in range(0, n, size):
        stop, over = min(start + size, n), problem.over(parts)
        before, mine = overload(over, problem.shares), parts[start:stop].copy()
        args = (*problem.block(start, stop), start, parts, mine, problem.node_weights[start:stop], over)
        fixed = fixed_nodes(problem)[start:stop]
        rebalance_rows(*args, problem.shares, fixed)
        assert np.array_equal(mine[fixed], parts[start:stop][fixed])
        parts[start:stop] = mine
        assert np.array_equal(over, problem.over(parts))
        assert overload(over, problem.shares) <= before + 1e-9


def test_rebalancing_takes_nodes_from_the_border_inwards() -> None:
    n, half = 40, 20
    indptr = np.concatenate([[0, 1], 1 + 2 * np.arange(1, n - 1), [2 * n - 2]]).astype(np.int64)
    indices = np.concatenate([[1], np.stack([np.arange(n - 2), np.arange(2, n)], axis=1).ravel(), [n - 2]])
    parts = (np.arange(n) >= 30).astype(np.int32)
    path = Problem(
        indptr, indices.astype(np.int32), np.empty(0, np.int32), np.ones((n, 1), np.int64), parts, 2, np.array([half])
    )
    mine, over = parts.copy(), path.over(parts)
    none = np.empty(0, np.bool_)
    rebalance_rows(*path.block(0, n)[:2], path.weights, 0, parts, mine, path.node_weights, over, path.shares, none)
    assert overload(over, path.shares) == 0.0
    assert np.array_equal(mine, (np.arange(n) >= half).astype(np.int32))


@given(problems(), st.booleans())
def test_clusters_stay_light_and_inside_their_parts(problem: Problem, inside: bool) -> None:
    n, node_weights, parts = problem.num_nodes, problem.node_weights, problem.parts
    most = np.maximum(problem.limits // 2, node_weights.max(axis=0))
    labels, loads = np.arange(n, dtype=np.int32), node_weights.copy()
    bounds, preferred = parts if inside else np.empty(0, np.int32), np.empty(n, np.int32)
    for salt in range(3):
        mine = labels.copy()
        everybody, following = np.ones(n, np.bool_), np.zeros(n, np.bool_)
        args = (labels, bounds, node_weights, loads, most, salt, everybody, following, mine, preferred)
        propose_clusters(*problem.block(0, n), 0, *args)
        nodes = np.flatnonzero(mine != labels)
        apply_clusters(nodes, mine[nodes], node_weights[nodes], most, labels, loads)
    has_company, waiting = np.zeros(n, np.bool_), np.full(n + problem.num_parts, -1, np.int32)
    has_company[labels[labels != np.arange(n)]] = True
    single = np.flatnonzero((labels == np.arange(n)) & ~has_company)
    match_two_hops(single, preferred[single], node_weights[single], most, waiting, bounds, labels, loads)
    expected = np.zeros_like(loads)
    np.add.at(expected, labels, node_weights)
    assert np.array_equal(loads, expected)
    assert (loads <= most).all()
    if inside:
        assert all(len(set(parts[labels == label])) == 1 for label in set(labels))
    count = number_clusters(labels, np.full(n, -1, np.int32))
    assert set(labels.tolist()) == set(range(count))


def test_a_node_joins_the_lighter_of_two_clusters_with_equal_bonds() -> None:
    indptr, indices = np.array([0, 1, 2, 4, 4, 4]), np.array([2, 2, 0, 1], np.int32)
    labels, loads = np.array([0, 1, 2, 0, 0], np.int32), np.array([[3], [1], [1], [0], [0]])
    for salt in range(8):
        mine, preferred, only = labels.copy(), np.empty(5, np.int32), np.arange(5) == 2
        none, ones = np.empty(0, np.int32), np.ones((5, 1), np.int64)
        args = (labels, none, ones, loads, np.array([9]), salt, only, np.zeros(5, np.bool_), mine, preferred)
        propose_clusters(indptr, indices, none, 0, *args)
        assert mine[2] == preferred[2] == 1


@given(problems(), st.sampled_from([0.5, 3.0]))
def test_streams_give_every_node_with_neighbours_a_part(problem: Problem, alpha: float) -> None:
    node_weights, limits, n = problem.node_weights, problem.limits, problem.num_nodes
    parts, loads = np.full(n, -1, np.int32), np.zeros((problem.num_parts, limits.size), np.int64)
    middle, all_free = n // 2, np.empty(0, np.bool_)
    for blocks in ([(0, n)], [(0, middle), (middle, n)]):
        moved = []
        for start, stop in blocks:  # side by side: none sees what the other does
            mine, count, then = parts[start:stop].copy(), len(blocks), loads.copy()
            weights = node_weights[start:stop]
            rows = problem.block(start, stop)
            stream_nodes(*rows, start, parts, mine, weights, then, limits, alpha, all_free, count)
            moved.append((start, stop, mine, (then - loads) // count))
        for start, stop, mine, change in moved:
            parts[start:stop] = mine
            loads += change
    expected = np.zeros_like(loads)
    np.add.at(expected, parts[parts >= 0], node_weights[parts >= 0])
    assert np.array_equal(loads, expected)
    alone = np.diff(problem.indptr) == 0
    assert (parts[~alone] >= 0).all()
    assert (parts[alone] == -1).all()
    over = (loads - limits).astype(np.float64)
    assign_greedily(np.flatnonzero(alone), node_weights[alone], over, problem.shares, parts)
    assert over == pytest.approx(problem.over(parts))


def merged_by_numpy(
    nodes: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twin of `merge_arcs`: row starts, neighbours, sums."""
    mine = (nodes >= first) & (nodes < last)
    pairs = np.stack([nodes[mine], neighbors[mine]]).astype(np.int64)
    (rows, columns), places = np.unique(pairs, axis=1, return_inverse=True)
    sums = np.zeros(rows.size, np.int64)
    np.add.at(sums, places.reshape(-1), weights[mine])
    return np.searchsorted(rows, np.arange(first, last + 1)), columns, sums


@st.composite
def arcs_of_a_range(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int, int, np.random.Generator]:
    """Nodes and neighbours, none its own, of which some are outside a range of nodes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = draw(st.sampled_from([np.int32, np.int64]))
    low = draw(st.sampled_from([0, 3000]))
    high = low + draw(st.sampled_from([2, 40, 5_000_000 if dtype == np.int32 else 2**40]))
    nodes = rng.integers(low, min(high, low + 30), draw(st.integers(0, 300))).astype(dtype)
    neighbors = rng.integers(low, high, nodes.size).astype(dtype)
    neighbors[neighbors == nodes] += 1
    return nodes, neighbors, low + draw(st.integers(0, 5)), low + draw(st.integers(6, 30)), rng


@given(arcs_of_a_range(), st.sampled_from([np.int32, np.int64]))
def test_weighted_arcs_are_merged_as_numpy_merges_them(arcs: tuple, dtype: type) -> None:
    nodes, neighbors, first, last, rng = arcs
    arc_weights = rng.integers(1, 9, nodes.size)
    expected = merged_by_numpy(nodes, neighbors, arc_weights, first, last)
    rows, weights = np.empty_like(neighbors), np.empty(nodes.size, dtype)
    indptr = np.empty(last - first + 1, np.int64)
    columns = np.stack([nodes, neighbors, arc_weights.astype(nodes.dtype)], axis=1)
    done = merge_arcs(columns, first, last, rows, indptr, weights, np.empty(0, np.int64))
    for found, wanted in zip((indptr, rows[:done], weights[:done]), expected, strict=True):
        assert np.array_equal(found, wanted)


@given(arcs_of_a_range())
def test_arcs_of_edges_are_merged_and_counted_as_numpy_does(arcs: tuple) -> None:
    nodes, neighbors, first, last, rng = arcs
    loops = rng.integers(0, 20, nodes.size) == 0
    neighbors = np.where(loops, nodes, neighbors)
    points_here = loops | (rng.integers(0, 2, nodes.size) == 0)
    kept = ~loops
    expected = merged_by_numpy(nodes[kept], neighbors[kept], np.ones(kept.sum(), np.int64), first, last)
    rows, weights = np.empty_like(neighbors), np.empty(nodes.size, np.int32)
    indptr, in_degrees = np.empty(last - first + 1, np.int64), np.zeros(last - first, np.int64)
    coded = np.where(points_here, ~neighbors, neighbors).astype(neighbors.dtype)
    done = merge_arcs(np.stack([nodes, coded], axis=1), first, last, rows, indptr, weights, in_degrees)
    for found, wanted in zip((indptr, rows[:done], weights[:done]), expected, strict=True):
        assert np.array_equal(found, wanted)
    inside = (nodes >= first) & (nodes < last) & points_here
    assert np.array_equal(in_degrees, np.bincount(nodes[inside] - first, minlength=last - first))
