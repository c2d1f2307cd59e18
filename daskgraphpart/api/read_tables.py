"""`read_tables`, `read_construction`: describe a graph in tables, for any job; open what a job is given."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import OptionError
from daskgraphpart.sources.options import GraphChanges
from daskgraphpart.sources.stage_frames import named_tables
from daskgraphpart.sources.table_spec import TableSpec, opened, split_options
from daskgraphpart.storage.paths import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.sources.edge_list_inputs import FeaturePaths
    from daskgraphpart.sources.table_files import Paths


def read_tables(
    edges: Mapping[str, Paths] | Paths,
    *,
    name: str = "graph",
    nodes: Mapping[str, Paths | tuple[Paths, str]] | None = None,
    num_nodes: Mapping[str, int] | None = None,
    num_edges: Mapping[str, int] | None = None,
    node_data: FeaturePaths | None = None,
    edge_data: FeaturePaths | None = None,
    masks: FeaturePaths | None = None,
    **options: Any,
) -> TableSpec:
    """Describe a graph in tables, for `partition`, `assign`, `dispatch`, `plan` and `verify`.

    Nothing is read here: the job opens and checks all files before it stages the first, and stages no more than it has
    to. A job that was stopped continues if the files are the same.

    Parameters
    ----------
    edges, name, nodes, num_nodes, num_edges, node_data, edge_data, masks
        As in `chunk_edge_lists`.
    **options
        How tables are read, and what is changed on the way: the parameters of `ReadOptions` and `GraphChanges`.

    Returns
    -------
    TableSpec

    Raises
    ------
    OptionError
        If an option has a value it cannot have.

    Examples
    --------
    >>> partition(read_tables("follows.csv", map_ids=True), "partitions", 4)  # doctest: +SKIP
    """
    reading, changes = split_options(options)
    counts: dict[str, Any] = {"num_nodes": num_nodes or {}, "num_edges": num_edges or {}}
    tables = named_tables(edges, nodes or {}, node_data or {}, edge_data or {})
    return TableSpec(**tables, **counts, name=name, masks=masks or {}, reading=reading, changes=changes)


def read_dataset(kind: str, path: str | os.PathLike[str], *, name: str | None = None, **changes: Any) -> TableSpec:
    """Describe a public data set, as it is downloaded and unpacked, for any job.

    Parameters
    ----------
    kind : str
        ``"ogb"`` (node and link property prediction), ``"mag240m"``, ``"wikikg"`` (WikiKG90Mv2), or ``"igb"``.
    path : path
        The directory that was unpacked: it holds `raw` and `split`, or `processed`.
    name : str, optional
        Name of the graph; default: that of the directory.
    **changes
        What is changed on the way: the parameters of `GraphChanges`.

    Returns
    -------
    TableSpec
        For `partition`, `assign`, `dispatch`, `plan` and `verify`.

    Raises
    ------
    InputFileNotFoundError
        If files are missing; the message names them all.
    InputFileError
        If counts or splits are not what they should be.

    Examples
    --------
    >>> partition(read_dataset("ogb", "dataset/ogbn_products"), "partitions", 8)  # doctest: +SKIP
    """
    from daskgraphpart.sources.published import describe_dataset  # imports pandas

    tables = describe_dataset(kind, path)
    return read_tables(**{**tables, "name": name or Path(path).absolute().name, **changes})


def read_construction(
    config: str | os.PathLike[str],
    *,
    name: str = "graph",
    unknown_nodes: str = "error",
    split_seed: int = 0,
    **changes: Any,
) -> TableSpec:
    """Describe a graph by GraphStorm's construction config, gconstruct's or GSProcessing's, for any job.

    Parameters
    ----------
    config : path
        The JSON file. Paths in it are relative to the working directory, or else to that of the config.
    name : str
        Name of the graph.
    unknown_nodes : str
        ``"error"`` or ``"drop"``: what becomes of edges whose nodes the table of their type does not list.
    split_seed : int
        Seed by which the train, validation and test sets are drawn.
    **changes
        What is changed on the way: the parameters of `GraphChanges`. ``add_reverse="graphstorm"`` is GraphStorm's
        ``--add-reverse-edges``.

    Returns
    -------
    TableSpec
        For `partition`, `assign`, `dispatch`, `plan` and `verify`, or for `chunk_graph`.

    Raises
    ------
    OptionError
        If an option has a value it cannot have.
    MetadataError
        If the file is not JSON. All else that is wrong with it is told together by the job, before anything is written.

    Examples
    --------
    >>> partition(read_construction("config.json"), "partitions", 8)  # doctest: +SKIP
    """
    from daskgraphpart.construction.build import ConstructionBuilder  # imports duckdb
    from daskgraphpart.construction.read_config import read_config

    wanted = GraphChanges(**changes)
    if unknown_nodes not in ("error", "drop"):
        expected = "error or drop, as features of nodes come from the tables alone"
        raise OptionError("impossible here", place="--unknown-nodes", expected=expected, found=unknown_nodes)
    if wanted.split_by:
        what, hint = "a config names the relations itself", "chunk its graph, then chunk that with --split-by"
        raise OptionError(what, place="--split-by", hint=hint)
    is_reversed = wanted.add_reverse == "graphstorm"
    if is_reversed and read_config(Path(config))[0].is_homogeneous:
        wanted = replace(wanted, add_reverse=None, copy_edata=False)
    builder = ConstructionBuilder(Path(config), unknown_nodes == "drop", is_reversed, split_seed)
    return TableSpec({}, name, changes=wanted, builder=builder)


def opened_input(
    graph: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None
) -> Graph | TableSpec:
    """Open what a job is given: a graph, tables, a path of either or of a construction config, or an object."""
    return read_construction(graph) if is_construction(graph) else opened(graph, storage_options, resources)


def is_construction(path: Any) -> bool:
    """Whether a path is a construction config, in either of GraphStorm's dialects."""
    is_path = isinstance(path, (str, os.PathLike)) and not is_url(os.fspath(path))
    if not is_path or not os.fspath(path).endswith(".json") or not os.path.isfile(path):
        return False
    from daskgraphpart.construction.read_config import is_config

    return is_config(Path(path))
