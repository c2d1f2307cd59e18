"""Pass `generate`: write a synthetic chunked graph, one file per task, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.chunked.metadata import DATA_FORMATS
from daskgraphpart.chunked.output import claimed_directory
from daskgraphpart.chunked.write import write_edges, write_metadata, write_rows
from daskgraphpart.chunked.write_pieces import BYTES_PER_FILE, EDGES_PER_FILE, SUFFIXES, cut_chunks
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.generation.recipes import Recipe, communities_recipe, mag_recipe, make_edges, make_rows, rmat_recipe
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec, RowType

RECIPES = {"rmat": rmat_recipe, "mag": mag_recipe, "communities": communities_recipe}
# every node type has a node, so a smaller graph would come out larger than asked for
LEAST_NODES = {"rmat": 1, "mag": 5, "communities": 1}


@dataclass(frozen=True, slots=True)
class FileUnit:
    """One file: rows ``[start, stop)`` of an edge type, or of one feature of a type."""

    path: str
    of_type: RowType
    spec: DataSpec | None
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class GenerateConfig:
    """What is made, and in which formats."""

    recipe: Recipe
    edge_format: str
    data_format: str


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

    Parameters
    ----------
    out_dir : path
        Output directory; must be empty or absent, unless `overwrite`.
    kind : str
        ``"rmat"``, ``"mag"`` or ``"communities"``.
    num_nodes, num_edges : int
        Sizes, over all types.
    feature_width : int, optional
        Width of the node features; default 50 (rmat) or 128 (mag).
    seed : int
        Seed.
    edge_format, data_format : str
        Formats of edges (csv, numpy, parquet) and features (numpy, parquet).
    num_chunks : int, optional
        Files for each edge type and feature; default by size.
    labels : bool
        Whether the graph has labels and masks; one of kind ``"mag"`` has them anyway.
    overwrite : bool
        Whether a graph that is in `out_dir` is replaced.
    runner : Runner
        What does the work.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    OptionError
        If an option has a value it cannot have; nothing has been touched then.
    OutputExistsError
        If `out_dir` holds something that may not be replaced.
    """
    check_choice("kind of graph", "--kind", kind, RECIPES)
    check_choice("format of edges", "--edge-format", edge_format, SUFFIXES)
    check_choice("format of features", "--data-format", data_format, DATA_FORMATS)
    _check_sizes(num_nodes, num_edges, feature_width, num_chunks)
    _check_least_nodes(kind, num_nodes)
    recipe = RECIPES[kind](num_nodes, num_edges, feature_width, labels, seed)
    out = require_local(out_dir, "a graph that is written")
    config = GenerateConfig(recipe, edge_format, data_format)
    units = _units(config, out, num_chunks)
    sizes = [(u.stop - u.start) * (16 if u.spec is None else u.spec.row_nbytes) for u in units]
    with claimed_directory(out, (), overwrite):
        runner.run(Pass("generate", generate_file, units, config, sizes))
        files = _file_lists(config, units)
        return write_metadata(out, recipe.schema, *files, edge_format=edge_format, data_format=data_format)


def _check_sizes(num_nodes: int, num_edges: int, feature_width: int | None, num_chunks: int | None) -> None:
    if num_nodes < 1 or num_edges < 0:
        found = f"{num_nodes} nodes, {num_edges} edges"
        raise OptionError("impossible size", expected="at least one node", found=found)
    if feature_width is not None and feature_width < 0:
        raise OptionError("impossible width of features", place="--features", expected="0 or more", found=feature_width)
    if num_chunks is not None and num_chunks < 1:
        raise OptionError("impossible number of files", place="--num-chunks", expected="1 or more", found=num_chunks)


def _check_least_nodes(kind: str, num_nodes: int) -> None:
    if num_nodes < LEAST_NODES[kind]:
        raise OptionError(
            f"too few nodes for a graph of kind {kind}",
            place="--nodes",
            expected=f"{LEAST_NODES[kind]} or more",
            found=num_nodes,
        )


def generate_file(unit: FileUnit, config: GenerateConfig) -> None:
    """Make and write one file."""
    if unit.spec is None:
        edge_type = config.recipe.schema.edge_type(unit.of_type.name)
        src, dst = make_edges(config.recipe, edge_type, unit.start, unit.stop)
        write_edges(unit.path, src, dst, config.edge_format)
    else:
        rows = make_rows(config.recipe, unit.of_type.name, unit.spec, unit.start, unit.stop)
        write_rows(unit.path, rows, config.data_format)


def _units(config: GenerateConfig, out: Path, num_chunks: int | None) -> list[FileUnit]:
    schema, units = config.recipe.schema, []
    for number, edge_type in enumerate(schema.edge_types):
        for i, (start, stop) in enumerate(cut_chunks(edge_type.num_edges, EDGES_PER_FILE, num_chunks)):
            path = out / "edges" / f"{number}-{i}.{SUFFIXES[config.edge_format]}"
            units.append(FileUnit(str(path), edge_type, None, start, stop))
    kinds: list[tuple[str, Sequence[RowType]]] = [
        ("node_data", schema.node_types),
        ("edge_data", schema.edge_types),
    ]
    for directory, types in kinds:
        for number, of_type in enumerate(types):
            for spec in of_type.data:
                per_file = max(1, BYTES_PER_FILE // spec.row_nbytes)
                for i, (start, stop) in enumerate(cut_chunks(of_type.num_rows, per_file, num_chunks)):
                    path = out / directory / f"{number}-{spec.name}-{i}.{SUFFIXES[config.data_format]}"
                    units.append(FileUnit(str(path), of_type, spec, start, stop))
    return units


def _file_lists(
    config: GenerateConfig, units: list[FileUnit]
) -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]], dict[str, dict[str, list[str]]]]:
    edges: dict[str, list[str]] = {}
    nodes: dict[str, dict[str, list[str]]] = {}
    edge_data: dict[str, dict[str, list[str]]] = {}
    for unit in units:
        if unit.spec is None:
            edges.setdefault(unit.of_type.name, []).append(unit.path)
        else:
            data = edge_data if unit.of_type.name in config.recipe.schema.etypes else nodes
            data.setdefault(unit.of_type.name, {}).setdefault(unit.spec.name, []).append(unit.path)
    return edges, nodes, edge_data
