"""Expected samples of edges and nodes, by the formulas of the text, edge by edge; predictions, by whole epochs."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from graphs import Graph
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inside import AssignOptions, Resources, npy_region, open_runner

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.partitioner.adjacency import adjacency_sizes
from daskgraphpart.partitioner.training import in_edges
from daskgraphpart.partitioner.training.training_graph import TrainingGraph, read_training_graph
from daskgraphpart.storage.region import save_npy

if TYPE_CHECKING:
    from daskgraphpart.partitioner.training.expect_samples import Weights

# two relations between the same types, a loop type, and a type that nothing points at
TYPES = (("u", "knows", "u"), ("u", "likes", "v"), ("u", "owns", "v"), ("w", "sees", "u"))
SIZES = {"u": 30, "v": 20, "w": 10}
FIRSTS = {"u": 0, "v": 30, "w": 50}
NUM_PARTS, BATCH = 3, 4


def some_graph(seed: int, count: int, *, masked: bool, num_types: int = 4, scale: int = 1) -> Graph:
    """Edges at random between few nodes, so that parallel edges, self-loops and isolated nodes occur."""
    rng = np.random.default_rng(seed)
    types = TYPES[:num_types]
    edges = {
        ":".join(of): (rng.integers(0, SIZES[of[0]] * scale, count), rng.integers(0, SIZES[of[2]] * scale, count))
        for of in types
    }
    used = {ntype for src, _, dst in types for ntype in (src, dst)}
    nodes = tuple(NodeType(ntype, size * scale) for ntype, size in SIZES.items() if ntype in used)
    data = {"u": {"train_mask": rng.random(SIZES["u"] * scale) < 0.4}} if masked else {}
    if masked:
        data["u"]["train_mask"][0] = True
    return Graph(GraphSchema("g", nodes, tuple(EdgeType(*of, count) for of in types)), edges, data)


def in_edges_of(graph: Graph) -> dict[int, dict[int, list[int]]]:
    """Sources of in-edges by node and edge type, all homogeneous."""
    starts = dict(zip(graph.schema.ntypes, graph.schema.homo_starts, strict=False))
    found: dict[int, dict[int, list[int]]] = {v: {} for v in range(graph.schema.num_nodes)}
    for number, edge_type in enumerate(graph.schema.edge_types):
        src, dst = graph.edges[edge_type.name]
        for s, d in zip(src.tolist(), dst.tolist(), strict=True):
            found[d + starts[edge_type.dst]].setdefault(number, []).append(s + starts[edge_type.src])
    return found


def seeds_of(graph: Graph) -> np.ndarray:
    seeds = np.ones(graph.schema.num_nodes, bool)
    if graph.node_data:
        seeds[:] = False
        seeds[: SIZES["u"]] = graph.node_data["u"]["train_mask"]
    return seeds


def expected_by_hand(graph: Graph, fanouts: list[list[int]]) -> tuple[Counter, Counter, np.ndarray]:
    """Samples and rows of each pair (source, destination), and work at nodes and below seeds, term by term."""
    columns, seeds = in_edges_of(graph), seeds_of(graph)
    n, hops = graph.schema.num_nodes, len(fanouts)

    def chance(hop: int, etype: int, degree: int) -> float:
        fanout = fanouts[hop][etype]
        return 1.0 if fanout < 0 else min(1.0, fanout / degree)

    below = [np.zeros(n) for _ in range(hops + 1)]  # below[l]: rows when hops l, l + 1, ... are to come
    for hop in range(hops - 1, -1, -1):
        for v in range(n):
            below[hop][v] = below[hop + 1][v] + sum(
                chance(hop, etype, len(sources)) * sum(1 + below[hop + 1][u] for u in sources)
                for etype, sources in columns[v].items()
            )
    reached = seeds * min(1.0, BATCH * NUM_PARTS / seeds.sum())
    samples, rows, work = Counter(), Counter(), np.zeros((n, 2))
    work[:, 1] = reached * below[0]
    for hop in range(hops):
        missed: dict[int, list[float]] = {u: [1 - reached[u]] for u in range(n)}
        for v in range(n):
            for etype, sources in columns[v].items():
                x = reached[v] * chance(hop, etype, len(sources))
                for u in sources:
                    samples[u, v] += x
                    rows[u, v] += x * (1 + below[hop + 1][u])
                    work[v, 0] += x
                    missed[u].append(1 - x)
        reached = np.array([1 - prod(missed[u]) for u in range(n)])
    return samples, rows, work


def as_matrix(pairs: Counter, n: int) -> np.ndarray:
    """Weights of undirected edges, without loops."""
    matrix = np.zeros((n, n))
    for (u, v), weight in pairs.items():
        if u != v:
            matrix[u, v] += weight
            matrix[v, u] += weight
    return matrix


def built(training: TrainingGraph, weights: Weights, directory: Path, runner: object) -> np.ndarray:
    """The adjacency's weights as a matrix, in samples."""
    adjacency = training.weigh(weights, directory, runner)  # type: ignore[arg-type]
    matrix = np.zeros((adjacency.num_nodes, adjacency.num_nodes))
    for block in adjacency.blocks:
        indptr, indices, found = block.read()
        rows = np.repeat(np.arange(block.start, block.stop), np.diff(indptr))
        matrix[rows, indices] = found if found.size else 1
    return matrix * (adjacency.weight_unit or 1)


FANOUTS = [[[2] * 4, [3] * 4], [[2, 0, 1, -1], [3, 2, 0, 1], [-1, 1, 1, 2]], [[5] * 4], [[-1] * 4, [1] * 4]]


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(FANOUTS), st.booleans(), st.sampled_from(["csv", "parquet", "numpy"]))
@example(1, FANOUTS[1], True, "csv")
@example(2, FANOUTS[0], False, "parquet")
def test_weights_and_work_are_those_of_the_formulas(
    seed: int, fanouts: list[list[int]], masked: bool, form: str
) -> None:
    graph = some_graph(seed, 60, masked=masked)
    by_type = {etype: [hop[i] for hop in fanouts] for i, etype in enumerate(graph.schema.etypes)}
    samples, rows, work = expected_by_hand(graph, fanouts)
    options = AssignOptions(objtype="fetch", fanouts=by_type, batch_size=BATCH)
    n = graph.schema.num_nodes
    with TemporaryDirectory() as scratch, open_runner(Resources(1 << 24, "sync")) as runner:
        opened = dgp.read_chunked(graph.write(Path(scratch) / "graph", edge_format=form, num_chunks=3))
        training = read_training_graph(opened, NUM_PARTS, options, Path(scratch) / "training", runner)
        for weights, pairs in (("samples", samples), ("rows", rows)):
            found, wanted = built(training, weights, Path(scratch) / weights, runner), as_matrix(pairs, n)
            # an edge weighs at least one unit of a millionth
            assert np.allclose(found, wanted, rtol=1e-4, atol=max(pairs.values()) * 1e-5)
        plain = built(training, "edges", Path(scratch) / "edges", runner)
        assert np.array_equal(plain, as_matrix(Counter(_pairs(graph)), n))
        assert training.work is not None
        assert np.allclose(training.work.region.read(), work, rtol=1e-6)
        assert [training.work.at_nodes, training.work.below_seeds] == pytest.approx(work.sum(axis=0).tolist())


def _pairs(graph: Graph) -> list[tuple[int, int]]:
    return [(u, v) for v, by_type in in_edges_of(graph).items() for sources in by_type.values() for u in sources]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("num_types", [1, 4])
def test_predictions_are_exact_where_all_neighbours_are_sampled(
    masked: bool, num_types: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adjacency_sizes, "MIN_BLOCK_ARCS", 16)
    monkeypatch.setattr(in_edges, "SPANS_PER_MAP", 2)
    graph = some_graph(3, 40, masked=masked, num_types=num_types)
    columns, seeds, n = in_edges_of(graph), seeds_of(graph), graph.schema.num_nodes
    parts = np.random.default_rng(0).integers(0, NUM_PARTS, n).astype(np.int32)
    save_npy(tmp_path / "parts.npy", parts)
    options = AssignOptions(fanouts=[-1, -1], batch_size=1000)
    with open_runner(Resources(1 << 26, "threads")) as runner:
        opened = dgp.read_chunked(graph.write(tmp_path / "graph"))
        training = read_training_graph(opened, NUM_PARTS, options, tmp_path / "training", runner)
        assert len(training.in_edges.spans) > 4
        predicted = training.predict(npy_region(tmp_path / "parts.npy", np.int32, (n,)), runner)
        assert training.count_cut_edges(npy_region(tmp_path / "parts.npy", np.int32, (n,)), runner) == sum(
            parts[u] != parts[v] for u, v in _pairs(graph)
        )
    for part in range(NUM_PARTS):
        nodes, work = set(np.flatnonzero(seeds & (parts == part)).tolist()), 0
        assert predicted.seeds[part] == len(nodes)
        for _ in range(2):
            work += sum(len(sources) for v in nodes for sources in columns[v].values())
            nodes |= {u for v in nodes for sources in columns[v].values() for u in sources}
        assert (predicted.inputs[part], predicted.work[part]) == (len(nodes), work)
        assert predicted.fetched[part] == sum(parts[v] != part for v in nodes)
