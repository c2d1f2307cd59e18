"""`dispatch`: write the partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.result_message import result_message
from daskgraphpart.jobs.run_job import run_dispatch
from daskgraphpart.keywords import check_keywords
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_result

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.jobs.owners import Assignment


@check_keywords
def dispatch(
    graph: GraphLike,
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    num_hops: int = 1,
    layout: str | Sequence[str] = "dgl",
    layout_options: Mapping[str, object] | None = None,
    overwrite: bool = False,
    restart: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    workspace_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> PartitionedGraph:
    """Write the partitions: every node, edge and feature goes to its owner.

    Parameters
    ----------
    graph : Graph, Scan, path or URL
        A graph or scan, the directory of a chunked graph, or a table of edges.
    assignment : Assignment or path
        The owners of all nodes, or their directory.
    out : path or URL
        Output directory: empty or absent, unless `overwrite`. Resumes an unfinished run. For a store, partitions are
        written to `workspace` and uploaded at the end.
    num_parts : int, optional
        Number of parts; needed only if the directory of owners lacks `partition_meta.json`.
    storage_options : mapping of str to object, optional
        Credentials and options of stores, as for `fsspec.filesystem`.
    dispatch_to : path, optional
        DGL's `ip_config.txt`, one machine per line. Part p goes to `out` on the disk of machine p modulo the number of
        lines, written by a worker of the cluster on that machine.
    num_hops, layout, layout_options, overwrite, restart, memory, cluster, workers, workspace : optional
        As in `partition`.
    workspace_options, progress : optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    OutputExistsError
        If the output directory is not empty.
    OutputLockedError
        If another run is writing there.
    ResumeError
        If `out` holds an unfinished run with other input or options.
    PlanError
        If the memory budget is too small; the message names the smallest that works.
    InputFileError
        If data files do not match the metadata.
    AssignmentError
        If the owners do not fit the graph.

    Examples
    --------
    >>> assignment = dgp.assign("shop", 4, method="random")
    >>> parts = dgp.dispatch("shop", assignment, "parts", layout="dgl,ranks")
    >>> parts.node_data["user"]["age"].mean().compute()
    np.float64(48.925)
    """
    options = DispatchOptions(num_hops=num_hops, layout=layout, layout_options=layout_options)
    resources = detect_resources(memory, cluster, workers, "auto", workspace, workspace_options, takes_store=True)
    how: Any = {"storage_options": storage_options, "dispatch_to": dispatch_to}
    with result_message(JobOptions(resources, overwrite, restart, progress)) as (run, show):
        result = run_dispatch(JobSpec.of(graph, assignment, num_parts, out, options, resources, **how), run)
        show(len(result.part_nbytes), result.quality.cut_share, str(result.config_path), result.traffic)
    return open_result(result, storage_options)
