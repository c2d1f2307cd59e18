"""What synthetic graphs are made of: a schema, and a recipe for each edge type and feature."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.hashing import stream_key, uniform_ints
from daskgraphpart.kernels.synthetic import (
    community_edges,
    number_of_communities,
    rmat_edges,
    scatter_step,
    skewed_ids,
    uniform_floats,
)
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Mapping

RMAT_THRESHOLDS = tuple(round(65536 * share) for share in (0.57, 0.57 + 0.19, 0.57 + 0.19 + 0.19))
NUM_CLASSES = 153  # fields of study that papers of MAG240M are labelled with
# of every 10 nodes 6 are for training, 2 for validation, 2 for testing
MASKS = {"train_mask": range(6), "val_mask": range(6, 8), "test_mask": range(8, 10)}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A synthetic graph."""

    schema: GraphSchema  # types, counts and features
    # for each edge type how skewed its sources and destinations are; None for R-MAT; a number for communities, the
    # share of edges inside them
    skews: Mapping[str, tuple[float, float] | float | None]
    seed: int


def rmat_recipe(num_nodes: int, num_edges: int, width: int | None, labels: bool, seed: int) -> Recipe:
    """Power-law homogeneous graph with 50 float32 features, the kind that DGL's scaling study uses."""
    width = 50 if width is None else width
    data = [DataSpec("feat", np.dtype(np.float32), (width,))] if width else []
    data += _label_specs() if labels else []
    schema = GraphSchema("rmat", (NodeType("_N", num_nodes, tuple(data)),), (EdgeType("_N", "_E", "_N", num_edges),))
    return Recipe(schema, {"_N:_E:_N": None}, seed)


def communities_recipe(num_nodes: int, num_edges: int, width: int | None, labels: bool, seed: int) -> Recipe:
    """Homogeneous graph whose nodes form communities of a thousand on average, with three quarters of the edges."""
    plain = rmat_recipe(num_nodes, num_edges, width, labels, seed)
    schema = replace(plain.schema, name="communities")
    return Recipe(schema, {"_N:_E:_N": 0.75}, seed)


def mag_recipe(num_nodes: int, num_edges: int, width: int | None, labels: bool, seed: int) -> Recipe:
    """Heterogeneous graph in the proportions of ogbn-mag, with float16 features, labels, masks and edge features."""
    del labels  # it always has them
    papers, institutions, fields = (max(1, round(num_nodes * share)) for share in (0.38, 0.0045, 0.031))
    authors = max(1, num_nodes - papers - institutions - fields)
    width = 128 if width is None else width
    paper_data = [DataSpec("feat", np.dtype(np.float16), (width,))] if width else []
    paper_data += [*_label_specs(), DataSpec("year", np.dtype(np.int32))]
    cites, affiliated, topics = (round(num_edges * share) for share in (0.257, 0.05, 0.355))
    writes = num_edges - cites - affiliated - topics
    edge_types = (
        EdgeType("author", "writes", "paper", writes, (DataSpec("order", np.dtype(np.uint8)),)),
        EdgeType("paper", "cites", "paper", cites, (DataSpec("weight", np.dtype(np.float32)),)),
        EdgeType("author", "affiliated_with", "institution", affiliated),
        EdgeType("paper", "has_topic", "field", topics),
    )
    node_types = (
        NodeType("paper", papers, tuple(paper_data)),
        NodeType("author", authors),
        NodeType("institution", institutions),
        NodeType("field", fields),
    )
    skews = dict(zip((t.name for t in edge_types), ((2.0, 1.0), (1.0, 2.5), (1.0, 3.0), (1.0, 3.0)), strict=True))
    return Recipe(GraphSchema("mag", node_types, edge_types), skews, seed)


def _label_specs() -> list[DataSpec]:
    masks = [DataSpec(name, np.dtype(np.bool_)) for name in MASKS]
    return [DataSpec("label", np.dtype(np.int64)), *masks]


def make_edges(recipe: Recipe, edge_type: EdgeType, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges ``[start, stop)`` of a type: type-wise IDs of sources and destinations, int64."""
    src, dst = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
    skews = recipe.skews[edge_type.name]
    if skews is None:
        num_nodes = recipe.schema.node_type(edge_type.src).num_nodes
        rmat_edges(stream_key(recipe.seed, edge_type.name), start, num_nodes, RMAT_THRESHOLDS, src, dst)
        return src, dst
    if isinstance(skews, float):
        num_nodes = recipe.schema.node_type(edge_type.src).num_nodes
        sizes = (num_nodes, number_of_communities(num_nodes), skews, scatter_step(num_nodes))
        community_edges(stream_key(recipe.seed, edge_type.name), start, *sizes, src, dst)
        return src, dst
    for ids, ntype, skew, end in zip((src, dst), (edge_type.src, edge_type.dst), skews, ("src", "dst"), strict=True):
        num_nodes = recipe.schema.node_type(ntype).num_nodes
        skewed_ids(stream_key(recipe.seed, f"{edge_type.name} {end}"), start, num_nodes, skew, ids)
    return src, dst


def make_rows(recipe: Recipe, type_name: str, spec: DataSpec, start: int, stop: int) -> np.ndarray:
    """Rows ``[start, stop)`` of a feature."""
    if spec.name in MASKS:
        numbers = np.empty(stop - start, np.int64)
        uniform_ints(stream_key(recipe.seed, f"{type_name} split"), start, 10, numbers)
        chosen = MASKS[spec.name]
        return (numbers >= chosen.start) & (numbers < chosen.stop)
    key = stream_key(recipe.seed, f"{type_name} {spec.name}")
    if spec.dtype.kind == "f":
        width = int(np.prod(spec.row_shape, dtype=np.int64))
        # numbers are drawn in pairs, so rows begin at an even one
        first = start * width
        values = np.empty((stop - start) * width + first % 2, np.float32)
        uniform_floats(key, first - first % 2, values)
        return values[first % 2 :].reshape(stop - start, *spec.row_shape).astype(spec.dtype, copy=False)
    numbers = np.empty(stop - start, np.int64)
    bound, least = {"label": (NUM_CLASSES, 0), "year": (50, 1975), "order": (12, 0)}[spec.name]
    uniform_ints(key, start, bound, numbers)
    return (numbers + least).astype(spec.dtype)
