"""`plan`: estimate what `partition` would read, write and hold, without reading the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.api.estimate import Plan, estimate
from daskgraphpart.api.inputs import is_machines, made_in, output_of
from daskgraphpart.api.run_dispatch import Wanted, check_known, fitting
from daskgraphpart.assignment.assignment import Assignment
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.resources import STAGING, WHERE, resources_of
from daskgraphpart.keywords import with_keywords
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.sources.open_scan import open_scan
from daskgraphpart.storage.faults import environment_faults

if TYPE_CHECKING:
    import os

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.chunked.scan import Scan
    from daskgraphpart.engine.resources import Resources


@with_keywords(stated_options(AssignOptions), stated_options(DispatchOptions), STAGING, WHERE)
def plan(
    graph: Graph | Scan | str | os.PathLike[str],
    num_parts: int,
    *,
    out: str | os.PathLike[str] = ".",
    assignment: Assignment | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> Plan:
    """Estimate what `partition` reads, writes and holds, and which method it picks, without reading the data.

    Uses closed formulas over the schema, see `daskgraphpart.dispatching.estimate`. Assumes typical values for what
    depends on the edges (cut edges, HALO nodes, parallel edges); the output of a run is within a few per cent of the
    estimate.

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
    dispatch_to : path, optional
        DGL's `ip_config.txt`, as in `dispatch`.

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
    method     auto: METIS and KaMinPar combined (needs about 1.8 MB)
    input      68.1 kB
    output     about 286 kB
    workspace  about 282 kB at its peak
    memory     2 tasks at a time of at most 500 MB; budget 1.0 GB, at least 16.8 MB
    """
    options, resources = chosen(DispatchOptions, keywords), resources_of(keywords)
    owners = chosen(AssignOptions, keywords) if assignment is None else assignment
    scan = open_scan(graph, None, resources)
    wanted = Wanted(output_of(out, dispatch_to), options, owners, num_parts)
    if scan.known is None:
        check_known(scan.name, wanted)
    weights = tuple(owners.edge_weight) if isinstance(owners, AssignOptions) else ()
    with scan.counted(resources, weights) as found:
        return _plan(found, num_parts, wanted, resources)


def _plan(graph: Graph, num_parts: int, wanted: Wanted, resources: Resources) -> Plan:
    wanted, _ = fitting(graph, wanted)
    if isinstance(wanted.owners, Assignment):
        wanted.owners.check_fits(graph.schema)
    if is_machines(wanted.target):
        wanted.target.check_cluster(resources.cluster)
    out = made_in(wanted.target, resources.workspace)
    with environment_faults():
        return estimate(graph, num_parts, wanted.owners, wanted.options, resources, out)
