"""`assign`: give every node an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.owners import public
from daskgraphpart.jobs.result_message import result_message
from daskgraphpart.jobs.run_job import run_assign
from daskgraphpart.keywords import check_keywords
from daskgraphpart.partitioner.assign_options import AssignOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.jobs.owners import Assignment


@check_keywords
def assign(
    graph: GraphLike,
    num_parts: int,
    *,
    out: str | os.PathLike[str] | None = None,
    form: str = "npy",
    storage_options: Mapping[str, Any] | None = None,
    method: str | os.PathLike[str] = "auto",
    balance: str | Sequence[str] | None = None,
    seed: int = 0,
    refine: bool = False,
    objtype: Literal["cut", "vol", "fetch"] = "cut",
    fanouts: str | Sequence[int] | Sequence[str] | Mapping[str, Sequence[int]] = (),
    training_options: Mapping[str, object] | None = None,
    method_options: Mapping[str, object] | None = None,
    effort: Literal["low", "normal", "high"] = "normal",
    edge_weight: str | Sequence[str] = (),
    extend: str | os.PathLike[str] | None = None,
    extend_options: Mapping[str, object] | None = None,
    overwrite: bool = False,
    restart: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    keep_workspace: bool = False,
    progress: Progress | None = None,
) -> Assignment:
    """Give every node an owner.

    Parameters
    ----------
    graph : Graph, Scan, path or URL
        A graph or scan, the directory of a chunked graph, or a table of edges.
    num_parts : int
        Number of parts.
    out : path or URL, optional
        Directory for the owners, in the files of DGL's step 1 (`<ntype>.txt`, `partition_meta.json`). Resumes an
        unfinished run. Without it, owners live in a temporary directory until Python exits; `Assignment.write` saves
        them. A URL needs a workspace in the store, too.
    form : str
        Binary form, in addition to the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    storage_options : mapping of str to object, optional
        Credentials and options of the graph's store, as for `fsspec.filesystem`.
    keep_workspace : bool, default False
        Keep the temporary files.
    method, balance, seed, refine, objtype, fanouts, training_options, method_options, effort : optional
        As in `partition`.
    edge_weight, extend, extend_options, overwrite, restart, memory, cluster, workers, workspace : optional
        As in `partition`.
    progress : optional
        As in `partition`.

    Returns
    -------
    Assignment
        The owners and their quality; give it to `dispatch`.

    Raises
    ------
    OptionError
        If an option has an invalid value, or there are more parts than nodes.
    AssignmentError
        If given owners do not fit the graph, or a weight is negative.
    PlanError
        If the memory budget is too small; the message names the smallest that works.
    ResumeError
        If `out` holds an unfinished run with other input or options.

    Examples
    --------
    >>> assignment = dgp.assign("shop", 4, balance="nodes,edges")
    >>> assignment
    <Assignment by kaminpar: 4 parts, 14.4% of edges cut>
    >>> assignment.owners["user"][:10].compute()
    array([3, 2, 0, 1, 3, 2, 0, 1, 3, 2], dtype=uint8)
    """
    options = AssignOptions(
        method=method, balance=balance, seed=seed, refine=refine, objtype=objtype, fanouts=fanouts,
        training_options=training_options, method_options=method_options, effort=effort, edge_weight=edge_weight,
        extend=extend, extend_options=extend_options,
    )  # fmt: skip
    resources = detect_resources(
        memory, cluster, workers, workspace=workspace, keep_workspace=keep_workspace, takes_store=True
    )
    with result_message(JobOptions(resources, overwrite, restart, progress)) as (run, show):
        job = JobSpec.of_owners(graph, options, num_parts, out, form, resources, storage_options)
        assignment = public(run_assign(job, run))
        show(assignment.num_parts, assignment.quality.cut_share, "owners" if out is None else str(out))
    return assignment
