"""Write a synthetic chunked graph, one file per task, in bounded memory: each row is a function of seed and number."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.output import claimed_directory
from daskgraphpart.graph.rows import MadeRows
from daskgraphpart.graph.write_graph import ChunkFormat, write_graph
from daskgraphpart.kernels.hashing import stream_key, uniform_ints
from daskgraphpart.kernels.synthetic import skewed_ids, uniform_floats
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local
from daskgraphpart.tools import kinds

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner

KINDS = tuple(dict.fromkeys(("rmat", "communities", "mag", *kinds.KINDS)))
WRITES, CITES = "author:writes:paper", "paper:cites:paper"
MIN_MAG_NODES = 5
NUM_CLASSES = 153  # fields of study that label papers of MAG240M
# of 10 nodes, 6 are for training, 2 for validation, 2 for testing
MASKS = {"train_mask": range(6), "val_mask": range(6, 8), "test_mask": range(8, 10)}
# integers: their number, and the least
INTEGERS = {"label": (NUM_CLASSES, 0), "year": (50, 1975), "order": (12, 0)}


def generate(
    out_dir: str | os.PathLike[str],
    *,
    kind: str = "rmat",
    num_nodes: int,
    num_edges: int,
    feature_width: int | None = None,
    seed: int = 0,
    edge_format: str = "parquet",
    data_format: str = "numpy",
    num_chunks: int | None = None,
    labels: bool = False,
    name: str | None = None,
    overwrite: bool = False,
    runner: Runner,
) -> Path:
    """Write a synthetic graph in DGL's Chunked Graph Data Format.

    Content depends on kind, sizes and seed; formats and the number of chunks only divide it into files.
    """
    check_choice("kind of graph", "--kind", kind, KINDS)
    form = ChunkFormat(edge_format, data_format, num_chunks=num_chunks, names="named")
    if num_nodes < 1 or num_edges < 0:
        sizes = f"{num_nodes} nodes, {num_edges} edges"
        raise OptionError("invalid size", expected="at least one node", found=sizes)
    if feature_width is not None and feature_width < 0:
        raise OptionError("invalid width of features", option="features", expected="0 or more", found=feature_width)
    if kind == "mag":
        graph = mag_graph(num_nodes, num_edges, feature_width, seed)
    else:
        graph = graph_of_kind(kind, num_nodes, num_edges, feature_width, labels, seed)
    graph = replace(graph, schema=replace(graph.schema, name=name or kind))
    out = require_local(out_dir, "a graph that is written")
    with environment_faults(), claimed_directory(out, (), overwrite):
        return write_graph(graph, out, form, runner)


def graph_of_kind(kind: str, num_nodes: int, num_edges: int, width: int | None, labels: bool, seed: int) -> Graph:
    """Graph with 50 float32 features, of one of `kinds.KINDS`."""
    counts, numbers = kinds.nodes_and_edges(kind, num_nodes, num_edges)
    edges = {}
    for etype, count in numbers.items():
        key = stream_key(seed, etype)
        make = partial(make_edges, kind, key, (*counts.values(), count))
        edges[etype] = MadeRows(np.dtype(np.int64), (count, 2), make)
    width = 50 if width is None else width
    data = {ntype: _features(ntype, count, np.float32, width, labels, seed) for ntype, count in counts.items()}
    return graph_of(kind, counts, edges, data)


def mag_graph(num_nodes: int, num_edges: int, width: int | None, seed: int) -> Graph:
    """Heterogeneous graph with ogbn-mag's proportions, float16 features, labels, masks and edge features."""
    if num_nodes < MIN_MAG_NODES:  # smaller graphs would come out too large
        what, expected = "too few nodes for kind mag", f"{MIN_MAG_NODES} or more"
        raise OptionError(what, option="nodes", expected=expected, found=num_nodes)
    papers, institutions, fields = (max(1, round(num_nodes * share)) for share in (0.38, 0.0045, 0.031))
    authors = max(1, num_nodes - papers - institutions - fields)
    counts = {"paper": papers, "author": authors, "institution": institutions, "field": fields}
    cites, affiliated, topics = (round(num_edges * share) for share in (0.257, 0.05, 0.355))
    edges = {}
    for etype, count, skews in (
        (WRITES, num_edges - cites - affiliated - topics, (2.0, 1.0)),
        (CITES, cites, (1.0, 2.5)),
        ("author:affiliated_with:institution", affiliated, (1.0, 3.0)),
        ("paper:has_topic:field", topics, (1.0, 3.0)),
    ):
        keys = stream_key(seed, f"{etype} src"), stream_key(seed, f"{etype} dst")
        ends = [(key, counts[ntype], skew) for key, ntype, skew in zip(keys, etype.split(":")[::2], skews, strict=True)]
        edges[etype] = MadeRows(np.dtype(np.int64), (count, 2), partial(make_skewed_edges, ends))
    papers_data = _features("paper", papers, np.float16, 128 if width is None else width, True, seed)
    data = {
        "paper": papers_data | {"year": _feature("paper", "year", np.int32, (papers,), seed)},
        WRITES: {"order": _feature(WRITES, "order", np.uint8, edges[WRITES].shape[:1], seed)},
        CITES: {"weight": _feature(CITES, "weight", np.float32, edges[CITES].shape[:1], seed)},
    }
    return graph_of("mag", counts, edges, data)


def _features(ntype: str, num_nodes: int, dtype: type, width: int, labels: bool, seed: int) -> dict[str, MadeRows]:
    """Node features: a vector unless its width is 0, and, if wanted, a label and masks."""
    features = {"feat": _feature(ntype, "feat", dtype, (num_nodes, width), seed)} if width else {}
    if labels:
        features["label"] = _feature(ntype, "label", np.int64, (num_nodes,), seed)
        features |= {name: _feature(ntype, name, np.bool_, (num_nodes,), seed) for name in MASKS}
    return features


def _feature(of_type: str, name: str, dtype: type, shape: tuple[int, ...], seed: int) -> MadeRows:
    key = stream_key(seed, f"{of_type} {'split' if name in MASKS else name}")
    if name in MASKS:
        return MadeRows(np.dtype(dtype), shape, partial(make_mask, key, MASKS[name]))
    if name in INTEGERS:
        return MadeRows(np.dtype(dtype), shape, partial(make_integers, key, *INTEGERS[name], dtype))
    return MadeRows(np.dtype(dtype), shape, partial(make_floats, key, shape[1:], dtype))


def make_edges(kind: str, key: np.uint64, sizes: Sequence[int], start: int, stop: int) -> np.ndarray:
    """Edges ``[start, stop)`` of a kind, by its numbers of nodes and edges."""
    return np.stack(kinds.KINDS[kind](key, *sizes, np.arange(start, stop)), axis=1)


def make_skewed_edges(ends: Sequence[tuple[np.uint64, int, float]], start: int, stop: int) -> np.ndarray:
    """Edges ``[start, stop)`` with independent ends: key, number of nodes and skew of each."""
    edges = np.empty((2, stop - start), np.int64)
    for ids, (key, num_nodes, skew) in zip(edges, ends, strict=True):
        skewed_ids(key, start, num_nodes, skew, ids)
    return edges.T


def make_mask(key: np.uint64, chosen: range, start: int, stop: int) -> np.ndarray:
    """Rows ``[start, stop)`` of a mask: true if a draw of ten is among `chosen`."""
    numbers = make_integers(key, 10, 0, np.int64, start, stop)
    return (numbers >= chosen.start) & (numbers < chosen.stop)


def make_integers(key: np.uint64, bound: int, least: int, dtype: type, start: int, stop: int) -> np.ndarray:
    """Rows ``[start, stop)`` of a feature of integers."""
    numbers = np.empty(stop - start, np.int64)
    uniform_ints(key, start, bound, numbers)
    return (numbers + least).astype(dtype)


def make_floats(key: np.uint64, row_shape: tuple[int, ...], dtype: type, start: int, stop: int) -> np.ndarray:
    """Rows ``[start, stop)`` of a feature of floats in [0, 1)."""
    width = int(np.prod(row_shape, dtype=np.int64))
    first = start * width  # numbers come in pairs, so rows begin at an even one
    values = np.empty((stop - start) * width + first % 2, np.float32)
    uniform_floats(key, first - first % 2, values)
    return values[first % 2 :].reshape(stop - start, *row_shape).astype(dtype, copy=False)
