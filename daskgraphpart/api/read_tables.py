"""`read_tables` and its kind: graphs that are described, for any job to read; what a job is given is opened."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.graph import UnreadGraph
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.options import chosen, stated_options, with_keywords
from daskgraphpart.sources.options import GraphChanges, ReadOptions
from daskgraphpart.sources.stage_frames import named_tables
from daskgraphpart.sources.table_spec import TableSpec, opened
from daskgraphpart.storage.paths import is_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.api.graph import Graph
    from daskgraphpart.chunked import graph as chunked
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.sources.edge_list_inputs import FeaturePaths
    from daskgraphpart.sources.table_files import Paths


@with_keywords(stated_options(ReadOptions), stated_options(GraphChanges))
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
    **keywords: Any,
) -> Graph:
    """Make a graph of tables of edges and nodes.

    Nothing is read here. The job that takes the graph opens and checks all files before it stages the first, and stages
    no more than it has to; one that was stopped continues if the files are the same. A look at the data (`schema`,
    `edges`, `node_data`) reads the tables into a temporary directory, once.

    Edges keep their order: files in the order in which they are given (those of a pattern sorted), rows as they are in
    them.

    Parameters
    ----------
    edges : mapping of str to paths, or paths
        Files of each edge type ``"src:rel:dst"``; without types, of ``"_N:_E:_N"``. Text (any delimiter), parquet,
        Matrix Market, npz (sparse matrices of scipy, too) or npy; a path may be a directory (also of a Delta or Iceberg
        table), a pattern such as ``"edges-*.csv"`` or a pipe. ``"edges.csv:no-header"``, ``":tab"`` or ``":from,to"``
        say how one file is read; ``"edges.bin:uint32"`` has raw rows of two numbers, ``"edges.bin:int64:3:0,2"`` of
        three, little-endian.
    name : str
        Name of the graph.
    nodes : mapping of str to paths or (paths, str), optional
        Lists of nodes by node type, and the column of IDs, default `id` or the first; they may have no edges.
    num_nodes : mapping of str to int, optional
        Without `map_ids`: number of nodes by type; default the largest ID of all edges plus one.
    num_edges : mapping of str to int, optional
        Numbers of rows that the files of edge types must have.
    node_data : mapping of str to mapping of str to paths, optional
        Features by node type and name. ``"customers/:age"`` is a column of a table, whose rows go to the nodes whose
        IDs are in the column of `nodes`; ``"customers/:key:age"`` names another one; ``"customers/:key:*"`` is a vector
        of all others. Whole files, npy, parquet or CSV, raw ones such as ``"feat.bin:float32:1024"``, and arrays of npz
        files, ``"data.npz:feat"``, are in the order of IDs, or follow `nodes` if it lists that type.
    edge_data : mapping of str to mapping of str to paths, optional
        Features by edge type and name; rows follow the edges.
    masks : mapping of str to mapping of str to paths, optional
        Lists of node IDs by node type and name, which become features, bool, true for these nodes.

    Returns
    -------
    Graph
        Any function takes it; `Graph.write_chunked` writes it.

    Raises
    ------
    OptionError
        If an option has a value it cannot have. What is wrong with files and rows is an `InputFileError` of the job.

    Examples
    --------
    >>> graph = read_tables("follows.tsv", map_ids=True)  # doctest: +SKIP
    >>> partition(graph, "partitions", 4)  # doctest: +SKIP
    >>> graph.write_chunked("graph")  # doctest: +SKIP
    """
    reading, changes = chosen(ReadOptions, keywords), chosen(GraphChanges, keywords)
    counts: dict[str, Any] = {"num_nodes": num_nodes or {}, "num_edges": num_edges or {}}
    tables = named_tables(edges, nodes or {}, node_data or {}, edge_data or {})
    spec = TableSpec(**tables, **counts, name=name, masks=masks or {}, reading=reading, changes=changes)
    return UnreadGraph(spec)


@with_keywords(stated_options(GraphChanges))
def read_dataset(
    kind: str,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    leave_out: Sequence[str] = (),
    **keywords: Any,
) -> Graph:
    """Make a graph of a public data set, as it is downloaded and unpacked.

    Parameters
    ----------
    kind : str
        ``"ogb"`` (node and link property prediction), ``"mag240m"``, ``"wikikg"`` (WikiKG90Mv2), or ``"igb"``.
    path : path
        The directory that was unpacked: it holds `raw` and `split`, or `processed`.
    name : str, optional
        Name of the graph; default: that of the directory.
    leave_out : sequence of str
        Features to leave out, as ``"type/feature"``, or ``"feature"`` for all that have that name.

    Returns
    -------
    Graph
        As by `read_tables`.

    Raises
    ------
    InputFileNotFoundError
        If files are missing; the message names them all.
    InputFileError
        If counts or splits are not what they should be.
    OptionError
        If there is no such data set, or no feature that is left out.

    Examples
    --------
    >>> partition(read_dataset("ogb", "dataset/ogbn_products"), "partitions", 8)  # doctest: +SKIP
    """
    from daskgraphpart.sources.published import describe_dataset  # imports pandas

    tables = describe_dataset(kind, path)
    _leave_out(tables, leave_out)
    return read_tables(**{**tables, "name": name or Path(path).absolute().name, **keywords})


def _leave_out(tables: Mapping[str, Any], names: Sequence[str]) -> None:
    """Remove features from the description of a data set."""
    kinds = [tables.get(kind, {}) for kind in ("node_data", "edge_data", "masks")]
    features = [(of, name, of_type) for of_kind in kinds for of, of_type in of_kind.items() for name in of_type]
    known = {f"{of}/{name}": name for of, name, _ in features}
    for wanted in names:
        check_choice("feature", "leave_out", wanted, dict.fromkeys((*known, *known.values())))
    for of, name, of_type in features:
        if name in names or f"{of}/{name}" in names:
            del of_type[name]


@with_keywords(stated_options(GraphChanges))
def read_construction(
    config: str | os.PathLike[str],
    *,
    name: str = "graph",
    unknown_nodes: str = "error",
    split_seed: int = 0,
    **keywords: Any,
) -> Graph:
    """Make a graph of GraphStorm's construction config, gconstruct's or GSProcessing's.

    ``add_reverse="graphstorm"`` is GraphStorm's ``--add-reverse-edges``.

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

    Returns
    -------
    Graph
        As by `read_tables`.

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

    wanted = chosen(GraphChanges, keywords)
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
    return UnreadGraph(TableSpec({}, name, changes=wanted, builder=builder))


def opened_input(
    graph: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None
) -> chunked.Graph | TableSpec:
    """Open what a job is given: a graph, tables, a path of either or of a construction config, or an object."""
    graph = read_construction(graph) if is_construction(graph) else graph
    return opened(graph, storage_options, resources)


def is_construction(path: Any) -> bool:
    """Whether a path is a construction config, in either of GraphStorm's dialects."""
    is_path = isinstance(path, (str, os.PathLike)) and not is_url(os.fspath(path))
    if not is_path or not os.fspath(path).endswith(".json") or not os.path.isfile(path):
        return False
    from daskgraphpart.construction.read_config import is_config

    return is_config(Path(path))
