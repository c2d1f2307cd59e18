"""`partition_graph`: the parameters of `dgl.distributed.partition_graph`, out of core and without dgl."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.output_directory import check_empty
from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.extras import torch_module
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.interop.dgl_api.load import load_mappings
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.run_job import run_dispatch
from daskgraphpart.keywords import check_keywords
from daskgraphpart.options import words_of
from daskgraphpart.partitioned.partitioned_graph import open_partitions
from daskgraphpart.partitioner.assign_nodes import check_method
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import Owners, owner_dtype
from daskgraphpart.partitioner.choose import expected_choice
from daskgraphpart.partitioner.from_arrays import assignment_of, write_type_weights
from daskgraphpart.readers.objects.open_object import complete_graph
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.schema import GraphSchema, check_name
from daskgraphpart.storage.lock import is_unfinished
from daskgraphpart.storage.paths import require_local
from daskgraphpart.storage.scratch import scratch_directory
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.graph_like import GraphLike

logger = logging.getLogger(__name__)


@check_keywords
def partition_graph(
    g: GraphLike,
    graph_name: str,
    num_parts: int,
    out_path: str | os.PathLike[str],
    num_hops: int = 1,
    part_method: Any = "auto",
    balance_ntypes: Any = None,
    balance_edges: bool = False,
    return_mapping: bool = False,
    num_trainers_per_machine: int = 1,
    objtype: str = "cut",
    graph_formats: str | Sequence[str] | None = None,
    use_graphbolt: bool = False,
    *,
    reshuffle: bool = True,
    layout: str | Sequence[str] = "dgl",
    store_eids: bool = True,
    store_inner_node: bool = False,
    store_inner_edge: bool = False,
    num_nodes: Mapping[str, int] | int | None = None,
    node_data: Mapping[str, Any] | None = None,
    edge_data: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    restart: bool = False,
    seed: int = 0,
    refine: bool = False,
    fanouts: str | Sequence[int] | Sequence[str] | Mapping[str, Sequence[int]] = (),
    training_options: Mapping[str, object] | None = None,
    method_options: Mapping[str, object] | None = None,
    effort: Literal["low", "normal", "high"] = "normal",
    edge_weight: str | Sequence[str] = (),
    extend: str | os.PathLike[str] | None = None,
    extend_options: Mapping[str, object] | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Any:
    """Partition a graph for distributed training, as `dgl.distributed.partition_graph` does.

    Runs the same passes as `partition`. As in DGL, a part also holds the edges that leave it.

    Parameters
    ----------
    g : object
        What `chunk_graph` takes: a `Graph` or its directory, a dictionary of frames or arrays, a frame, a scipy
        sparse matrix, a networkx graph, a PyG `Data` or `HeteroData`, a `DGLGraph`.
    graph_name : str
        Name of the graph, and of the partition config.
    num_parts : int
        Number of parts.
    out_path : path
        Output directory; must be empty or absent, unless `overwrite`.
    num_hops : int
        Hops of halo nodes.
    part_method : str, path, Assignment, array or mapping of str to array
        A method of `assign` (``"metis"`` and ``"random"`` are DGL's), a directory of owners, or the owners themselves:
        by node type, or of all nodes, type after type.
    balance_ntypes : array or mapping of str to array, optional
        Integer class of every node, by node type or for the only type: parts get equal shares of each class. Default:
        every node type is its own class.
    balance_edges : bool
        Give parts equal shares of edges, too (in a heterogeneous graph, of the edges into each node type).
    return_mapping : bool
        Return the original IDs.
    num_trainers_per_machine : int
        Split every part into this many smaller ones, stored as feature `trainer_id`, also over one of the graph.
    objtype : str
        METIS objective: ``"cut"`` or ``"vol"``.
    graph_formats : str or sequence of str, optional
        Formats to store: ``"coo"``, ``"csr"``, ``"csc"``; default ``"coo"``.
    use_graphbolt : bool
        Write GraphBolt's graphs beside DGL's, as DGL 2.1 to 2.4 do. DGL 2.5 refuses parts that have both; use
        ``layout="graphbolt"`` for it.
    reshuffle : bool
        False writes the deprecated layout of DGL 0.9, in which nodes and edges keep their IDs (`node_map.npy`,
        `edge_map.npy`). DGL since 1.0 cannot load it; `load_partition` can.
    layout : str or sequence of str
        Layouts to write, as in `dispatch`.
    store_eids, store_inner_node, store_inner_edge : bool
        Add edge IDs, and which nodes and edges the part owns, to GraphBolt's graphs, as in DGL; all of them, types
        and owners with `DGL_DIST_DEBUG` in the environment. The defaults are those of DGL since 2.3; earlier ones
        leave out edge IDs unless asked, and what finds edges (`_dgl2gb_eid`, `_gb_dst_id`), as does
        ``graph_formats="csc"``.
    num_nodes, node_data, edge_data : optional
        Numbers of nodes, and features beside those of `g`, as in `chunk_graph`.
    overwrite : bool
        Replace existing partitions.
    restart : bool
        Start over instead of resuming an unfinished run. Only runs on a chunked graph can resume; for other input, the
        files are gone.
    seed, refine, fanouts, training_options, method_options, effort, edge_weight, extend : optional
        As in `partition`.
    extend_options, memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph, tuple or None
        The partitions, open; None with ``reshuffle=False``, or if neither dgl nor graphbolt is written. With
        `return_mapping`, two tensors as in DGL: original IDs of nodes and of edges by new ID. For a heterogeneous
        graph, two dictionaries of tensors, by node type and by canonical edge type (a tuple).

    Raises
    ------
    OptionError
        If `g` is not a graph, or an option has an invalid value.
    AssignmentError
        If given owners do not fit the graph.
    InputFileError
        If a feature file is missing or invalid.
    OutputExistsError
        If the output directory is not empty.
    PlanError
        If the memory budget is too small; the message names the smallest that works.
    MissingPackageError
        If `return_mapping` is set and torch is not installed.

    Examples
    --------
    >>> edges = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]})
    >>> parts = dgp.partition_graph(edges, "ring", 2, "ring-parts", part_method="random")
    >>> parts.part(1).edges().compute()
       src  dst  eid  etype  inner
    0    1    2    2      0   True
    1    2    0    1      0  False
    """
    check_name(graph_name, "graph name")
    owner_dtype(num_parts)
    options = AssignOptions(
        seed=seed, refine=refine, fanouts=fanouts, training_options=training_options, method_options=method_options,
        effort=effort, edge_weight=edge_weight, extend=extend, extend_options=extend_options,
    )  # fmt: skip
    layouts, is_debugged = words_of(layout), "DGL_DIST_DEBUG" in os.environ
    written = DispatchOptions(
        num_hops,
        words_of(graph_formats or "coo"),
        out_edges=True,
        reshuffle=reshuffle,
        layout=(*layouts, "graphbolt") if use_graphbolt and "graphbolt" not in layouts else layouts,
        store_eids=store_eids or is_debugged,
        store_inner_node=store_inner_node or is_debugged,
        store_inner_edge=store_inner_edge or is_debugged,
        store_types_and_owners=is_debugged,
    )
    is_open = reshuffle and bool(written.graphs)
    if return_mapping:
        _check_mapped(written)
    out = require_local(out_path, "the output of partition_graph", "partition takes URLs").absolute()
    if out.is_dir() and not is_unfinished(out):
        check_empty(out, overwrite)
    resources = detect_resources(memory, cluster, workers, workspace=workspace)
    run = JobOptions(resources, overwrite, restart)
    with (
        scratch_directory(resources.workspace or out.parent) as scratch,
        open_progress(progress) as listener,
        ExitStack() as stack,
    ):
        run = replace(run, progress=listener)
        if num_nodes or node_data or edge_data:
            further: dict[str, Any] = {"num_nodes": num_nodes, "node_data": node_data, "edge_data": edge_data}
            graph = complete_graph(g, resources, name=graph_name, **further)
        else:
            graph = stack.enter_context(open_scan(g, resources=resources).open_graph(resources, listener))
            graph = replace(graph, schema=replace(graph.schema, name=graph_name))
        if isinstance(part_method, (str, Path)):
            balance = _balance(graph, AssignOptions(part_method), balance_ntypes, balance_edges, scratch)
            given: dict[str, Any] = {"method": str(part_method), "balance": balance, "objtype": objtype}
            given |= {} if num_trainers_per_machine == 1 else {"num_trainers_per_machine": num_trainers_per_machine}
            method = replace(options, **given)
            if method.method == "metis" and (advice := _advise_auto(graph.schema, method)):
                logger.warning("part_method: %s", advice)
            check_method(method)
            owners: AssignOptions | Owners = method
        else:
            owners = part_method
            if not isinstance(owners, Owners):
                owners = assignment_of(part_method, graph.schema, num_parts, scratch / "owners")
            _check_ready(owners, num_parts, num_trainers_per_machine)
        run_dispatch(JobSpec(GraphScan(graph), owners, num_parts, out, written), run)
    if return_mapping:
        return load_mappings(out / f"{graph_name}.json")
    return open_partitions(out / f"{graph_name}.json") if is_open else None


def _check_mapped(written: DispatchOptions) -> None:
    """Refuse `return_mapping` where there is none, or torch is missing, before the work."""
    torch_module()
    if not written.reshuffle or not written.graphs:
        what = (
            "reshuffle=False keeps IDs, so there is no mapping"
            if written.graphs
            else "only the layouts dgl and graphbolt have mappings"
        )
        raise OptionError(what, place="return_mapping", hint="leave it out")


def _balance(
    graph: Graph, method: AssignOptions, balance_ntypes: Any, balance_edges: bool, scratch: Path
) -> tuple[str, ...] | None:
    """Translate DGL's parameters to balance constraints, for methods that have them."""
    schema = graph.schema
    if not method.is_named or method.counts_nodes:
        return None
    if balance_ntypes is not None:
        path = write_type_weights(balance_ntypes, schema, scratch / "node class.npy")
        return (f"file:{path}", *(("edges",) if balance_edges else ()))
    if schema.is_heterogeneous:
        return ("ntypes", *(("edges-by-ntype",) if balance_edges else ()))
    return ("nodes", *(("edges",) if balance_edges else ()))


def _check_ready(assignment: Owners, num_parts: int, trainers: int) -> None:
    if assignment.num_parts != num_parts:
        what, expected = "the assignment has a different number of parts", assignment.num_parts
        raise OptionError(what, place="num_parts", expected=expected, found=num_parts)
    if trainers != 1 and not assignment.trainers:
        raise OptionError(
            "the given assignment has no trainers",
            place="num_trainers_per_machine",
            expected="1, or an assignment made with num_trainers_per_machine",
            found=trainers,
        )


def _advise_auto(schema: GraphSchema, options: AssignOptions) -> str:
    """Say what `auto` would do instead of METIS; nothing for small graphs, where it saves no memory."""
    metis, auto = (expected_choice(schema, replace(options, method=method)) for method in ("metis", "auto"))
    if auto.method != "multilevel":
        return ""
    return (
        f"METIS partitions the whole graph in about {format_size(metis.need)} of memory; 'auto' would cut about as "
        f"many edges in half the CPU time and {format_size(auto.need)}"
    )
