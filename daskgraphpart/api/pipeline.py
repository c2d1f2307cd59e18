"""`assign`, `dispatch`, `partition`: resolve options and call the stages."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from daskgraphpart.api.jobs import RUN
from daskgraphpart.api.run_assign import assign_job
from daskgraphpart.api.run_dispatch import dispatch_job, partition_job
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.resources import STAGING
from daskgraphpart.keywords import with_keywords
from daskgraphpart.layouts.dgl_config import PartitionConfig
from daskgraphpart.options import stated_options
from daskgraphpart.units import format_number, format_seconds

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from daskgraphpart.api.owners import Assignment
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.chunked.scan import Scan
    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.partitioned.graph import PartitionedGraph


@with_keywords(stated_options(AssignOptions), RUN)
def assign(
    graph: Graph | Scan | str | os.PathLike[str],
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
    graph : Graph, Scan, path or URL
        A graph or scan, the directory of a chunked graph, or a table of edges.
    num_parts : int
        Number of parts.
    out : path, optional
        Directory for the owners, in the files of DGL's step 1 (`<ntype>.txt`, `partition_meta.json`). Resumes an
        unfinished run. Without it, owners live in a temporary directory until Python exits; `Assignment.write` saves
        them.
    form : str
        Binary form beside the text: ``"npy"``, ``"parquet"`` or ``"zarr"``.
    storage_options : mapping of str to object, optional
        Credentials and options of the graph's store, as for `fsspec.filesystem`.

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
    >>> assignment = assign("graph", 8, balance="nodes,edges", memory="8GB")  # doctest: +SKIP
    >>> assignment.owners["user"].compute()  # doctest: +SKIP
    """
    from daskgraphpart.api.owners import public  # slow to import, and not needed before

    how: Any = {"out": out, "form": form, "storage_options": storage_options}
    with _ending(keywords) as ending:
        found = public(assign_job(graph, num_parts, **how, **keywords))
        ending(found.num_parts, found.quality.cut_share, "owners" if out is None else str(out))
    return found


@with_keywords(stated_options(DispatchOptions), STAGING, RUN)
def dispatch(
    graph: Graph | Scan | str | os.PathLike[str],
    assignment: Assignment | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    num_parts: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
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
    InputFileError, AssignmentError
        If the files do not match the metadata.

    Examples
    --------
    >>> parts = dispatch("graph", assignment, "partitions", layout="dgl,ranks")  # doctest: +SKIP
    >>> parts.node_data["paper"]["feat"].mean(axis=0).compute()  # doctest: +SKIP
    """
    how: Any = {"num_parts": num_parts, "storage_options": storage_options, "dispatch_to": dispatch_to}
    with _ending(keywords) as ending:
        outcome = dispatch_job(graph, assignment, out, **how, **keywords)
        ending(len(outcome.part_nbytes), outcome.quality.cut_share, str(outcome.config_path))
    return parts_of(outcome, storage_options)


@with_keywords(stated_options(AssignOptions), stated_options(DispatchOptions), STAGING, RUN)
def partition(
    graph: Graph | Scan | str | os.PathLike[str],
    out: str | os.PathLike[str],
    num_parts: int,
    *,
    storage_options: Mapping[str, Any] | None = None,
    dispatch_to: str | os.PathLike[str] | None = None,
    **keywords: Any,
) -> PartitionedGraph:
    """Partition a graph: give every node an owner and write the parts.

    Parameters
    ----------
    graph : Graph, Scan, path or URL
        A graph or scan, the directory of a chunked graph, or a table of edges.
    out : path or URL
        Output directory: empty or absent, unless `overwrite`. Resumes an unfinished run.
    num_parts : int
        Number of parts.
    storage_options : mapping of str to object, optional
        Credentials and options of stores, as for `fsspec.filesystem`.
    dispatch_to : path, optional
        DGL's `ip_config.txt`, to write each part to the disk of its machine, as in `dispatch`.

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
    with _ending(keywords) as ending:
        outcome = partition_job(graph, out, num_parts, **how, **keywords)
        ending(len(outcome.part_nbytes), outcome.quality.cut_share, str(outcome.config_path))
    return parts_of(outcome, storage_options)


def parts_of(outcome: Outcome, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written, if it is reachable from here."""
    from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions

    if not outcome.unreadable:
        return open_partitions(outcome.config_path, storage_options=storage_options)
    content = PartitionConfig(outcome.graph_name, "metis", 1, outcome.book, ())
    return PartitionedGraph(outcome.config_path, content, False, None, outcome.quality, outcome.unreadable)


@contextmanager
def _ending(keywords: dict[str, Any]) -> Iterator[Callable[[int, float, str], None]]:
    """Show progress, and at the end one line with what was made and how long it took."""
    started = time.monotonic()
    with open_progress(keywords.get("progress")) as listener:
        keywords["progress"] = listener

        def tell(num_parts: int, cut_share: float, where: str) -> None:
            seconds = format_seconds(time.monotonic() - started)
            listener.note(f"{format_number(num_parts, 'part')}, {cut_share:.2%} of edges cut, in {seconds}: {where}")

        yield tell
