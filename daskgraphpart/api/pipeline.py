"""The package's functions: assign, dispatch, partition. They resolve options and compose; the work is below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.api.jobs import RUN
from daskgraphpart.api.run_assign import assign_job
from daskgraphpart.api.run_dispatch import dispatch_job, partition_job
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.resources import STAGING
from daskgraphpart.options import stated_options, with_keywords

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from daskgraphpart.api.owners import Assignment
    from daskgraphpart.api.partitions import PartitionedGraph
    from daskgraphpart.chunked.graph import Graph


@with_keywords(stated_options(AssignOptions), RUN)
def assign(
    graph: Graph | str | os.PathLike[str],
    num_parts: int,
    *,
    out: str | os.PathLike[str] | None = None,
    form: str = "npy",
    storage_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Assignment:
    """Give every node an owner.

    Parameters
    ----------
    graph : Graph, path or URL
        The graph; or the directory of a chunked one, or the path of one table of edges.
    num_parts : int
        Number of parts.
    out : path, optional
        Where the owners are written as DGL's step 1 does (`<ntype>.txt`, `partition_meta.json`), as
        `Assignment.write` does later. An unfinished run that is there is continued. Without it they are kept in a
        temporary directory until the interpreter ends.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    storage_options : mapping of str to object, optional
        Of the store of the graph, if its URL is given; as `fsspec.filesystem` takes them.

    Returns
    -------
    Assignment
        Owners, their quality, and what `dispatch` takes.

    Raises
    ------
    OptionError
        If an option is impossible, or there are more parts than nodes.
    AssignmentError
        If owners that are read do not fit the graph, or a weight is negative.
    PlanError
        If the memory does not suffice.
    ResumeError
        If `out` holds an unfinished run with other input or options.

    Examples
    --------
    >>> assignment = assign("graph", 8, balance="nodes,edges", memory="8GB")  # doctest: +SKIP
    >>> assignment.owners["user"].compute()  # doctest: +SKIP
    """
    from daskgraphpart.api.owners import public  # what users do with the result is imported when there is one

    return public(assign_job(graph, num_parts, out=out, form=form, storage_options=storage_options, **keywords))


@with_keywords(stated_options(DispatchOptions), STAGING, RUN)
def dispatch(
    graph: Graph | str | os.PathLike[str],
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> PartitionedGraph:
    """Bring every node, edge and feature to its owner, and write the partitions.

    Parameters
    ----------
    graph : Graph, path or URL
        The graph; or the directory of a chunked one, or the path of one table of edges.
    assignment : Assignment or path
        Owners of all nodes, or their directory.
    out : path or URL
        Output directory; must be empty or absent, unless `overwrite`. An unfinished run that is there is continued.
        Partitions for a store are made in `workspace` and sent to it at the end.
    num_parts : int, optional
        Needed only for a directory of owners without `partition_meta.json`.
    storage_options : mapping of str to object, optional
        Of the stores, where URLs are given; as `fsspec.filesystem` takes them.
    dispatch_to : path, optional
        File of the machines that will serve the parts, as DGL's `ip_config.txt`. Part p goes to `out` on the disk
        of machine p modulo the number of lines, brought there by a worker of the cluster that runs on it.

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
        If there is an unfinished run with other input or options.
    PlanError
        If the memory budget is too small; the message has the smallest that works.
    InputFileError, AssignmentError
        If the data are not what the metadata say.

    Examples
    --------
    >>> parts = dispatch("graph", assignment, "partitions", layout="dgl,ranks")  # doctest: +SKIP
    >>> parts.node_data["paper"]["feat"].mean(axis=0).compute()  # doctest: +SKIP
    """
    how: Any = {"num_parts": num_parts, "storage_options": storage_options, "dispatch_to": dispatch_to}
    from daskgraphpart.api.partitions import parts_of

    return parts_of(dispatch_job(graph, assignment, out, **how, **keywords), storage_options)


@with_keywords(stated_options(AssignOptions), stated_options(DispatchOptions), STAGING, RUN)
def partition(
    graph: Graph | str | os.PathLike[str],
    out: str | os.PathLike[str],
    num_parts: int,
    *,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> PartitionedGraph:
    """Partition a graph: `assign` and `dispatch` in one go.

    Parameters
    ----------
    graph, out, storage_options, dispatch_to
        As in `dispatch`.
    num_parts : int
        Number of parts.

    Returns
    -------
    PartitionedGraph
        The partitions, open.

    Raises
    ------
    OptionError, AssignmentError, InputFileError, OutputExistsError, OutputLockedError, PlanError, ResumeError
        As in `assign` and `dispatch`.

    Examples
    --------
    >>> parts = partition("graph", "partitions", 8, memory="8GB")  # doctest: +SKIP
    >>> parts.quality.cut_share  # doctest: +SKIP
    """
    how: Any = {"storage_options": storage_options, "dispatch_to": dispatch_to}
    from daskgraphpart.api.partitions import parts_of

    return parts_of(partition_job(graph, out, num_parts, **how, **keywords), storage_options)
