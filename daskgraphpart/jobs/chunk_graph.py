"""`chunk_graph`: write graphs from memory, dask, other libraries or tables as a chunked graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.extras import is_dgl_graph
from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.graph_methods import change
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.graph.transforms.changes import GraphChanges, etypes_of
from daskgraphpart.graph.write_graph import TASK_MEMORY, ChunkFormat
from daskgraphpart.jobs.save_graph import Saving, save_graph
from daskgraphpart.keywords import check_keywords
from daskgraphpart.readers.objects.open_object import complete_graph
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables
from daskgraphpart.readers.tables.stage_frames import is_split_by_text, named_tables
from daskgraphpart.readers.tables.table_scan import TableScan
from daskgraphpart.readers.tabular import is_table
from daskgraphpart.readers.type_names import canonical_name, count_known, ends_of_types
from daskgraphpart.schema import check_name
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import Location, join_path, to_path

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.graph.scan import Scan


@check_keywords
def chunk_graph(
    g: GraphLike,
    name: str,
    ndata_paths: Mapping[str, Any] | None = None,
    edata_paths: Mapping[str, Any] | None = None,
    num_chunks: int = 1,
    output_path: str | os.PathLike[str] | None = None,
    data_fmt: Literal["numpy", "parquet"] = "numpy",
    edges_fmt: Literal["csv", "numpy", "parquet"] = "csv",
    vector_rows: bool = False,
    *,
    num_chunks_nodes: int | Mapping[Any, Any] | None = None,
    num_chunks_edges: int | Mapping[Any, Any] | None = None,
    num_chunks_node_data: int | Mapping[Any, Any] | None = None,
    num_chunks_edge_data: int | Mapping[Any, Any] | None = None,
    num_nodes: Mapping[str, int] | int | None = None,
    delimiter: str = " ",
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    map_ids: bool | None = None,
    unknown_nodes: Literal["add", "drop", "error"] = "add",
    missing_ids: Literal["error", "drop"] = "error",
    fill: Mapping[str, object] | object | None = None,
    ids_from: str | os.PathLike[str] | None = None,
    codes_from: str | os.PathLike[str] | None = None,
    edge_types_from: Mapping[str, str] | Sequence[str] = (),
    add_reverse: str | None = None,
    copy_edge_data: bool = False,
    remove_self_loops: bool | str | Sequence[str] = (),
    deduplicate: bool | str | Sequence[str] = (),
    add_self_loops: bool | str | Sequence[str] = (),
    cast: Mapping[str, str] | Sequence[str] = (),
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Location:
    """Write a graph in DGL's Chunked Graph Data Format, piece by piece.

    The parameters up to `num_chunks_edge_data` match `chunk_graph` in DGL's tools and their tests, 1.0 to 2.5. The same
    graph gives the same bytes, however the input is divided into dask partitions or chunks.

    Parameters
    ----------
    g : object
        - a dictionary keyed by canonical edge type, as a tuple or ``"src:rel:dst"`` (a plain ``"rel"`` joins nodes of
          the one type ``"_N"``). Values are pandas or dask frames, pairs of arrays (numpy, torch, dask), or arrays of
          shape (2, edges) or (edges, 2). In a frame, columns `src` and `dst` (or named alike) are type-wise
          IDs; the others are edge features;
        - one such frame, pair or array, for a graph with one edge type;
        - a scipy sparse matrix (rows are sources; values are ignored);
        - a networkx graph (nodes in sorted order; undirected edges both ways; numeric attributes are kept);
        - a PyG `Data` or `HeteroData`, or a `DGLGraph`, with its features; for a `DGLGraph`, files get the names that
          DGL gives them;
        - a `Graph`, `Scan` or directory, to write it with other chunks or changes; ID maps are copied;
    name : str
        Name of the graph.
    ndata_paths, edata_paths : mapping, optional
        Extra features: ``{type: {name: rows}}``, or ``{name: rows}`` if there is one type. You can name an edge type
        by its relation alone if the relation is unique. Rows are arrays, `numpy.memmap`, tensors, dask arrays, or paths
        of npy or parquet files. ``{node type: frame}`` is a table of nodes: IDs, in any order, in column `id` or else
        the first, features in the others. These features replace those of the same name in a `DGLGraph`.
    num_chunks : int
        Number of files per edge type and per feature.
    output_path : path or URL
        Output directory; must be empty or absent, unless `overwrite`. A URL needs a `workspace` in the store, too.
    data_fmt, edges_fmt : str
        Formats of features (numpy, parquet) and edges (csv, numpy, parquet).
    vector_rows : bool
        Accepted and ignored: parquet stores a vector as a list in one column, which DGL reads either way.
    num_chunks_nodes, num_chunks_edges, num_chunks_node_data, num_chunks_edge_data : int or mapping, optional
        Override `num_chunks` for all, by type, or by type and feature. Nodes have no files: their number of chunks
        only appears in the metadata.
    num_nodes : mapping of str to int, or int, optional
        Number of nodes, if `g` does not say. Default: the number of rows of a feature, else the largest ID plus one.
    delimiter : str
        CSV delimiter.
    overwrite : bool
        Replace an existing graph.
    storage_options : mapping of str to object, optional
        As in `read_chunked`, of the store in which `g` or `output_path` is.
    edge_types_from : Mapping[str, str] | Sequence[str], default ()
        Split edge types by the values of a column or feature. user:*:item becomes user:bought:item and user:saw:item.
        Give one edge type, or none for all.
    add_reverse : str, optional
        Add the reverse of every edge. dgl names reverse types rev_REL, graphstorm REL-rev, and a PATTERN such as
        '{}-by' as you like. Where DGL and GraphStorm add no type, edges are doubled in their own: dgl if source and
        destination type are the same, graphstorm if the graph has one node type and one edge type.
    copy_edge_data : bool, default False
        Copy edge features to reverse edges. Otherwise reverse types have none, and reverse edges within their own type
        get zeros, as in DGL.
    remove_self_loops : bool | str | Sequence[str], default ()
        Drop edges from a node to itself. Of one edge type, or of all if you give none.
    deduplicate : bool | str | Sequence[str], default ()
        Keep only the first of several edges between the same two nodes. It keeps its features. Of one edge type, or of
        all if you give none.
    add_self_loops : bool | str | Sequence[str], default ()
        Add an edge from every node to itself, as dgl.AddSelfLoop: those that are there are dropped first, and edge
        features of the new ones are 1. Of one edge type, or of all within one node type if you give none.
    cast : Mapping[str, str] | Sequence[str], default ()
        Change the dtype of a feature, such as paper/feat=float16. Floats are rounded; a value that would become
        infinite, or a different integer, is refused.
    map_ids, unknown_nodes, missing_ids, fill, ids_from, codes_from : optional
        As in `scan_tables`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Path or UPath
        The metadata file.

    Raises
    ------
    OptionError
        If `g` is not a graph, an ID is out of range, a feature does not fit, or an option has an invalid value.
    InputFileError
        If a feature file is missing or invalid.
    OutputExistsError
        If the output directory is not empty.

    Examples
    --------
    >>> frame = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0], "since": [2019, 2021, 2024]})
    >>> dgp.chunk_graph({("user", "follows", "user"): frame}, "social", output_path="social")
    PosixPath('social/metadata.json')
    >>> dgp.read_chunked("social")
    Graph 'social': 3 nodes, 3 edges, 164 B
    type               count  files   size  features
    -----------------  -----  -----  -----  -----------
    user                   3      0    0 B
    user:follows:user      3      2  164 B  since int64
    """
    if output_path is None:
        raise OptionError("nowhere to write", place="output_path", hint="give a directory")
    check_name(name, "graph name")
    wanted = GraphChanges(
        edge_types_from=edge_types_from, add_reverse=add_reverse, copy_edge_data=copy_edge_data,
        remove_self_loops=etypes_of(remove_self_loops), deduplicate=etypes_of(deduplicate),
        add_self_loops=etypes_of(add_self_loops), cast=cast,
    )  # fmt: skip
    resources = detect_resources(memory, cluster, workers, workspace=workspace, takes_store=True)
    chunks_of = {
        "nodes": num_chunks_nodes,
        "edges": _by_etype(num_chunks_edges),
        "node_data": num_chunks_node_data,
        "edge_data": _by_etype(num_chunks_edge_data),
    }
    names: Literal["numbered", "dgl"] = "dgl" if is_dgl_graph(g) else "numbered"
    form = ChunkFormat(edges_fmt, data_fmt, delimiter, num_chunks, chunks_of, names)
    form.check_holds(wanted.dtypes.values())
    reading = ReadOptions(
        map_ids=map_ids, ids_from=ids_from, codes_from=codes_from, unknown_nodes=unknown_nodes, missing_ids=missing_ids,
        fill=fill,
    )  # fmt: skip
    is_tables = reading.map_ids or is_split_by_text(g, wanted) or any(map(is_table, (ndata_paths or {}).values()))
    if not is_tables:
        _refuse_options_of_tables(reading)
    with environment_faults(), open_progress(progress) as listener:
        if is_tables:
            tables = named_tables(g, {}, ndata_paths or {}, edata_paths or {}, are_mapped=bool(reading.map_ids))
            counts = count_known(dict.fromkeys(ends_of_types(tables["edges"])), num_nodes)
            tables["num_nodes"] = {ntype: count for ntype, count in counts.items() if count is not None}
            scan: Scan = TableScan(Tables(**tables), name, reading)
        elif ndata_paths or edata_paths or num_nodes:
            g = read_chunked(g, storage_options=storage_options) if isinstance(g, (str, os.PathLike)) else g
            limited = resources.limited(TASK_MEMORY)
            further: dict[str, Any] = {"num_nodes": num_nodes, "node_data": ndata_paths, "edge_data": edata_paths}
            graph = complete_graph(g, limited, name=name, **further)
            scan = GraphScan(replace(graph, companions=g.companions) if isinstance(g, Graph) else graph)
        else:
            scan = open_scan(g, storage_options, resources)
        saving = Saving(form, name, overwrite, resources, listener)
        written = save_graph(change(scan, wanted), output_path, storage_options, saving)
        return join_path(to_path(written.directory), METADATA_FILE)


def _by_etype(chunks: int | Mapping[Any, Any] | None) -> Any:
    """Key numbers of chunks by edge type as a string; DGL uses tuples."""
    return {canonical_name(etype): of for etype, of in chunks.items()} if isinstance(chunks, Mapping) else chunks


def _refuse_options_of_tables(reading: ReadOptions) -> None:
    """Refuse options of tables for a graph that needs none."""
    defaults = ReadOptions()
    for name in ("codes_from", "fill", "missing_ids", "unknown_nodes"):
        if getattr(reading, name) != getattr(defaults, name) and getattr(reading, name) is not None:
            what, hint = "only tables take this option", "leave it out, or give map_ids=True"
            raise OptionError(what, option=name, hint=hint)
