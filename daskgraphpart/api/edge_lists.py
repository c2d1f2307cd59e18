"""Plain edge lists to chunked graphs, and the map from new IDs to original ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.output import ID_MAP, claimed_directory
from daskgraphpart.chunked.write_graph import TASK_MEMORY, ChunkFormat, write_graph
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.options import stated_options
from daskgraphpart.schema import DEFAULT_ETYPE, check_name
from daskgraphpart.sources.options import GraphChanges, ReadOptions
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.sources.edge_list_inputs import FeaturePaths
    from daskgraphpart.sources.table_files import Paths


def chunk_edge_lists(
    out_dir: str | os.PathLike[str],
    edges: Mapping[str, Paths] | Paths,
    *,
    name: str = "graph",
    nodes: Mapping[str, Paths | tuple[Paths, str]] | None = None,
    num_nodes: Mapping[str, int] | None = None,
    num_edges: Mapping[str, int] | None = None,
    node_data: FeaturePaths | None = None,
    edge_data: FeaturePaths | None = None,
    masks: FeaturePaths | None = None,
    num_chunks: int | None = None,
    edge_format: str = "parquet",
    data_format: str = "numpy",
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Path:
    """Write a chunked graph from plain edge lists, out of core.

    Edges keep their order: files in the order in which they are given (those of a pattern sorted), rows as they are in
    them. The output does not depend on memory, workers or on how rows are cut into files.

    Parameters
    ----------
    out_dir : path
        Output directory; must be empty or absent, unless `overwrite`.
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
    num_chunks : int, optional
        Files for each edge type and feature; default by size.
    edge_format : str
        ``"parquet"``, ``"csv"`` or ``"numpy"``.
    data_format : str
        ``"numpy"`` or ``"parquet"``.
    resources, overwrite, progress : optional
        As in `assign`.
    **options
        How tables are read, and what is changed on the way: the parameters of `ReadOptions` and `GraphChanges`.

    Returns
    -------
    Path
        The metadata file; `read_chunked` opens it.

    Raises
    ------
    OptionError
        If an option has a value it cannot have, or names an unknown type.
    InputFileError
        If a file is missing, empty or not what it should be, or a row is at fault: too few columns, an ID that is
        missing, negative, too large, of another kind than the others; or if features do not have a row for each node or
        edge.
    OutputExistsError
        If `out_dir` holds something that may not be replaced.
    PlanError
        If the memory does not suffice.

    Examples
    --------
    >>> chunk_edge_lists("graph", "follows.tsv", map_ids=True)  # doctest: +SKIP
    >>> read_id_map("graph", "_N")["id"].head()  # doctest: +SKIP
    """
    reading = ReadOptions(**{word: options.pop(word) for word in stated_options(ReadOptions) if word in options})
    tables = {
        "edges": edges if isinstance(edges, Mapping) else {DEFAULT_ETYPE: edges},
        "nodes": nodes or {},
        "num_nodes": num_nodes or {},
        "num_edges": num_edges or {},
        "node_data": node_data or {},
        "edge_data": edge_data or {},
        "masks": masks or {},
    }
    form = ChunkFormat(edge_format, data_format, num_chunks=num_chunks)
    out = require_local(out_dir, "a graph that is written").absolute()
    return write_tables(
        tables, name, out, form, reading, resources, GraphChanges(**options), overwrite=overwrite, progress=progress
    )


def write_tables(
    tables: Mapping[str, Any],
    name: str,
    out: Path,
    form: ChunkFormat,
    options: ReadOptions,
    resources: Resources | None,
    changes: GraphChanges,
    *,
    overwrite: bool,
    progress: Progress | None,
) -> Path:
    """Write a chunked graph of tables, given by what `open_inputs` takes, with changes."""
    from daskgraphpart.sources.change_graph import change_graph
    from daskgraphpart.sources.database import MIN_MEMORY, open_database
    from daskgraphpart.sources.edge_list_inputs import kinds_of_ids, open_inputs
    from daskgraphpart.sources.edge_lists import read_graph
    from daskgraphpart.sources.job import Job

    check_name(name, "graph name", OptionError, place="--name")
    form.check_holds(changes.dtypes.values())
    resources = (resources or detect_resources()).limited(max(MIN_MEMORY, TASK_MEMORY))
    with (
        environment_faults(),
        open_progress(progress) as listener,
        scratch_directory(resources.workspace or out.parent) as scratch,
        open_database(scratch, resources) as connection,
    ):
        inputs = open_inputs(connection, scratch, options, **tables, changes=changes)
        for note in inputs.notes:
            listener.note(note)
        with claimed_directory(out, inputs.paths, overwrite):
            kinds = kinds_of_ids(inputs)
            graph = read_graph(Job(inputs, kinds, connection, scratch, out, resources.memory, listener), name)
            # rows are in files of this machine by now, and the database is not needed any more
            connection.close()
            graph = change_graph(graph, changes, out, scratch, resources, listener)
            with open_runner(replace(resources, cluster="threads"), listener) as runner:
                return write_graph(graph, out, form, runner)


def read_id_map(directory: str | os.PathLike[str], ntype: str) -> Any:
    """Original IDs of the nodes of one type, lazily.

    Parameters
    ----------
    directory : path
        Of the chunked graph.
    ntype : str
        Node type.

    Returns
    -------
    dask.dataframe.DataFrame
        Column `id`, int64 or string; the index is the new ID, with known divisions, so that ``.loc[5:9]`` reads little.

    Raises
    ------
    InputFileNotFoundError
        If there is no map of that node type.
    InputFileError
        If the file is not a map.
    """
    from daskgraphpart.sources.id_map import id_map_frame

    return id_map_frame(Path(directory) / ID_MAP / f"{ntype}.parquet")
