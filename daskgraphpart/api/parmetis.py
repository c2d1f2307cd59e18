"""The package's functions for ParMETIS: write its input, read its output, turn it into partitions. They compose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.inputs import check_assignment_directory, opened_chunked
from daskgraphpart.api.jobs import RunOptions
from daskgraphpart.api.partitions import parts_of
from daskgraphpart.api.run_dispatch import Wanted, run_dispatch
from daskgraphpart.assignment.write_files import write_assignment
from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.output import check_empty, check_output
from daskgraphpart.engine.progress import PROGRESS, open_progress
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, WHERE, resources_of
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.options import chosen, option, stated_options, with_keywords
from daskgraphpart.parmetis_files.files import ParmetisFiles, find_parts
from daskgraphpart.parmetis_files.pm_dglpart import (
    ConversionInput,
    attribute_dtype,
    convert_to_chunked,
    read_type_counts,
)
from daskgraphpart.parmetis_files.read_parts import read_parmetis_parts
from daskgraphpart.parmetis_files.write import ParmetisInput, check_weights, claim_files, write_parmetis_files
from daskgraphpart.schema import check_name
from daskgraphpart.storage.atomic import made_directory, scratch_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.lock import is_unfinished
from daskgraphpart.storage.paths import require_local, to_path

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from daskgraphpart.api.partitions import PartitionedGraph
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.dispatching.finish import Outcome


@with_keywords(WHERE, PROGRESS)
def write(
    graph: Graph | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    weights: Sequence[str] = (),
    overwrite: bool = False,
    **keywords: Any,
) -> ParmetisInput:
    """Write a graph as the programs `pm_dglpart` and `pm_dglpart2` of ParMETIS (branch `dgl`) read it.

    Writes `<graph>_nodes.txt`, `<graph>_edges.txt`, `<graph>_removed_edges.txt`, `<graph>.json` (the ranges of
    homogeneous IDs, as DGL's tools before 1.0 want them) and, last, `<graph>_stats.txt`. Nodes and edges are in the
    order of their types and type-wise IDs; a homogeneous node ID is the type-wise one plus all nodes of earlier types.

    ParMETIS takes neither self-loops nor repeated edges. An edge is repeated if an earlier one has the same source and
    destination, whatever its type; the first stays. An edge and its reverse are two edges: `pm_dglpart` merges them
    itself. This is what DGL's own example does (examples/pytorch/rgcn/experimental/write_mag.py, DGL 0.8 to 1.0),
    except that there the edges come out sorted. The edges that are taken out are in the file of removed edges.

    Parameters
    ----------
    graph : Graph or path
        The graph, or the directory of its `metadata.json`.
    out : path
        Directory of the files, made if need be; ParMETIS is to be run in it.
    weights : sequence of str
        Node data, one integer or bool per node, that become node weights after those of the node types that have
        nodes: a type without data of that name gets zeros. With `"train_mask"` each part gets its share of the
        training nodes.
    overwrite : bool
        Replace such files in `out`.

    Returns
    -------
    ParmetisInput
        Directory, name of the graph, and what was counted.

    Raises
    ------
    OutputExistsError
        If one of the files is there already.
    OptionError
        If node data cannot be weights.
    InputFileError
        If the data are not what the metadata say, or weights are negative or all zero.
    """
    graph = opened_chunked(graph)
    check_weights(graph.schema, weights)
    resources = resources_of(keywords).limited(SMALLEST_TASK_MEMORY)
    files = ParmetisFiles(require_local(out, "the text for ParMETIS").absolute(), graph.schema.name)
    with environment_faults():
        claim_files(files, graph, to_path(graph.directory) / METADATA_FILE, overwrite)
        with (
            scratch_directory(resources.workspace or files.directory) as scratch,
            open_runner(resources, keywords.get("progress")) as runner,
        ):
            return write_parmetis_files(graph, files, weights, runner, scratch)


@with_keywords(WHERE, PROGRESS)
def read(
    graph: Graph | str | os.PathLike[str],
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    num_node_weights: int | None = None,
    form: str = "npy",
    overwrite: bool = False,
    **keywords: Any,
) -> Path:
    """Read what ParMETIS has made of a graph, and write it as `assign` writes owners.

    Parameters
    ----------
    graph : Graph or path
        The graph that `write` was given, or the directory of its `metadata.json`.
    path : path
        The file `<graph>_part.<num_parts>` of `pm_dglpart2` or `pm_dglpart3`, or the directory of that file or of the
        files `p000-<graph>_nodes.txt`, `p001-...` of `pm_dglpart`.
    out : path
        Directory of the assignment; made if need be.
    num_parts : int, optional
        Default: as the name of the file says, else one more than the largest part in it.
    num_node_weights : int, optional
        Needed for output of `pm_dglpart` if nodes have attributes and the stats file is not beside it.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    overwrite : bool
        Replace an assignment that is there.

    Returns
    -------
    Path
        The directory, which `dispatch` and `read_assignment` take.

    Raises
    ------
    InputFileNotFoundError
        If there is nothing of ParMETIS.
    AssignmentError
        If a line is at fault, or not every node has one part.
    """
    graph = opened_chunked(graph)
    source = require_local(path, "the output of ParMETIS")
    parts = find_parts(source, graph.schema.name, num_parts, num_node_weights)
    directory = require_local(out, "an assignment")
    check_assignment_directory(graph, directory, overwrite)
    resources = resources_of(keywords).limited(SMALLEST_TASK_MEMORY)
    with (
        open_runner(resources, keywords.get("progress")) as runner,
        environment_faults(),
        made_directory(directory),
        scratch_directory(resources.workspace or directory) as scratch,
    ):
        owners = read_parmetis_parts(parts, graph.schema, scratch, resources)
        write_assignment(owners, directory, runner, form=form)
    return directory


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What is to be known of the output of `pm_dglpart`."""

    schema: str | None = option(
        None,
        "JSON with the ranges of homogeneous IDs of node types (`nid`) and edge types (`eid`). Default: "
        "`<graph_name>.json` in `path`, where `write` puts it. An edge type is a relation, whose edges show which node "
        "types it joins, or `src:relation:dst`.",
        given="str | os.PathLike[str]",
    )
    num_parts: int | None = option(None, "Must agree with the files, if given.")
    num_node_weights: int | None = option(
        None,
        "Weights in a line of nodes. Default: what `<graph_name>_stats.txt` says; without it, all columns but three.",
    )
    removed_edges: str | None = option(
        None,
        "File of self-loops and repeated edges, in `path` or elsewhere.",
        given="str | os.PathLike[str]",
    )
    node_attr_dtype: str | None = option(
        None,
        "Dtype of the attributes behind the columns of IDs of nodes, which become the feature `feat` of every type. "
        "Without, they are left alone.",
    )
    edge_attr_dtype: str | None = option(
        None, "The same of edges. Lines of removed edges then need attributes as well."
    )


@with_keywords(stated_options(ConvertOptions), stated_options(DispatchOptions), WHERE, PROGRESS)
def convert(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    graph_name: str,
    overwrite: bool = False,
    **keywords: Any,
) -> PartitionedGraph:
    """Turn the complete output of ParMETIS' `pm_dglpart` into the partitions DGL loads.

    Does what `tools/convert_partition.py` of DGL 0.6 to 0.8 did, with memory that does not grow with the graph: nodes
    and edges are brought back into their original order in the workspace, and dispatched. New IDs are therefore in the
    order of part, type and original ID, not those ParMETIS gave. All edges of the graph have to be there: those that
    were taken out for ParMETIS come back from the file of removed edges, every one of them (the old tool kept one
    duplicate of each pair).

    Parameters
    ----------
    path : path
        Directory of `p000-<graph_name>_nodes.txt`, `p000-<graph_name>_edges.txt` and so on.
    out : path
        Output directory; must be empty or absent, unless `overwrite`. While it runs, the graph lies in the workspace,
        or beside `out`.
    graph_name : str
        Name of the graph.
    overwrite : bool
        Replace partitions that are there.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    InputFileNotFoundError
        If a file is missing.
    MetadataError
        If the schema file is wrong.
    AssignmentError, InputFileError
        If a line is at fault, or not every node and edge is there once.
    """
    return parts_of(convert_job(path, out, graph_name, overwrite=overwrite, **keywords))


def convert_job(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    graph_name: str,
    *,
    overwrite: bool = False,
    **keywords: Any,
) -> Outcome:
    """Do what `convert` does, and open nothing."""
    source = require_local(path, "what pm_dglpart has written")
    out = require_local(out, "the output of a conversion").absolute()
    check_name(graph_name, "graph name")
    of = chosen(ConvertOptions, keywords)
    given = ConversionInput(
        graph_name,
        read_type_counts(Path(of.schema) if of.schema is not None else source / f"{graph_name}.json"),
        find_parts(source, graph_name, of.num_parts, of.num_node_weights, by_part_only=True),
        _removed(source, of.removed_edges),
        attribute_dtype(of.node_attr_dtype, "--node-attr-dtype"),
        attribute_dtype(of.edge_attr_dtype, "--edge-attr-dtype"),
    )
    check_output(out, [source])  # before the work that comes first
    check_empty(out, overwrite or is_unfinished(out))
    resources, progress = resources_of(keywords).limited(SMALLEST_TASK_MEMORY), keywords.get("progress")
    with environment_faults(), scratch_directory(resources.workspace or out.parent) as workspace:
        with open_progress(progress) as listener:
            nbytes = sum(path.stat().st_size for path in (*given.parts.paths, *(path for _, path in given.edge_files)))
            listener.begin("read-text", 1, nbytes)
            graph = convert_to_chunked(given, workspace, resources)
            assignment = read_parmetis_parts(given.parts, graph.schema, workspace / "owners", resources)
            listener.advance(nbytes)
            listener.end()
        # the graph is lost with a failure, and so nothing can be continued
        run = RunOptions(resources, overwrite, restart=True, progress=progress, can_continue=False)
        return run_dispatch(graph, Wanted(out, chosen(DispatchOptions, keywords), assignment, None), run)


def _removed(source: Path, path: str | os.PathLike[str] | None) -> Path | None:
    """File of removed edges: relative to the input directory, as the old tool has it, or to the working directory."""
    if path is None:
        return None
    inside = source / path
    return inside if inside.is_file() or not Path(path).is_file() else Path(path)
