"""Functions for ParMETIS: write its input, read its output, and convert it to partitions. They compose."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.output_directory import check_empty, check_output
from daskgraphpart.engine.progress import Progress, open_progress
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.interop.parmetis.pm_dglpart import ConversionInput, attribute_dtype, read_graph, read_type_counts
from daskgraphpart.interop.parmetis.write_text import (
    ParmetisInput,
    check_attributes,
    check_weights,
    claim_files,
    write_parmetis_files,
)
from daskgraphpart.jobs.job_inputs import open_chunked
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.job_spec import JobSpec
from daskgraphpart.jobs.run_job import check_assignment_directory, run_dispatch
from daskgraphpart.keywords import check_keywords
from daskgraphpart.options import option
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_result
from daskgraphpart.partitioner.parmetis_files import ParmetisFiles, find_parts, read_parmetis_parts
from daskgraphpart.partitioner.write_files import write_assignment
from daskgraphpart.schema import check_name
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.lock import is_unfinished, locked_output
from daskgraphpart.storage.paths import require_local, to_path
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.dispatching.finish import JobResult
    from daskgraphpart.graph.graph import Graph

__all__ = ["convert", "read", "write"]


@check_keywords
def write(
    graph: Graph | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    weights: Sequence[str] = (),
    node_attrs: Sequence[str] = (),
    edge_attrs: Sequence[str] = (),
    overwrite: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> ParmetisInput:
    """Write a graph for the programs `pm_dglpart` and `pm_dglpart2` of ParMETIS (branch `dgl`).

    Writes `<graph>_nodes.txt`, `<graph>_edges.txt`, `<graph>_removed_edges.txt`, `<graph>.json` (the ranges of
    homogeneous IDs, as DGL's tools before 1.0 want them) and, last, `<graph>_stats.txt`. Nodes and edges are in the
    order of their types and type-wise IDs; a homogeneous node ID is the type-wise one plus all nodes of earlier types.

    ParMETIS takes neither self-loops nor repeated edges. An edge is repeated if an earlier one has the same source and
    destination, whatever its type; the first stays. An edge and its reverse are two edges: `pm_dglpart` merges them
    itself. This is what DGL's own example does (examples/pytorch/rgcn/experimental/write_mag.py, DGL 0.8 to 1.0),
    except that it sorts the edges. Removed edges go to `<graph>_removed_edges.txt`.

    Parameters
    ----------
    graph : Graph or path
        The graph, or the directory of its `metadata.json`.
    out : path
        Output directory, created if missing; run ParMETIS in it.
    weights : sequence of str
        Node data, one integer or bool per node, to add as node weights after those of the node types that have nodes. A
        type without data of that name gets zeros. With `"train_mask"`, each part gets its share of the training nodes.
    node_attrs, edge_attrs : sequence of str
        Node data and edge data to write behind each line, one value after the other, for `convert` to make a feature
        of. All types need data of that name, of the same dtype and row shape.
    overwrite : bool
        Replace existing files of these names in `out`.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    ParmetisInput
        Directory, name of the graph, and counts.

    Raises
    ------
    OutputExistsError
        If one of the files already exists.
    OptionError
        If node data cannot be weights, or data cannot be attributes.
    InputFileError
        If the data do not match the metadata, or weights are negative or all zero.

    Examples
    --------
    >>> dgp.parmetis.write("shop", "for-pm_dglpart").num_nodes
    1200
    """
    graph = open_chunked(graph)
    check_weights(graph.schema, weights)
    check_attributes(graph.schema.node_types, node_attrs, "node_attrs")
    check_attributes(graph.schema.edge_types, edge_attrs, "edge_attrs")
    resources = detect_resources(memory, cluster, workers, workspace=workspace).limited(SMALLEST_TASK_MEMORY)
    files = ParmetisFiles(require_local(out, "the text for ParMETIS").absolute(), graph.schema.name)
    with (
        environment_faults(),
        locked_output(files.directory),
        scratch_directory(resources.workspace or files.directory) as scratch,
        open_runner(resources, progress) as runner,
    ):
        claim_files(files, graph, to_path(graph.directory) / METADATA_FILE, overwrite)
        attributes = node_attrs, edge_attrs
        return write_parmetis_files(graph, files, weights, runner, scratch, attributes=attributes)


@check_keywords
def read(
    graph: Graph | str | os.PathLike[str],
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    num_node_weights: int | None = None,
    form: str = "npy",
    overwrite: bool = False,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Read the output of ParMETIS and write it as `assign` writes owners.

    Parameters
    ----------
    graph : Graph or path
        The graph you gave to `write`, or the directory of its `metadata.json`.
    path : path
        The file `<graph>_part.<num_parts>` of `pm_dglpart2` or `pm_dglpart3`, or the directory of that file or of the
        files `p000-<graph>_nodes.txt`, `p001-...` of `pm_dglpart`.
    out : path
        Output directory, created if missing.
    num_parts : int, optional
        Number of parts. Default: from the name of the file, else the largest part in it plus one.
    num_node_weights : int, optional
        Number of node weights. Needed for output of `pm_dglpart` if nodes have attributes and the stats file is not
        beside it.
    form : str
        Binary form, in addition to the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    overwrite : bool
        Replace an existing assignment.
    memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    Path
        The directory; pass it to `dispatch` or `read_assignment`.

    Raises
    ------
    InputFileNotFoundError
        If there is no ParMETIS output.
    AssignmentError
        If a line is invalid, or a node does not have exactly one part.

    Examples
    --------
    >>> dgp.parmetis.read("shop", "for-parmetis/shop_part.4", "owners")
    PosixPath('owners')
    >>> dgp.partition("shop", "parts", 4, method="owners").quality.cut_share
    0.7518
    """
    graph = open_chunked(graph)
    source = require_local(path, "the output of ParMETIS")
    parts = find_parts(source, graph.schema.name, num_parts, num_node_weights)
    directory = require_local(out, "an assignment")
    check_assignment_directory(GraphScan(graph), directory, overwrite)
    resources = detect_resources(memory, cluster, workers, workspace=workspace).limited(SMALLEST_TASK_MEMORY)
    with (
        open_runner(resources, progress) as runner,
        environment_faults(),
        scratch_directory(resources.workspace or directory.absolute().parent) as scratch,
    ):
        owners = read_parmetis_parts(parts, graph.schema, scratch, resources)
        with locked_output(directory):
            write_assignment(owners, directory, runner, form=form)
    return directory


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What to know about the output of `pm_dglpart`."""

    schema: str | os.PathLike[str] | None = option(
        None,
        "JSON with the ranges of homogeneous IDs of node types (`nid`) and edge types (`eid`). Default: "
        "`<graph_name>.json` in `path`, where `write` puts it. An edge type is a relation, whose edges show which node "
        "types it joins, or `src:relation:dst`.",
    )
    num_parts: int | None = option(None, "Number of parts, checked against the files.", kind=int)
    num_node_weights: int | None = option(
        None, "Weights per node line. Default: from `<graph_name>_stats.txt`, or else all columns but three.", kind=int
    )
    removed_edges: str | os.PathLike[str] | None = option(
        None,
        "File of self-loops and repeated edges, in `path` or elsewhere.",
    )
    node_attr_dtype: str | None = option(
        None,
        "Dtype of the attributes behind the columns of IDs of nodes, which become the feature `feat` of every type. "
        "Without, they are left alone.",
    )
    edge_attr_dtype: str | None = option(
        None, "The same of edges. Lines of removed edges then need attributes as well."
    )


@check_keywords
def convert(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    graph_name: str,
    overwrite: bool = False,
    schema: str | os.PathLike[str] | None = None,
    num_parts: int | None = None,
    num_node_weights: int | None = None,
    removed_edges: str | os.PathLike[str] | None = None,
    node_attr_dtype: str | None = None,
    edge_attr_dtype: str | None = None,
    num_hops: int = 1,
    layout: str | Sequence[str] = "dgl",
    layout_options: Mapping[str, object] | None = None,
    memory: str | int | None = None,
    cluster: str | Client | Cluster | None = None,
    workers: int | None = None,
    workspace: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> PartitionedGraph:
    """Turn the complete output of ParMETIS' `pm_dglpart` into the partitions DGL loads.

    Does what `tools/convert_partition.py` of DGL 0.6 to 0.8 did, but memory does not grow with the graph: restores the
    original order of nodes and edges in the workspace, then dispatches them. New IDs therefore follow part, type and
    original ID, not the IDs from ParMETIS. The output must be complete: every edge taken out for ParMETIS comes back
    from the file of removed edges (the old tool kept one duplicate of each pair).

    Parameters
    ----------
    path : path
        Directory of `p000-<graph_name>_nodes.txt`, `p000-<graph_name>_edges.txt` and so on.
    out : path
        Output directory; must be empty or absent, unless `overwrite`. During the run, the graph is kept in the
        workspace, or beside `out`.
    graph_name : str
        Name of the graph.
    overwrite : bool
        Replace existing partitions.
    schema : str | os.PathLike[str], optional
        JSON with the ranges of homogeneous IDs of node types (`nid`) and edge types (`eid`). Default:
        `<graph_name>.json` in `path`, where `write` puts it. An edge type is a relation, whose edges show which node
        types it joins, or `src:relation:dst`.
    num_parts : int, optional
        Number of parts, checked against the files.
    num_node_weights : int, optional
        Weights per node line. Default: from `<graph_name>_stats.txt`, or else all columns but three.
    removed_edges : str | os.PathLike[str], optional
        File of self-loops and repeated edges, in `path` or elsewhere.
    node_attr_dtype : str, optional
        Dtype of the attributes behind the columns of IDs of nodes, which become the feature `feat` of every type.
        Without, they are left alone.
    edge_attr_dtype : str, optional
        The same of edges. Lines of removed edges then need attributes as well.
    num_hops, layout, layout_options, memory, cluster, workers, workspace, progress : optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    InputFileNotFoundError
        If a file is missing.
    MetadataError
        If the schema file is invalid.
    AssignmentError
        If a node or edge is missing or repeated.
    InputFileError
        If a line is invalid.

    Examples
    --------
    >>> removed = "for-parmetis/shop_removed_edges.txt"
    >>> dgp.parmetis.convert("for-parmetis", "parts", graph_name="shop", removed_edges=removed)
    PartitionedGraph 'shop': 4 parts, 1,200 nodes, 5,000 edges
    part  own nodes  halo nodes  own edges  on disk
    ----  ---------  ----------  ---------  -------
       0        276         516      1,103  58.8 kB
       1        292         589      1,546  76.5 kB
       2        323         499      1,237  64.6 kB
       3        309         512      1,114  59.9 kB
    edge cut 75.18%; largest part / average: nodes 1.077, edges 1.237
    next: parts.report(), parts.verify(graph), parts.part(0).to_pyg()
    in DGL: dgl.distributed.load_partition('parts/shop.json', 0)
    """
    given = ConvertOptions(
        schema=schema, num_parts=num_parts, num_node_weights=num_node_weights, removed_edges=removed_edges,
        node_attr_dtype=node_attr_dtype, edge_attr_dtype=edge_attr_dtype,
    )  # fmt: skip
    options = DispatchOptions(num_hops=num_hops, layout=layout, layout_options=layout_options)
    run = JobOptions(detect_resources(memory, cluster, workers, workspace=workspace), overwrite, progress=progress)
    return open_result(convert_job(path, out, graph_name, given, options, run))


def convert_job(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    graph_name: str,
    of: ConvertOptions,
    options: DispatchOptions,
    run: JobOptions,
) -> JobResult:
    """Do what `convert` does, but do not open the result."""
    source = require_local(path, "what pm_dglpart has written")
    out = require_local(out, "the output of a conversion").absolute()
    check_name(graph_name, "graph name")
    given = ConversionInput(
        graph_name,
        read_type_counts(Path(of.schema) if of.schema is not None else source / f"{graph_name}.json"),
        find_parts(source, graph_name, of.num_parts, of.num_node_weights, by_part_only=True),
        _removed(source, of.removed_edges),
        attribute_dtype(of.node_attr_dtype, "--node-attr-dtype"),
        attribute_dtype(of.edge_attr_dtype, "--edge-attr-dtype"),
    )
    check_output(out, [source])  # before the work
    check_empty(out, run.overwrite or is_unfinished(out))
    resources = run.resources.limited(SMALLEST_TASK_MEMORY)
    with environment_faults(), scratch_directory(resources.workspace or out.parent) as workspace:
        with open_progress(run.progress) as listener:
            nbytes = sum(path.stat().st_size for path in (*given.parts.paths, *(path for _, path in given.edge_files)))
            listener.begin("read-text", 1, nbytes)
            graph = read_graph(given, workspace, resources)
            assignment = read_parmetis_parts(given.parts, graph.schema, workspace / "owners", resources)
            listener.advance(nbytes)
            listener.end()
        # a failed conversion loses the staged graph: nothing to resume
        run = replace(run, resources=resources, restart=True, can_continue=False)
        return run_dispatch(JobSpec(GraphScan(graph), assignment, None, out, options), run)


def _removed(source: Path, path: str | os.PathLike[str] | None) -> Path | None:
    """File of removed edges: relative to the input directory, as in the old tool, or to the working directory."""
    if path is None:
        return None
    inside = source / path
    return inside if inside.is_file() or not Path(path).is_file() else Path(path)


def __dir__() -> list[str]:
    return __all__
