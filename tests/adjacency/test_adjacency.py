"""The adjacency on disk equals the definition, whatever the input's form and the size of blocks."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import graphs

from daskgraphpart.adjacency import merge_arcs
from daskgraphpart.adjacency.build import build_adjacency
from daskgraphpart.adjacency.contract import contract
from daskgraphpart.adjacency.export import export_graph
from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.engine.resources import Resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from graphs import Graph

    from daskgraphpart.adjacency.csr_blocks import Adjacency


def dense(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Matrix of how many edges join two nodes, without the diagonal, and in-degrees; by the definition."""
    firsts = dict(
        zip(graph.schema.ntypes, np.cumsum([0, *(t.num_nodes for t in graph.schema.node_types)]), strict=False)
    )
    matrix = np.zeros((graph.schema.num_nodes,) * 2, np.int64)
    in_degrees = np.zeros(graph.schema.num_nodes, np.int64)
    for edge_type in graph.schema.edge_types:
        src, dst = (np.asarray(ends, np.int64) for ends in graph.edges[edge_type.name])
        src, dst = src + firsts[edge_type.src], dst + firsts[edge_type.dst]
        np.add.at(matrix, (src, dst), 1)
        np.add.at(matrix, (dst, src), 1)
        np.add.at(in_degrees, dst, 1)
    np.fill_diagonal(matrix, 0)
    return matrix, in_degrees


def as_dense(adjacency: Adjacency) -> np.ndarray:
    indptr, indices, weights = adjacency.read()
    matrix = np.zeros((adjacency.num_nodes,) * 2, np.int64)
    rows = np.repeat(np.arange(adjacency.num_nodes), np.diff(indptr))
    assert all((np.diff(indices[a:b]) > 0).all() for a, b in itertools.pairwise(indptr))
    matrix[rows, indices] = weights
    return matrix


@given(graphs(), st.sampled_from(["csv", "numpy", "parquet"]), st.integers(1, 40))
def test_it_is_symmetric_merged_and_without_loops(graph: Graph, form: str, most_arcs: int) -> None:
    expected, in_degrees = dense(graph)
    with (
        TemporaryDirectory() as scratch,
        open_runner(Resources(1 << 28, "sync")) as runner,
        patch.object(merge_arcs, "LEAST_BLOCK_ARCS", most_arcs),
        patch.object(merge_arcs, "BLOCKS", 10**9),
    ):
        opened = read_chunked(graph.write(Path(scratch) / "graph", edge_format=form))
        built = build_adjacency(opened, Path(scratch) / "adjacency", runner)
        assert np.array_equal(as_dense(built.adjacency), expected)
        assert np.array_equal(built.in_degrees.read(), in_degrees)
        assert built.adjacency.num_isolated == np.count_nonzero(~expected.any(axis=1))
        assert built.adjacency.total_weight == expected.sum()
        assert built.adjacency.max_degree == (expected > 0).sum(axis=1).max(initial=0)


@given(graphs(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_contraction_adds_up_arcs_between_clusters(graph: Graph, random: object, count: int) -> None:
    fine, _ = dense(graph)
    clusters = np.array([random.randrange(-1, count) for _ in range(fine.shape[0])], np.int32)  # type: ignore[attr-defined]
    expected = np.zeros((count, count), np.int64)
    kept = clusters >= 0
    np.add.at(expected, (clusters[kept][:, None], clusters[kept][None, :]), fine[np.ix_(kept, kept)])
    np.fill_diagonal(expected, 0)
    with TemporaryDirectory() as scratch, open_runner(Resources(1 << 28, "sync")) as runner:
        opened = read_chunked(graph.write(Path(scratch) / "graph", edge_format="numpy"))
        built = build_adjacency(opened, Path(scratch) / "adjacency", runner)
        region = create_npy(Path(scratch) / "clusters.npy", np.int32, clusters.shape)
        region.write(clusters, 0)
        coarse = contract(built.adjacency, region, count, Path(scratch) / "coarse", runner)
        assert np.array_equal(as_dense(coarse), expected)


@given(graphs(), st.booleans())
def test_the_exported_file_is_the_graph_without_isolated_nodes(graph: Graph, wide: bool) -> None:
    matrix, _ = dense(graph)
    kept = matrix.any(axis=1)
    with TemporaryDirectory() as scratch, open_runner(Resources(1 << 28, "sync")) as runner:
        opened = read_chunked(graph.write(Path(scratch) / "graph", edge_format="numpy"))
        built = build_adjacency(opened, Path(scratch) / "adjacency", runner)
        numbers = create_npy(Path(scratch) / "numbers.npy", np.int32, kept.shape)
        numbers.write(np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32), 0)
        file = export_graph(built.adjacency, Path(scratch) / "graph.parhip", numbers, (True, True, wide), runner)
        flags, num_nodes, num_arcs = np.fromfile(file.path, "<u8", 3)
        assert (num_nodes, num_arcs) == (kept.sum(), np.count_nonzero(matrix))
        assert flags & 2 == 0
        assert (flags & 8 == 0) == wide
        starts = (file.starts.read() - file.first_neighbor) // (8 if wide else 4)
        found = np.zeros((int(num_nodes),) * 2, np.int64)
        rows = np.repeat(np.arange(int(num_nodes)), np.diff(starts))
        weights = np.ones(int(num_arcs), np.int64) if flags & 1 else file.arc_weights.read()
        found[rows, file.neighbors.read()] = weights
        assert np.array_equal(found, matrix[np.ix_(kept, kept)])
        assert Path(file.path).stat().st_size == file.nbytes
