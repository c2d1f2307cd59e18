"""The method `write_chunked` of graphs and scans."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.graph_methods import GraphMethods


def write_chunked(
    graph: GraphMethods[Any],
    out: str | os.PathLike[str],
    *,
    name: str | None = None,
    num_chunks: int | None = None,
    edge_format: Literal["parquet", "csv", "numpy"] = "parquet",
    data_format: Literal["numpy", "parquet"] = "numpy",
    overwrite: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Write the graph as a chunked graph, in DGL's Chunked Graph Data Format, out of core.

    Parameters
    ----------
    out : path or URL
        Output directory; must be empty or absent, unless `overwrite`. A URL needs a `workspace` in the store, too.
    name : str, optional
        Name of the graph; default: its current name.
    num_chunks : int, optional
        Number of files per edge type and per feature; default: by size.
    edge_format : str
        ``"parquet"``, ``"csv"`` or ``"numpy"``.
    data_format : str
        ``"numpy"`` or ``"parquet"``.
    overwrite : bool
        Replace an existing graph.
    storage_options : mapping of str to object, optional
        As in `read_chunked`, of the store in which `out` is.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Graph
        The written graph, open.

    Raises
    ------
    OutputExistsError
        If `out` is not empty and cannot be replaced.
    InputFileError
        If the input data are invalid.

    Examples
    --------
    >>> smaller = graph.astype({"item/feat": "float16"}).write_chunked("smaller")
    >>> smaller.nbytes < graph.nbytes
    True
    """
    from daskgraphpart.graph.write_graph import ChunkFormat  # read graphs, which have this method
    from daskgraphpart.jobs.save_graph import Saving, save_graph

    form = ChunkFormat(edge_format, data_format, num_chunks=num_chunks)
    resources = detect_resources(memory, cluster, workers, workspace=workspace, takes_store=True)
    with environment_faults(), open_progress(progress) as listener:
        return save_graph(graph, out, storage_options, Saving(form, name or "", overwrite, resources, listener))
