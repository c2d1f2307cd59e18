"""`plan`: estimate what `partition` would read, write and hold, without reading the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.dispatching.destination import Destination
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.jobs.estimate_job import Plan, estimate
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.run_job import opened_workspace
from daskgraphpart.keywords import check_keywords
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import Owners
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph_like import GraphLike
    from daskgraphpart.jobs.owners import Assignment


@check_keywords
def plan(
    graph: GraphLike,
    num_parts: int,
    *,
    out: str | os.PathLike[str] = ".",
    assignment: Assignment | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
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
    num_hops: int = 1,
    layout: str | Sequence[str] = "dgl",
    layout_options: Mapping[str, object] | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    workspace_options: Mapping[str, object] | None = None,
) -> Plan:
    """Estimate what `partition` reads, writes and holds, and which method it picks, without reading the data.

    Uses closed formulas over the schema. Assumes typical values for what depends on the edges (cut edges, halo nodes,
    parallel edges); the output of a run is within a few per cent of the estimate.

    Parameters
    ----------
    graph : Graph, Scan, path or URL
        As in `partition`. Tables are read to count nodes and edges.
    num_parts : int
        Number of parts.
    out : path or URL
        Output directory of the partitions; warns if its disk is too small. Need not exist.
    assignment : Assignment, optional
        Owners you would give to `dispatch`.
    storage_options : mapping of str to object, optional
        Credentials and options of stores, as for `fsspec.filesystem`.
    dispatch_to : path, optional
        DGL's `ip_config.txt`, as in `dispatch`.
    method, balance, seed, refine, objtype, fanouts, training_options, method_options, effort : optional
        As in `partition`.
    edge_weight, extend, extend_options, num_hops, layout, layout_options, memory, cluster, workers : optional
        As in `partition`.
    workspace, workspace_options : optional
        As in `partition`.

    Returns
    -------
    Plan
        Bytes of input, output and temporary files, memory and method; `to_dict()` for JSON.

    Raises
    ------
    OptionError
        If an option has an invalid value.
    PlanError
        If the memory budget is too small; the message names the smallest that works.
    InputFileError
        If the graph's metadata or headers are invalid.

    Examples
    --------
    >>> print(dgp.plan("shop", 64, memory="1GB", workers=2))
    plan of 'shop' in 64 parts: 1,200 nodes, 5,000 edges
    method     auto picked METIS and KaMinPar combined (needs about 1.4 MB)
    input      68.1 kB
    output     about 663 kB
    workspace  about 282 kB at its peak
    memory     2 tasks at a time of at most 500 MB; budget 1.0 GB, at least 16.8 MB
    """
    making = AssignOptions(
        method=method, balance=balance, seed=seed, refine=refine, objtype=objtype, fanouts=fanouts,
        training_options=training_options, method_options=method_options, effort=effort, edge_weight=edge_weight,
        extend=extend, extend_options=extend_options,
    )  # fmt: skip
    options = DispatchOptions(num_hops=num_hops, layout=layout, layout_options=layout_options)
    resources = detect_resources(memory, cluster, workers, "auto", workspace, workspace_options, takes_store=True)
    how: Any = {"storage_options": storage_options, "dispatch_to": dispatch_to}
    owners = making if assignment is None else assignment
    spec = JobSpec.of(graph, owners, num_parts, out, options, resources, **how)
    if spec.scan.known is None:
        spec.check(None)
    with (
        opened_workspace(spec, JobOptions(resources), is_run=False) as (named, _),
        spec.scan.counted(resources, spec.edge_weights) as counted,
        environment_faults(),
    ):
        spec, layouts = spec.check(counted)
        if isinstance(owners, Owners):
            owners.check_fits(counted.schema)
        if isinstance(spec.target, Destination) and spec.target.hosts:
            spec.target.check_place(resources.cluster)
        return estimate(spec, layouts, counted, num_parts, named.resources, spec.directory(named.resources.workspace))
