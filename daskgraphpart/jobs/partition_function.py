"""`partition`: assign and dispatch in one job. Its docstring describes most options; other functions refer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.result_message import result_message
from daskgraphpart.jobs.run_job import run_dispatch
from daskgraphpart.keywords import check_keywords
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_result
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import Owners

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.graph_like import GraphLike


@check_keywords
def partition(
    graph: GraphLike,
    out: str | os.PathLike[str],
    num_parts: int,
    *,
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
    overwrite: bool = False,
    restart: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    workspace_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> PartitionedGraph:
    """Partition a graph: give every node an owner and write the parts.

    Parameters
    ----------
    graph : Graph, Scan, path or URL, frame, arrays, or graph of another library
        A graph or scan; the directory of a chunked graph, or a table of edges; or edges in memory, as for `from_edges`
        and its kind.
    out : path or URL
        Output directory: empty or absent, unless `overwrite`. Resumes an unfinished run.
    num_parts : int
        Number of parts.
    storage_options : mapping of str to object, optional
        Credentials and options of stores, as for `fsspec.filesystem`.
    dispatch_to : path, optional
        DGL's `ip_config.txt`, to write each part to the disk of its machine, as in `dispatch`.
    method : str | os.PathLike[str], default "auto"
        auto, metis, kaminpar, multilevel, fennel, random, or a directory of owners. auto picks by the number of edges.
    balance : str | Sequence[str], optional
        What to balance, such as nodes,edges=0.05; default nodes,edges. Any of nodes, ntypes, edges, edges-by-ntype,
        bytes, types:paper/train_mask (each class of a node feature), weight:paper/cost, file:weights.npy, and with
        fan-outs seeds and work. After =, how much more than the average a part may have: default 0.1 for edges and
        bytes, else 0.03. A random assignment and one from a directory are measured, not balanced.
    seed : int, default 0
        Seed of the partitioner.
    refine : bool, default False
        Improve the result, or the given owners, by V-cycles.
    objtype : Literal["cut", "vol", "fetch"], default "cut"
        What to minimise. cut is the number of cut edges; fetch the rows that sampled training fetches from other parts,
        and needs fan-outs; vol, of METIS only, the communication volume.
    fanouts : str | Sequence[int] | Sequence[str] | Mapping[str, Sequence[int]], default ()
        Neighbours that training samples at each hop, such as 15,10, for the objective fetch; -1 samples all. Edge types
        may have their own, such as author:writes:paper=15,10.
    training_options : Mapping[str, object], optional
        More on how training samples, by name. ``batch_size``: Seeds of each batch of training. ``seeds``: Where
        training starts: a mask of one type or of all that have it, such as paper/valid_mask, or all. Default:
        train_mask, or all nodes if there is none.
    method_options : Mapping[str, object], optional
        More on how to assign, by name; a method of another package has its own. ``threads``: Threads for KaMinPar,
        default 1. With more than one, the result differs from run to run. ``passes``: Passes that fennel makes over the
        graph; default 3. ``recursive``: Let METIS bisect recursively instead of k-way. ``fill_parts``: Give every part
        a node of each type that has enough of them. ``num_trainers_per_machine``: Split every part again, one piece per
        trainer. As in DGL, the number of the piece becomes the feature trainer_id of nodes and edges.
    effort : Literal["low", "normal", "high"], default "normal"
        How hard to seek a small cut. low runs one library and refines less; normal combines METIS and KaMinPar by a
        V-cycle; high tries several seeds of both and repeats V-cycles while the cut shrinks.
    edge_weight : str | Sequence[str], default ()
        Use an edge feature, such as paper:cites:paper/weight, as the weight of the cut; give one for each edge type,
        others weigh 1. Values must be positive; 20 binary digits of them count.
    extend : str | os.PathLike[str], optional
        Keep the owners of an earlier graph; place only new nodes. A directory of owners, or of partitions in DGL's
        layout, with as many parts. Nodes are matched by original ID if both graphs have ID maps; without, the first
        nodes of each type are the old ones.
    extend_options : Mapping[str, object], optional
        More on how to extend, by name. ``old_id_map``: The graph whose owners you extend, or its directory id_map.
        Default: where it was. ``may_move``: Share of the old nodes that may move when you extend.
    num_hops : int, default 1
        Hops of halo nodes around each part. At 1, a part holds the foreign sources of its edges; at h, also the
        in-edges of halo nodes up to h - 1 hops away.
    layout : str | Sequence[str], default "dgl"
        What to write: dgl, graphbolt, graphstorm, ondisk, parquet, ranks. dgl is what DGL loads. graphbolt has
        GraphBolt's graphs in place of DGL's, or in addition to them if you give both. Each other layout is for what its
        name says.
    layout_options : Mapping[str, object], optional
        Options of the files that frameworks read, by name; a layout of another package has its own. ``graph_formats``:
        Sparse formats in graph.dgl. Any of coo, csr (rows are sources) and csc (rows are destinations).
        ``config_name``: File name of the partition config, which ends in .json. Default: <graph name>.json.
        ``reshuffle``: Give nodes and edges new IDs, contiguous in every part, as DGL 1.0 and later needs. With False
        they keep theirs, as in DGL 0.9; only for graphs with one node type and one edge type. ``out_edges``: Also store
        the edges that leave a part. dgl.distributed.partition_graph does; DGL's distributed pipeline does not.
        ``map_feature``: Translate a feature of node IDs, such as hard negatives, to new IDs: user/negatives=item, the
        type of these nodes; -1 stays. Layouts may find such features themselves. ``store_eids``: Store new edge IDs in
        GraphBolt's graphs, as edge_attributes['_ID']. ``store_inner_node``: Mark in GraphBolt's graphs which nodes a
        part owns. ``store_inner_edge``: Mark in GraphBolt's graphs which edges a part owns. ``hot_rows``: Keep beside
        each part, in the layouts ranks and parquet, the rows of other parts that its trainers fetch most: a share of
        the part's nodes, such as 5%, or bytes, such as 2GB. Needs fan-outs.
    overwrite : bool, default False
        Replace existing output in `out`.
    restart : bool, default False
        Start over instead of resuming an unfinished run.
    memory : str | int, optional
        Memory for all tasks; default half the machine's. The interpreter and its libraries add about 200 MB per
        process. A plain number is bytes.
    cluster : str | Client | Cluster, optional
        Where: threads (default), processes, local, slurm, or an address. sync runs one task after the other; local is a
        dask LocalCluster; slurm, pbs, sge, lsf, htcondor, oar and moab submit jobs through dask-jobqueue; an address or
        a scheduler file is that of a running scheduler. In Python also a Client or a Cluster. Default:
        daskgraphpart.cluster of dask's configuration, else an active Client, else threads.
    workers : int, optional
        Tasks that run at once; default one per processor. On a cluster: one per thread of its workers; in a queue:
        those of one job.
    workspace : str | os.PathLike[str], optional
        For temporary files; default: next to the output. Required if the output is in a store; a URL then works, too,
        and the workers need share no disk.
    workspace_options : Mapping[str, object], optional
        More on temporary files, by name. ``staging``: How features travel: in place, or through zarr arrays in the
        workspace. ``keep_workspace``: Keep the temporary files.
    progress : Progress, optional
        How progress is shown on standard error: "bar", "log", "json" (lines for programs) or False; or a function that
        is called with each event, a dictionary. Default: a bar in terminals, text in notebooks.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    OptionError
        If an option has an invalid value, or there are more parts than nodes.
    InputFileError
        If data files do not match the metadata.
    AssignmentError
        If given owners do not fit the graph, or a weight is negative.
    PlanError
        If the memory budget is too small; the message names the smallest that works.
    OutputExistsError
        If the output directory is not empty.
    OutputLockedError
        If another run is writing there.
    ResumeError
        If `out` holds an unfinished run with other input or options.

    Examples
    --------
    >>> parts = dgp.partition("shop", "parts", 4, memory="1GB")
    >>> parts
    PartitionedGraph 'shop': 4 parts, 1,200 nodes, 5,000 edges
    part  own nodes  halo nodes  own edges  on disk
    ----  ---------  ----------  ---------  -------
       0        300         158      1,291  72.1 kB
       1        300         149      1,242  70.0 kB
       2        299         125      1,099  63.7 kB
       3        301         184      1,368  75.6 kB
    edge cut 14.40%; largest part / average: nodes 1.003, edges 1.094
    next: parts.report(), parts.verify(graph), parts.part(0).to_pyg()
    in DGL: dgl.distributed.load_partition('parts/shop.json', 0)
    >>> parts.quality.cut_share
    0.144
    """
    if isinstance(method, Owners):
        what, hint = "method is an Assignment", "call dispatch(graph, assignment, out) instead"
        raise OptionError(what, place="method", hint=hint)
    owners = AssignOptions(
        method=method, balance=balance, seed=seed, refine=refine, objtype=objtype, fanouts=fanouts,
        training_options=training_options, method_options=method_options, effort=effort, edge_weight=edge_weight,
        extend=extend, extend_options=extend_options,
    )  # fmt: skip
    options = DispatchOptions(num_hops=num_hops, layout=layout, layout_options=layout_options)
    resources = detect_resources(memory, cluster, workers, "auto", workspace, workspace_options, takes_store=True)
    how: Any = {"storage_options": storage_options, "dispatch_to": dispatch_to}
    with result_message(JobOptions(resources, overwrite, restart, progress)) as (run, show):
        result = run_dispatch(JobSpec.of(graph, owners, num_parts, out, options, resources, **how), run)
        show(len(result.part_nbytes), result.quality.cut_share, str(result.config_path), result.traffic)
    return open_result(result, storage_options)
