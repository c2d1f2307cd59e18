"""The adjacency on disk equals the definition, whatever the input's form and the size of blocks."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from graphs import Graph
from hypothesis import example, given
from hypothesis import strategies as st
from inside import Resources, open_runner
from strategies import graphs

from daskgraphpart import EdgeType, GraphSchema, NodeType, read_chunked
from daskgraphpart.partitioner.adjacency.build_adjacency import build_adjacency

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency


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
    matrix = np.zeros((adjacency.num_nodes,) * 2, np.int64)
    for block in adjacency.blocks:
        indptr, indices, weights = block.read()
        rows = np.repeat(np.arange(block.start, block.stop), np.diff(indptr))
        assert all((np.diff(indices[a:b]) > 0).all() for a, b in itertools.pairwise(indptr))
        matrix[rows, indices] = weights if weights.size else 1
    return matrix


def of_many_arcs() -> Graph:
    """A graph of 2,000 nodes and 100,000 edges, half of them at the first 3: more than fit into a block."""
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, 2000, (2, 100_000))
    src[::2] %= 3
    return Graph(GraphSchema("g", (NodeType("n", 2000),), (EdgeType("n", "e", "n", 100_000),)), {"n:e:n": (src, dst)})


@given(graphs(), st.sampled_from(["csv", "numpy", "parquet"]))
@example(of_many_arcs(), "csv")
@example(of_many_arcs(), "parquet")
def test_it_is_symmetric_merged_and_without_loops(graph: Graph, form: str) -> None:
    expected, in_degrees = dense(graph)
    with TemporaryDirectory() as scratch, open_runner(Resources(1 << 28, "sync")) as runner:
        opened = read_chunked(graph.write(Path(scratch) / "graph", edge_format=form))
        built = build_adjacency(opened, Path(scratch) / "adjacency", runner)
        assert len(built.blocks) > 2 or graph.schema.num_edges < 100_000
        assert np.array_equal(as_dense(built), expected)
        assert np.array_equal(built.in_degrees.read(), in_degrees)
        assert built.num_isolated == np.count_nonzero(~expected.any(axis=1))
        assert built.total_weight == expected.sum()
