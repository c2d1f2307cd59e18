"""Kernels of the partitioners keep their promises: limits, loads, and the cut they say they saved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from daskgraphpart.assignment.multilevel.in_memory import Csr, contract, refine
from daskgraphpart.kernels.arcs import merge_arcs, merge_weighted_arcs
from daskgraphpart.kernels.clusters import apply_clusters, propose_clusters
from daskgraphpart.kernels.fm import refine_fm, relieve
from daskgraphpart.kernels.moves import apply_moves, cut_of_rows, deal_out, overload, propose_moves
from daskgraphpart.kernels.streaming import stream_nodes


@st.composite
def problems(draw: st.DrawFn) -> tuple[Csr, np.ndarray, int, np.ndarray]:
    """Weighted graph, parts of its nodes, number of parts, limits."""
    n, m = draw(st.integers(1, 40)), draw(st.integers(0, 120))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    matrix = np.zeros((n, n), np.int64)
    np.add.at(matrix, (rng.integers(0, n, m), rng.integers(0, n, m)), rng.integers(1, 5, m))
    matrix += matrix.T
    np.fill_diagonal(matrix, 0)
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]).astype(np.int64)
    num_parts = draw(st.integers(1, 6))
    node_weights = np.ascontiguousarray(
        np.stack([np.ones(n, np.int64), *(rng.integers(0, 9, n) for _ in range(draw(st.integers(0, 2))))], axis=1)
    )
    limits = (node_weights.sum(axis=0) * draw(st.floats(0.6, 2.0)) / num_parts).astype(np.int64) + 1
    graph = Csr(indptr, columns.astype(np.int32), matrix[rows, columns], node_weights)
    return graph, rng.integers(0, num_parts, n).astype(np.int32), num_parts, limits


def true_cut(graph: Csr, parts: np.ndarray) -> int:
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    return int(graph.weights[parts[rows] != parts[graph.indices]].sum()) // 2


@given(problems())
def test_the_measured_cut_and_volume_are_those_of_the_definition(problem: tuple) -> None:
    graph, parts, _, _ = problem
    cut, volume = cut_of_rows(graph.indptr, graph.indices, graph.weights, 0, parts)
    assert cut == 2 * true_cut(graph, parts)
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    pairs = {(r, parts[c]) for r, c in zip(rows, graph.indices, strict=True) if parts[r] != parts[c]}
    assert volume == len(pairs)


@given(problems())
def test_fm_saves_what_it_says_and_overloads_no_part(problem: tuple) -> None:
    graph, parts, num_parts, limits = problem
    before, loads = true_cut(graph, parts), graph.loads(parts, num_parts)
    worst = np.maximum(loads.max(axis=0), limits)
    args = (graph.indptr, graph.indices, graph.weights, parts, graph.node_weights, loads, limits)
    saved = refine_fm(*args, 50, 10_000)
    assert saved >= 0
    assert true_cut(graph, parts) == before - saved
    assert np.array_equal(loads, graph.loads(parts, num_parts))
    assert (loads.max(axis=0) <= worst).all()


@given(problems())
def test_relief_lowers_the_overload_and_keeps_the_loads_right(problem: tuple) -> None:
    graph, parts, num_parts, limits = problem
    loads = graph.loads(parts, num_parts)
    before = overload(loads, limits)
    left = relieve(graph.indptr, graph.indices, graph.weights, parts, graph.node_weights, loads, limits, 1000)
    assert left <= before + 1e-9
    assert np.array_equal(loads, graph.loads(parts, num_parts))
    assert left == pytest.approx(overload(loads, limits))


def best_relief_by_definition(
    graph: Csr, node: int, parts: np.ndarray, loads: np.ndarray, limits: np.ndarray
) -> tuple[float, int, float]:
    """Score, part and relief of the best move of a node; part -1 if no move helps."""

    def overload_by_definition(each: np.ndarray) -> float:
        return float((np.maximum(each - limits, 0) / np.maximum(limits, 1)).sum())

    old, weights = parts[node], graph.node_weights[node]
    row = slice(graph.indptr[node], graph.indptr[node + 1])
    bound = np.bincount(parts[graph.indices[row]], graph.weights[row], minlength=len(loads))
    best = (-np.inf, -1, 0.0)
    for part in set(range(len(loads))) - {old}:
        moved = loads.copy()
        moved[old] -= weights
        moved[part] += weights
        relief = overload_by_definition(loads) - overload_by_definition(moved)
        gain = bound[part] - bound[old]
        score = gain * relief if gain > 0 else (gain - 1e-3) / max(relief, 1e-12)
        score -= 1e-6 * float((loads[part] / np.maximum(limits, 1)).max())
        if relief > 1e-12 and score > best[0]:
            best = (score, part, relief)
    return best


def relieved_by_definition(graph: Csr, parts: np.ndarray, num_parts: int, limits: np.ndarray) -> bool:
    """Twin of `relieve`: the best move first, by keys that are those of when a neighbour last moved; in place.

    Returns whether there was always one best move; between equals the order in the heap decides.
    """
    loads = graph.loads(parts, num_parts)
    keys = {}
    for node in range(graph.num_nodes):
        over = (loads[parts[node]] > limits) & (graph.node_weights[node] > 0)
        score, part, _ = best_relief_by_definition(graph, node, parts, loads, limits)
        if over.any() and part >= 0:
            keys[node] = score
    while keys and (loads > limits).any():
        best_keys = sorted(keys.values())[-2:]
        if len(best_keys) == 2 and np.isclose(*best_keys, rtol=1e-6, atol=0.0):
            return False
        node = max(keys, key=lambda each: keys[each])
        score, part, _ = best_relief_by_definition(graph, node, parts, loads, limits)
        if part >= 0 and score < keys[node] * (1.001 if keys[node] < 0 else 0.999) - 1e-9:
            keys[node] = score
            if max(keys, key=lambda each: keys[each]) != node:
                continue
        del keys[node]
        if part < 0:
            continue
        loads[parts[node]] -= graph.node_weights[node]
        loads[part] += graph.node_weights[node]
        parts[node] = part
        for other in graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist():
            if other in keys:
                keys[other], found, _ = best_relief_by_definition(graph, other, parts, loads, limits)
                if found < 0:
                    del keys[other]
    return True


@settings(max_examples=50)
@given(problems(), st.integers(0, 2**32))
def test_relief_is_that_of_the_definition(problem: tuple, seed: int) -> None:
    graph, parts, num_parts, limits = problem
    rng = np.random.default_rng(seed)
    # weights with which hardly two moves are equally good
    rows = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    noise = rng.integers(1, 1 << 30, (graph.num_nodes, graph.num_nodes))
    weights = (noise + noise.T)[rows, graph.indices]
    node_weights = graph.node_weights * 1_000_000 + rng.integers(1, 1000, graph.node_weights.shape)
    graph, limits = Csr(graph.indptr, graph.indices, weights, node_weights), limits * 1_000_000
    expected = parts.copy()
    is_clear = relieved_by_definition(graph, expected, num_parts, limits)
    event("one best move" if is_clear else "equals")
    args = (graph.indptr, graph.indices, weights, parts, node_weights, graph.loads(parts, num_parts), limits)
    relieve(*args, 1 << 40)
    assert not is_clear or np.array_equal(parts, expected)


def test_relief_takes_nodes_from_the_border_inwards() -> None:
    n, half = 40, 20
    indptr = np.concatenate([[0, 1], 1 + 2 * np.arange(1, n - 1), [2 * n - 2]]).astype(np.int64)
    indices = np.concatenate([[1], np.stack([np.arange(n - 2), np.arange(2, n)], axis=1).ravel(), [n - 2]])
    graph = Csr(indptr, indices.astype(np.int32), np.ones(2 * n - 2, np.int64), np.ones((n, 1), np.int64))
    parts = (np.arange(n) >= 30).astype(np.int32)
    limits, loads = np.array([half]), graph.loads(parts, 2)
    args = (graph.indptr, graph.indices, graph.weights, parts, graph.node_weights, loads, limits)
    assert relieve(*args, 1000) == 0.0
    assert np.array_equal(parts, (np.arange(n) >= half).astype(np.int32))


@given(problems())
def test_refinement_never_makes_things_worse(problem: tuple) -> None:
    graph, parts, num_parts, limits = problem
    found = refine(graph, parts.copy(), num_parts, limits, 2, 0)
    before = (round(graph.overload(parts, limits, num_parts), 9), graph.cut(parts))
    assert (round(graph.overload(found, limits, num_parts), 9), graph.cut(found)) <= before


@given(problems(), st.integers(1, 7))
def test_moves_over_blocks_keep_limits_that_were_kept(problem: tuple, block: int) -> None:
    graph, parts, num_parts, limits = problem
    loads = graph.loads(parts, num_parts)
    worst = np.maximum(loads.max(axis=0), limits)
    proposals = []
    for start in range(0, graph.num_nodes, block):
        stop = min(start + block, graph.num_nodes)
        first, last = graph.indptr[start], graph.indptr[stop]
        mine = parts[start:stop].copy()
        propose_moves(
            graph.indptr[start : stop + 1] - first, graph.indices[first:last], graph.weights[first:last], start, parts,
            graph.node_weights[start:stop], loads.copy(), limits, mine,
        )  # fmt: skip
        proposals.append(mine)
    apply_moves(0, np.concatenate(proposals), graph.node_weights, limits, parts, loads)
    assert np.array_equal(loads, graph.loads(parts, num_parts))
    assert (loads.max(axis=0) <= worst).all()


@given(problems(), st.booleans())
def test_clusters_stay_light_and_inside_their_parts(problem: tuple, inside: bool) -> None:
    graph, parts, _, limits = problem
    n = graph.num_nodes
    most = np.maximum(limits // 2, graph.node_weights.max(axis=0))
    labels, loads = np.arange(n, dtype=np.int32), graph.node_weights.copy()
    bounds = parts if inside else np.empty(0, np.int32)
    for salt in range(3):
        mine, favorites = labels.copy(), np.empty(n, np.int32)
        propose_clusters(
            graph.indptr, graph.indices, graph.weights, 0, labels, bounds, graph.node_weights, loads, most, salt,
            mine, favorites,
        )  # fmt: skip
        apply_clusters(0, mine, graph.node_weights, most, labels, loads)
    expected = np.zeros_like(loads)
    np.add.at(expected, labels, graph.node_weights)
    assert np.array_equal(loads, expected)
    assert (loads <= most).all()
    if inside:
        assert all(len(set(parts[labels == label])) == 1 for label in set(labels))


@given(problems())
def test_contraction_in_memory_keeps_weights_and_cuts(problem: tuple) -> None:
    graph, parts, num_parts, _ = problem
    coarse = contract(graph, parts, num_parts)
    assert coarse.weights.sum() == 2 * true_cut(graph, parts)
    assert np.array_equal(coarse.node_weights, graph.loads(parts, num_parts))


@given(problems(), st.sampled_from([-1.0, 0.5, 3.0]))
def test_streams_give_every_node_with_neighbours_a_part(problem: tuple, alpha: float) -> None:
    graph, _, num_parts, limits = problem
    parts, loads = np.full(graph.num_nodes, -1, np.int32), np.zeros((num_parts, limits.size), np.int64)
    for _ in range(2):
        stream_nodes(graph.indptr, graph.indices, graph.weights, 0, parts, graph.node_weights, loads, limits, alpha)
    alone = np.diff(graph.indptr) == 0
    assert (parts[~alone] >= 0).all()
    assert (parts[alone] == -1).all()
    deal_out(np.flatnonzero(alone), graph.node_weights[alone], limits, parts, loads)
    assert np.array_equal(loads, graph.loads(parts, num_parts))


def merged_by_numpy(
    nodes: np.ndarray, neighbors: np.ndarray, weights: np.ndarray, first: int, last: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twin of `merge_weighted_arcs`: row starts, neighbours, sums."""
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
    done = merge_weighted_arcs(columns, first, last, rows, indptr, weights)
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
