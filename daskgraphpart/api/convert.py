"""The package's function `convert`, for the output of `pm_dglpart`. It resolves options and composes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.api.jobs import RunOptions
from daskgraphpart.api.run_dispatch import run_dispatch
from daskgraphpart.assignment.read_parmetis import read_parmetis_parts
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.output import check_empty, check_output
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, detect_resources
from daskgraphpart.schema import check_name
from daskgraphpart.sources.parmetis_files import find_parts
from daskgraphpart.sources.pm_dglpart import ConversionInput, attribute_dtype, convert_to_chunked
from daskgraphpart.sources.type_counts import read_type_counts
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.lock import is_unfinished
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources


def convert(
    in_dir: str | os.PathLike[str],
    out_dir: str | os.PathLike[str],
    *,
    graph_name: str,
    schema: str | os.PathLike[str] | None = None,
    num_parts: int | None = None,
    num_node_weights: int | None = None,
    removed_edges: str | os.PathLike[str] | None = None,
    node_attr_dtype: str | None = None,
    edge_attr_dtype: str | None = None,
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Turn the complete output of ParMETIS' `pm_dglpart` into the partitions DGL loads.

    Does what `tools/convert_partition.py` of DGL 0.6 to 0.8 did, with memory that does not grow with the graph: nodes
    and edges are brought back into their original order in the workspace, and dispatched. New IDs are therefore in the
    order of part, type and original ID, not those ParMETIS gave. All edges of the graph have to be there: those that
    were taken out for ParMETIS come back from the file of removed edges, every one of them (the old tool kept one
    duplicate of each pair).

    Parameters
    ----------
    in_dir : path
        Directory of `p000-<graph_name>_nodes.txt`, `p000-<graph_name>_edges.txt` and so on.
    out_dir : path
        Output directory; must be empty or absent, unless `overwrite`.
    graph_name : str
        Name of the graph.
    schema : path, optional
        JSON with the ranges of homogeneous IDs of node types (`nid`) and edge types (`eid`). Default:
        `<graph_name>.json` in `in_dir`, where `write_parmetis` puts it. An edge type is a relation, whose edges show
        which node types it joins, or `src:relation:dst`.
    num_parts : int, optional
        Must agree with the files, if given.
    num_node_weights : int, optional
        Weights in a line of nodes. Default: what `<graph_name>_stats.txt` says; without it, all columns but three.
    removed_edges : path, optional
        File of self-loops and repeated edges, in `in_dir` or elsewhere.
    node_attr_dtype, edge_attr_dtype : str, optional
        Dtype of the attributes behind the columns of IDs, which become the feature ``"feat"`` of every type. Without,
        they are left alone. Lines of removed edges then need attributes as well.
    options : DispatchOptions, optional
        What is written.
    resources, overwrite, progress : optional
        As in `assign`. The graph lies in the workspace meanwhile, or beside `out_dir`.

    Returns
    -------
    Outcome
        Path of the partition config, partition book and quality.

    Raises
    ------
    InputFileNotFoundError
        If a file is missing.
    MetadataError
        If the schema file is wrong.
    AssignmentError, InputFileError
        If a line is at fault, or not every node and edge is there once.
    """
    source = require_local(in_dir, "what pm_dglpart has written")
    out = require_local(out_dir, "the output of a conversion").absolute()
    check_name(graph_name, "graph name")
    given = ConversionInput(
        graph_name,
        read_type_counts(Path(schema) if schema is not None else source / f"{graph_name}.json"),
        find_parts(source, graph_name, num_parts, num_node_weights, by_part_only=True),
        _removed(source, removed_edges),
        attribute_dtype(node_attr_dtype, "--node-attr-dtype"),
        attribute_dtype(edge_attr_dtype, "--edge-attr-dtype"),
    )
    check_output(out, [source])  # before the work that comes first
    check_empty(out, overwrite or is_unfinished(out))
    resources = (resources or detect_resources()).limited(SMALLEST_TASK_MEMORY)
    with environment_faults(), scratch_directory(resources.workspace or out.parent) as workspace:
        with open_progress(progress) as listener:
            nbytes = sum(path.stat().st_size for path in (*given.parts.paths, *(path for _, path in given.edge_files)))
            listener.begin("read-text", 1, nbytes)
            graph = convert_to_chunked(given, workspace, resources)
            assignment = read_parmetis_parts(given.parts, graph.schema, workspace / "owners", resources)
            listener.advance(nbytes)
            listener.end()
        # the graph is lost with a failure, and so nothing can be continued
        run = RunOptions(resources, progress, overwrite, restart=True, can_continue=False)
        return run_dispatch(graph, out, options or DispatchOptions(), assignment, None, run)


def _removed(source: Path, path: str | os.PathLike[str] | None) -> Path | None:
    """File of removed edges: relative to the input directory, as the old tool has it, or to the working directory."""
    if path is None:
        return None
    inside = source / path
    return inside if inside.is_file() or not Path(path).is_file() else Path(path)
