"""Write a synthetic chunked graph, one file per task, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.output import claimed_directory
from daskgraphpart.chunked.write_graph import ChunkFormat, GraphRows, write_graph
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.sources.recipes import communities_recipe, mag_recipe, make_edges, make_rows, rmat_recipe
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec, RowType
    from daskgraphpart.sources.recipes import Recipe

RECIPES = {"rmat": rmat_recipe, "mag": mag_recipe, "communities": communities_recipe}
# every node type has a node, so a smaller graph would come out larger than asked for
MIN_NODES = {"rmat": 1, "mag": 5, "communities": 1}


@dataclass(frozen=True, slots=True, eq=False)
class MadeRows:
    """Rows that are made when they are read: of a feature, or edges."""

    recipe: Recipe
    of_type: RowType
    spec: DataSpec | None

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return np.dtype(np.int64) if self.spec is None else self.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and shape of a row."""
        return self.of_type.num_rows, *((2,) if self.spec is None else self.spec.row_shape)

    def read(self, start: int, stop: int) -> np.ndarray:
        """Make rows ``[start, stop)``."""
        if self.spec is not None:
            return make_rows(self.recipe, self.of_type.name, self.spec, start, stop)
        edge_type = self.recipe.schema.edge_type(self.of_type.name)
        return np.stack(make_edges(self.recipe, edge_type, start, stop), axis=1)


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
        {t.name: MadeRows(recipe, t, None) for t in schema.edge_types},
        {t.name: {spec.name: MadeRows(recipe, t, spec) for spec in t.data} for t in schema.row_types},
    )
    out = require_local(out_dir, "a graph that is written")
    with environment_faults(), claimed_directory(out, (), overwrite):
        return write_graph(graph, out, form, runner)


def _check_sizes(kind: str, num_nodes: int, num_edges: int, feature_width: int | None) -> None:
    if num_nodes < 1 or num_edges < 0:
        found = f"{num_nodes} nodes, {num_edges} edges"
        raise OptionError("impossible size", expected="at least one node", found=found)
    if feature_width is not None and feature_width < 0:
        raise OptionError("impossible width of features", place="--features", expected="0 or more", found=feature_width)
    if num_nodes < MIN_NODES[kind]:
        what, expected = f"too few nodes for a graph of kind {kind}", f"{MIN_NODES[kind]} or more"
        raise OptionError(what, place="--nodes", expected=expected, found=num_nodes)
