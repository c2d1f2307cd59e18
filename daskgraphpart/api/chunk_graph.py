"""`chunk_graph`: write graphs from memory, dask, other libraries or tables as a chunked graph."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.output import claimed_directory
from daskgraphpart.chunked.partitions import count_lines
from daskgraphpart.chunked.write_graph import TASK_MEMORY, ChunkFormat, write_graph
from daskgraphpart.engine.progress import PROGRESS, ProgressListener, open_progress
from daskgraphpart.engine.resources import WHERE, Resources, resources_of
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.keywords import with_keywords
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.schema import check_name
from daskgraphpart.sources.changed_graph import BYTES_PER_BLOCK, changed, copy_maps
from daskgraphpart.sources.changed_types import check_changes
from daskgraphpart.sources.given import canonical_name, count_known, ends_of_types, is_dgl_graph
from daskgraphpart.sources.given_rows import open_given
from daskgraphpart.sources.options import MIN_TABLE_MEMORY, NO_CHANGES, GraphChanges, ReadOptions
from daskgraphpart.sources.stage_frames import is_split_by_text, named_tables, stage_collections
from daskgraphpart.sources.stage_tables import graph_of_tables
from daskgraphpart.sources.table_spec import TableSpec
from daskgraphpart.sources.tabular import is_table
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner


READING = ("map_ids", "unknown_nodes", "missing_ids", "fill", "ids_from", "codes_from")
OF_TABLES = {name: of for name, of in stated_options(ReadOptions).items() if name in READING}


@with_keywords(OF_TABLES, stated_options(GraphChanges), WHERE, PROGRESS)
def chunk_graph(
    g: Any,
    name: str,
    ndata_paths: Mapping[str, Any] | None = None,
    edata_paths: Mapping[str, Any] | None = None,
    num_chunks: int = 1,
    output_path: str | os.PathLike[str] | None = None,
    data_fmt: str = "numpy",
    edges_fmt: str = "csv",
    vector_rows: bool = False,
    *,
    num_chunks_nodes: int | Mapping[Any, Any] | None = None,
    num_chunks_edges: int | Mapping[Any, Any] | None = None,
    num_chunks_node_data: int | Mapping[Any, Any] | None = None,
    num_chunks_edge_data: int | Mapping[Any, Any] | None = None,
    num_nodes: Mapping[str, int] | int | None = None,
    delimiter: str = " ",
    overwrite: bool = False,
    **keywords: Any,
) -> Path:
    """Write a graph in DGL's Chunked Graph Data Format, piece by piece.

    The parameters up to `num_chunks_edge_data` match `chunk_graph` in DGL's tools and their tests, 1.0 to 2.5. The same
    graph gives the same bytes, however the input is divided into dask partitions or chunks.

    Parameters
    ----------
    g : object
        - a dictionary keyed by canonical edge type, as a tuple or ``"src:rel:dst"`` (a plain ``"rel"`` joins nodes of
          the one type ``"_N"``). Values are pandas or dask frames, pairs of arrays (numpy, torch, dask), or arrays of
          shape (2, edges) or (edges, 2). In a frame, columns `src` and `dst` (or else the first two) are type-wise
          IDs; the others are edge features;
        - one such frame, pair or array, for a graph with one edge type;
        - a scipy sparse matrix (rows are sources; values are ignored);
        - a networkx graph (nodes in sorted order; undirected edges both ways; numeric attributes are kept);
        - a PyG `Data` or `HeteroData`, or a `DGLGraph`, with its features; for a `DGLGraph`, files get the names that
          DGL gives them;
        - a `Graph` or its directory, to write it again with other chunks or changes; its ID maps are copied;
    name : str
        Name of the graph.
    ndata_paths, edata_paths : mapping, optional
        Extra features: ``{type: {name: rows}}``, or ``{name: rows}`` if there is one type. You can name an edge type
        by its relation alone if the relation is unique. Rows are arrays, `numpy.memmap`, tensors, dask arrays, or paths
        of npy or parquet files. ``{node type: frame}`` is a table of nodes: IDs, in any order, in column `id` or else
        the first, features in the others. These features replace those of the same name in a `DGLGraph`.
    num_chunks : int
        Number of files per edge type and per feature.
    output_path : path
        Output directory; must be empty or absent, unless `overwrite`.
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

    Returns
    -------
    Path
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
    >>> edges = {("user", "follows", "user"): dask.dataframe.read_parquet("follows/")}  # doctest: +SKIP
    >>> chunk_graph(edges, "social", {"user": {"x": "x.npy"}}, output_path="graph")  # doctest: +SKIP
    """
    if output_path is None:
        raise OptionError("nowhere to write", place="output_path", hint="give a directory")
    check_name(name, "graph name")
    if not (ndata_paths or edata_paths or num_nodes):  # what only describes a graph is read first
        g = getattr(g, "spec", g)
    wanted = chosen(GraphChanges, keywords)
    resources = resources_of(keywords)
    chunks_of = {
        "nodes": num_chunks_nodes,
        "edges": _by_etype(num_chunks_edges),
        "node_data": num_chunks_node_data,
        "edge_data": _by_etype(num_chunks_edge_data),
    }
    names: Literal["numbered", "dgl"] = "dgl" if is_dgl_graph(g) else "numbered"
    form = ChunkFormat(edges_fmt, data_fmt, delimiter, num_chunks, chunks_of, names)
    form.check_holds(wanted.dtypes.values())
    out = require_local(output_path, "a graph that is written").absolute()
    reading = chosen(ReadOptions, keywords)
    is_tables = reading.map_ids or is_split_by_text(g, wanted) or any(map(is_table, (ndata_paths or {}).values()))
    if not is_tables:
        _refuse_options_of_tables(reading)
    is_tables = is_tables or isinstance(g, TableSpec)
    resources = resources.limited(max(MIN_TABLE_MEMORY, TASK_MEMORY) if is_tables else TASK_MEMORY)
    with (
        environment_faults(),
        open_progress(keywords.get("progress")) as listener,
        scratch_directory(resources.workspace or out.parent) as scratch,
    ):
        writer = _Writer(out, form, wanted, resources, listener, scratch)
        if isinstance(g, TableSpec):
            form.check_holds(g.changes.dtypes.values())
            return writer.write_tables(replace(changed(g, wanted), name=name), overwrite)
        if is_tables:
            tables = named_tables(g, {}, ndata_paths or {}, edata_paths or {}, are_mapped=reading.map_ids)
            counts = count_known(dict.fromkeys(ends_of_types(tables["edges"])), num_nodes)
            tables["num_nodes"] = {ntype: count for ntype, count in counts.items() if count is not None}
            return writer.write_tables(TableSpec(**tables, name=name, reading=reading, changes=wanted), overwrite)
        if isinstance(g, (str, os.PathLike)):
            g = read_chunked(g)
        graph = open_given(g, name, num_nodes, ndata_paths, edata_paths, resources=writer.resources)
        check_changes(wanted, graph.schema.ntypes, graph.schema.etypes, graph.data_sources)
        with claimed_directory(out, map(str, graph.files), overwrite):
            if isinstance(g, Graph) and g.directory:
                copy_maps(g, out)
            return writer.write_graph(graph)


def _by_etype(chunks: int | Mapping[Any, Any] | None) -> Any:
    """Key numbers of chunks by edge type as a string; DGL uses tuples."""
    return {canonical_name(etype): found for etype, found in chunks.items()} if isinstance(chunks, Mapping) else chunks


def _refuse_options_of_tables(reading: ReadOptions) -> None:
    """Refuse options of tables for a graph that needs none."""
    defaults = ReadOptions()
    for name in ("codes_from", "fill", "missing_ids", "unknown_nodes"):
        if getattr(reading, name) != getattr(defaults, name) and getattr(reading, name) is not None:
            what, hint = "only tables take this option", "leave it out, or give map_ids=True"
            raise OptionError(what, place=f"--{name.replace('_', '-')}", hint=hint)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Write a chunked graph, with changes if any; `scratch` has the temporary files."""

    out: Path
    form: ChunkFormat
    changes: GraphChanges
    resources: Resources
    progress: ProgressListener
    scratch: Path

    def write_graph(self, graph: Graph) -> Path:
        """Compute lazy collections on the cluster, count lines, and write the changed graph from this process."""
        with self._threads() as runner:
            graph = count_lines(graph, BYTES_PER_BLOCK, runner)
        if not all(source.can_seek for source in graph.sources):  # no cluster for nothing
            with open_runner(self.resources, self.progress) as runner:
                runner.scheduler.check_shared([("workspace", self.scratch, "")])
                graph = stage_collections(graph, self.scratch, runner)
        with self._threads() as runner:
            if self.changes != NO_CHANGES:
                from daskgraphpart.sources.change_graph import change_graph  # imports duckdb

                graph = change_graph(graph, self.changes, self.out, self.scratch, self.resources, self.progress)
            return write_graph(graph, self.out, self.form, runner)

    def write_tables(self, spec: TableSpec, overwrite: bool) -> Path:
        """Read tables, and write them."""
        with ExitStack() as stack:

            def claim(paths: list[str]) -> None:
                stack.enter_context(claimed_directory(self.out, paths, overwrite))

            with self._threads() as runner:
                graph = graph_of_tables(spec, self.scratch, self.out, runner, claim)
                return write_graph(graph, self.out, self.form, runner)

    def _threads(self) -> AbstractContextManager[Runner]:
        """Open a runner of threads, to send neither arrays nor local files anywhere."""
        return open_runner(replace(self.resources, cluster="threads"), self.progress)
