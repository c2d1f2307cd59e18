"""`chunk_graph`: graphs in memory, of dask or of other libraries, as chunked graphs in files."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.edge_lists import write_tables
from daskgraphpart.chunked.graph import ChunkedGraph, read_chunked
from daskgraphpart.chunked.output import CATEGORIES, ID_MAP, claimed_directory
from daskgraphpart.chunked.write_graph import TASK_MEMORY, ChunkFormat, write_graph
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.schema import check_name
from daskgraphpart.sources.describe import describe
from daskgraphpart.sources.graph_source import LazyRows
from daskgraphpart.sources.options import NO_CHANGES, GraphChanges, ReadOptions
from daskgraphpart.sources.stage_collections import stage_collections, with_staged
from daskgraphpart.sources.stage_frames import FrameStage, is_frame, is_split_by_text
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import is_file, open_for_reading
from daskgraphpart.storage.paths import join_path, require_local, resolve_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.sources.graph_source import GraphSource


def chunk_graph(
    g: Any,
    name: str,
    ndata_paths: Mapping[str, Any] | None = None,
    edata_paths: Mapping[str, Any] | None = None,
    num_chunks: int = 1,
    output_path: str | os.PathLike[str] | None = None,
    *,
    num_nodes: Mapping[str, int] | int | None = None,
    edge_format: str = "csv",
    data_format: str = "numpy",
    delimiter: str = " ",
    map_ids: bool = False,
    unknown_nodes: str = "add",
    fill: Mapping[str, object] | object = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **changes: Any,
) -> Path:
    """Write a graph in DGL's Chunked Graph Data Format, piece by piece.

    The parameters up to `output_path` are those of `chunk_graph` in DGL's tools. Same graph, same bytes: how the input
    is cut into partitions or chunks does not matter.

    Parameters
    ----------
    g : object
        - a dictionary from canonical edge types, as tuples or ``"src:rel:dst"`` (a plain ``"rel"`` joins nodes of the
          one type ``"_N"``), to frames of pandas or dask whose
          columns `src` and `dst` (or else the first two) are type-wise IDs and whose others are features of the edges,
          or to pairs of arrays (numpy, torch, dask), or to arrays of shape (2, edges) or (edges, 2);
        - one such frame, pair or array, for a graph of one type;
        - a scipy sparse matrix (rows are sources; values are ignored);
        - a networkx graph (nodes in sorted order; undirected edges both ways; attributes that are numbers are kept);
        - a PyG `Data` or `HeteroData`, or a `DGLGraph`, with their features;
        - a `ChunkedGraph` or its directory, to cut it anew or to change it; maps of its IDs come along.
    name : str
        Name of the graph.
    ndata_paths, edata_paths : mapping, optional
        Features beside those of the graph: ``{type: {name: rows}}``, or ``{name: rows}`` if there is one type. An
        edge type may be its relation alone, if no other type has that. Rows are arrays, `numpy.memmap`, tensors, dask
        arrays, or the paths of npy or parquet files. ``{node type: frame}`` is a table of nodes: IDs in its column
        `id`, or else the first, in any order, and features in the others.
    num_chunks : int
        Files of every edge type and every feature.
    output_path : path
        Output directory; must be empty or absent, unless `overwrite`.
    num_nodes : mapping of str to int, or int, optional
        Numbers of nodes, where `g` has none. Default: the number of rows of a feature, else the largest ID and one.
    edge_format, data_format : str
        Formats of edges (csv, numpy, parquet) and features (numpy, parquet).
    delimiter : str
        Of CSV.
    map_ids, unknown_nodes, fill
        As in `chunk_edge_lists`, for frames whose IDs are strings or sparse, and for tables of nodes.
    resources, overwrite, progress : optional
        As in `assign`. Collections of dask are computed on the cluster of `resources`.
    **changes
        What is changed on the way: the parameters of `GraphChanges`.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    OptionError
        If `g` is no graph, an ID is out of range, a feature does not fit, or an option is impossible.
    InputFileError
        If a file of features is missing or wrong.
    OutputExistsError
        If the output directory is not empty.

    Examples
    --------
    >>> edges = {("user", "follows", "user"): dask.dataframe.read_parquet("follows/")}  # doctest: +SKIP
    >>> chunk_graph(edges, "social", {"user": {"x": "x.npy"}}, output_path="graph")  # doctest: +SKIP
    """
    if output_path is None:
        raise OptionError("nowhere to write", place="output_path", expected="a directory")
    check_name(name, "graph name")
    wanted = GraphChanges(**changes)
    form = ChunkFormat(edge_format, data_format, delimiter, num_chunks)
    form.check_holds(wanted.dtypes.values())
    out = require_local(output_path, "a graph that is written").absolute()
    if map_ids or is_split_by_text(g, wanted) or any(is_frame(table) for table in (ndata_paths or {}).values()):
        options = ReadOptions(map_ids=map_ids, unknown_nodes=unknown_nodes, fill=fill)
        resources = (resources or detect_resources()).limited(TASK_MEMORY)
        with environment_faults(), scratch_directory(resources.workspace or out.parent) as scratch:
            with open_runner(resources, progress) as runner:
                stage = FrameStage(scratch, options, runner)
                tables = stage.tables(g, num_nodes, ndata_paths, edata_paths)
            how: dict[str, Any] = {"overwrite": overwrite, "progress": progress}
            return write_tables(tables, name, out, form, options, resources, wanted, **how)
    if isinstance(g, (str, os.PathLike)):
        g = read_chunked(g)
    source = describe(g, num_nodes, ndata_paths, edata_paths)
    wanted.check(source.num_nodes, source.edges, source.data)
    files = [*source.files, *(path for rows in source.rows for path in getattr(rows, "paths", ()))]
    with claimed_directory(out, files, overwrite):
        if isinstance(g, ChunkedGraph) and g.directory:
            _copy_maps(g, out)
        return write_source(source, name, out, form, resources, progress, wanted)


def write_source(
    source: GraphSource,
    name: str,
    out: Path,
    form: ChunkFormat,
    resources: Resources | None,
    progress: Progress | None,
    changes: GraphChanges = NO_CHANGES,
) -> Path:
    """Compute what is lazy on the cluster, change it, and write all of it from here."""
    resources = (resources or detect_resources()).limited(TASK_MEMORY)
    with (
        environment_faults(),
        open_progress(progress) as listener,
        scratch_directory(resources.workspace or out.parent) as scratch,
    ):
        staged: dict[LazyRows, Rows] = {}
        if any(isinstance(rows, LazyRows) for rows in source.rows):  # a cluster is not started for nothing
            with open_runner(resources, listener) as runner:
                staged = stage_collections(source, scratch, runner)
        graph = with_staged(source, name, staged)
        if changes != NO_CHANGES:
            from daskgraphpart.sources.change_graph import change_graph  # imports duckdb

            graph = change_graph(graph, changes, out, scratch, resources, listener)
        # arrays in memory are here, and are not sent anywhere
        with open_runner(replace(resources, cluster="threads"), listener) as runner:
            return write_graph(graph, out, form, runner)


def _copy_maps(graph: ChunkedGraph, out: Path) -> None:
    """Copy the maps of IDs of a chunked graph, and what codes of its features stand for."""
    directory = resolve_path(graph.directory)
    names = [f"{ID_MAP}/{ntype}.parquet" for ntype in graph.schema.ntypes]
    names += [f"{CATEGORIES}/{t.name}/{spec.name}.parquet" for t in graph.schema.row_types for spec in t.data]
    for name in names:
        if is_file(join_path(directory, name)):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            with open_for_reading(join_path(directory, name)) as source, (out / name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
