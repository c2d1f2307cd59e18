"""Hypothesis strategies: graphs of every shape, and the ways to run them that must not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from graphs import Graph
from hypothesis import strategies as st
from inside import Sizes

from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.schema import STORED_DTYPES

NAMES = ("a", "bee", "c c")
RELATIONS = ("r", "s")
DTYPES = [dtype for dtype in STORED_DTYPES if dtype != "bfloat16"]
"""What every format and layout holds; bfloat16 has tests of its own."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs with one to three node types, types without nodes or edges, self-loops, parallel edges, features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    ntypes = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    sizes = {t: draw(st.sampled_from((0, 1, 2, 5, 17, 64, 130))) for t in ntypes}
    triples = st.tuples(st.sampled_from(ntypes), st.sampled_from(RELATIONS), st.sampled_from(ntypes))
    etypes = draw(st.lists(triples, max_size=4, unique=True))
    edges, edge_types, edge_data = {}, [], {}
    for src, rel, dst in etypes:
        count = draw(st.sampled_from((0, 1, 7, 63, 200))) if sizes[src] and sizes[dst] else 0
        edge_types.append(EdgeType(src, rel, dst, count))
        name = edge_types[-1].name
        ends = (rng.integers(0, max(1, sizes[end]), count) for end in (src, dst))
        edges[name] = tuple(ends)
        edge_data[name] = _features(draw, rng, count)
    node_data = {t: _features(draw, rng, size) for t, size in sizes.items()}
    for t, size in sizes.items():
        if draw(st.booleans()):
            node_data[t]["train_mask"] = rng.random(size) < 0.5
    schema = GraphSchema("g", tuple(NodeType(t, size) for t, size in sizes.items()), tuple(edge_types))
    return Graph(schema, edges, node_data, edge_data)  # type: ignore[arg-type]


def _features(draw: st.DrawFn, rng: np.random.Generator, rows: int) -> dict[str, np.ndarray]:
    features = {}
    for name in draw(st.lists(st.sampled_from(("x", "y z", "weight")), max_size=2, unique=True)):
        shape = draw(st.sampled_from(((), (1,), (3,), (2, 2), (0,))))
        dtype = draw(st.sampled_from(DTYPES))
        features[name] = rng.integers(0, 2 if dtype == "bool" else 100, (rows, *shape)).astype(dtype)
    return features


@dataclass(frozen=True)
class Layout:
    """How the input lies in files."""

    edge_format: str
    data_format: str
    num_chunks: tuple[int, int]
    delimiter: str


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Formats, numbers of files, delimiters."""
    chunks = st.sampled_from((1, 2, 5))
    return Layout(
        draw(st.sampled_from(("csv", "numpy", "parquet"))),
        draw(st.sampled_from(("numpy", "parquet"))),
        (draw(chunks), draw(chunks)),
        draw(st.sampled_from((" ", ",", "\t", ";"))),
    )


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """Sizes of units, down to a few rows, so that small graphs take every path a large one does."""
    few = st.sampled_from((3, 7, 64, 1000))
    return Sizes(
        edge_block_rows=draw(few),
        csv_block_bytes=draw(st.sampled_from((10, 100, 10_000))),
        row_block_bytes=draw(st.sampled_from((20, 300, 10_000))),
        interval_rows=draw(few),
        segment_edges=draw(few),
        map_bytes=draw(st.sampled_from((0, 1 << 30))),
        range_nodes=draw(few),
        bitmap_bytes=draw(st.sampled_from((0, 1 << 20))),
    )
