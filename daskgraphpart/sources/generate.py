"""Write a synthetic chunked graph, one file per task, in bounded memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.output import claimed_directory
from daskgraphpart.chunked.rows import ReadRows
from daskgraphpart.chunked.write_graph import ChunkFormat, GraphRows, write_graph
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.sources.recipes import communities_recipe, mag_recipe, make_edges, make_rows, rmat_recipe
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec, EdgeType, RowType
    from daskgraphpart.sources.recipes import Recipe

RECIPES = {"rmat": rmat_recipe, "mag": mag_recipe, "communities": communities_recipe}
# every node type has a node, so a smaller graph would come out larger than asked for
MIN_NODES = {"rmat": 1, "mag": 5, "communities": 1}


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
    overwrite: bool = False,
    runner: Runner,
) -> Path:
    """Write a synthetic graph in DGL's Chunked Graph Data Format.

    The content is a function of kind, sizes and seed; formats and the number of chunks only cut it into files.
    """
    check_choice("kind of graph", "--kind", kind, RECIPES)
    form = ChunkFormat(edge_format, data_format, num_chunks=num_chunks, named_files=True)
    _check_sizes(kind, num_nodes, num_edges, feature_width)
    recipe = RECIPES[kind](num_nodes, num_edges, feature_width, labels, seed)
    schema = recipe.schema
    graph = GraphRows(
        schema.name,
        {t.name: t.num_nodes for t in schema.node_types},
        {t.name: ReadRows(np.dtype(np.int64), (t.num_edges, 2), partial(_edges, recipe, t)) for t in schema.edge_types},
        {t.name: {spec.name: _rows(recipe, t, spec) for spec in t.data} for t in schema.row_types},
    )
    out = require_local(out_dir, "a graph that is written")
    with environment_faults(), claimed_directory(out, (), overwrite):
        return write_graph(graph, out, form, runner)


def _edges(recipe: Recipe, edge_type: EdgeType, start: int, stop: int) -> np.ndarray:
    return np.stack(make_edges(recipe, edge_type, start, stop), axis=1)


def _rows(recipe: Recipe, of_type: RowType, spec: DataSpec) -> ReadRows:
    """Rows of a feature that are made when they are read."""
    read = partial(make_rows, recipe, of_type.name, spec)
    return ReadRows(spec.dtype, (of_type.num_rows, *spec.row_shape), read)


def _check_sizes(kind: str, num_nodes: int, num_edges: int, feature_width: int | None) -> None:
    if num_nodes < 1 or num_edges < 0:
        found = f"{num_nodes} nodes, {num_edges} edges"
        raise OptionError("impossible size", expected="at least one node", found=found)
    if feature_width is not None and feature_width < 0:
        raise OptionError("impossible width of features", place="--features", expected="0 or more", found=feature_width)
    if num_nodes < MIN_NODES[kind]:
        what, expected = f"too few nodes for a graph of kind {kind}", f"{MIN_NODES[kind]} or more"
        raise OptionError(what, place="--nodes", expected=expected, found=num_nodes)
