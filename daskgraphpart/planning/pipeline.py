"""From metadata, headers and options to a plan: the job is rehearsed, and what was noted is summed up."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.assignment import Assignment, create_owner_files
from daskgraphpart.assignment.hierarchy import with_trainers, write_trainers
from daskgraphpart.assignment.methods.random import assign_random_pass
from daskgraphpart.assignment.options import METHODS
from daskgraphpart.assignment.owner_parts import write_owners
from daskgraphpart.assignment.pipeline import prepare_task
from daskgraphpart.assignment.read_files import read_assignment
from daskgraphpart.dispatching.job import Job
from daskgraphpart.dispatching.lay_out import INT64, features_layout, orig_ids_layout, part_graph_layout
from daskgraphpart.dispatching.pipeline import move_graph
from daskgraphpart.dispatching.sizes import choose_sizes
from daskgraphpart.dispatching.split_nids import mask_keys
from daskgraphpart.layouts.dgl_tensor_file import tensor_file_layout
from daskgraphpart.layouts.file_layout import ArraySpec
from daskgraphpart.planning.assumptions import Assumptions, assumptions_for
from daskgraphpart.planning.expectations import Expectations
from daskgraphpart.planning.levels import sizes_of
from daskgraphpart.planning.rehearsal import Rehearsal, RehearsedWorkspace
from daskgraphpart.planning.solving import Solver, rehearse_solving
from daskgraphpart.planning.summing import Facts, sum_up
from daskgraphpart.planning.traffic import OUTPUT, Traffic
from daskgraphpart.storage.region import npy_region

if TYPE_CHECKING:
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.dispatching.pipeline import Moved
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is planned.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    num_parts : int
        Number of parts.
    owners : AssignOptions or Assignment
        How nodes will get their owners, or the owners they have.
    options : DispatchOptions
        What is written.
    resources : Resources
        What may be used, limited to what the memory carries.
    out : Path
        Where the partitions would go, or the nearest place that is known.
    """

    graph: ChunkedGraph
    num_parts: int
    owners: AssignOptions | Assignment
    options: DispatchOptions
    resources: Resources
    out: Path


def make_plan(wanted: Wanted) -> Plan:
    """Rehearse a job and sum up what it would do.

    Nothing of the data is read: counts come from metadata, headers and footers.

    Parameters
    ----------
    wanted : Wanted
        The job.
    """
    assumed = _assumed(wanted)
    files = {file.path: file for file in wanted.graph.files}
    answers = {"read-parmetis": wanted.num_parts}
    runner = Rehearsal(wanted.resources, Expectations(wanted.graph, assumed), files, answers)
    # for empty directories; no file is written
    directory = Path(tempfile.mkdtemp(prefix="daskgraphpart-plan-"))
    try:
        assignment, why = _rehearse_assignment(wanted, directory, runner)
        output_nbytes = _rehearse_dispatch(wanted, assignment, directory, runner)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    adjacent = not isinstance(wanted.owners, Assignment) and wanted.owners.needs_adjacency
    stated = assumed.text(assignment.method, adjacent, wanted.options.num_hops)
    return sum_up(
        runner, Facts(wanted.graph, wanted.num_parts, wanted.out, (assignment.method, why), stated, output_nbytes)
    )


def _assumed(wanted: Wanted) -> Assumptions:
    if isinstance(wanted.owners, Assignment):
        report = wanted.owners.report
        if report is None:
            return assumptions_for(wanted.num_parts, wanted.owners.method)
        known = "as the assignment's report says"
        return Assumptions(wanted.num_parts, report.cut_share, report.volume, known)
    method = wanted.owners.method
    return assumptions_for(wanted.num_parts, method)


def _rehearse_assignment(wanted: Wanted, directory: Path, runner: Rehearsal) -> tuple[Assignment, str]:
    """Rehearse `assignment.pipeline.assign_nodes` for a job that goes on to dispatch; the owners, and why so."""
    if isinstance(wanted.owners, Assignment):
        return wanted.owners, "it is given"
    options, schema = wanted.owners, wanted.graph.schema
    total = wanted.num_parts * options.trainers
    given = None
    if options.method == "random":
        owners = create_owner_files(directory / "given", schema, total, runner)
        runner.run(assign_random_pass(owners, total, options.seed, options.fill_parts))
        given = Assignment(total, "random", owners)
    elif options.method not in METHODS:
        (directory / "given").mkdir()
        given = read_assignment(options.method, schema, directory / "given", runner, wanted.num_parts)
    if given is not None and not options.needs_adjacency and options.trainers == 1:
        return given, "asked for"
    task = prepare_task(wanted.graph, total, options, directory / "adjacency", runner)
    method, why, _ = rehearse_solving(task, given, runner)
    parts = npy_region(directory / "parts.npy", np.int32, (schema.num_nodes,))
    owners = create_owner_files(directory, schema, wanted.num_parts, runner)
    write_owners(parts, owners, options.trainers, runner)
    Solver(runner, total).measure(sizes_of(task), len(task.reported.columns))
    trainers = write_trainers(parts, schema, directory, runner) if options.trainers > 1 else {}
    runner.disk.remove("adjacency", "solving")
    return Assignment(wanted.num_parts, method, owners, None, trainers), why


def _rehearse_dispatch(wanted: Wanted, assignment: Assignment, directory: Path, runner: Rehearsal) -> int:
    """Rehearse the dispatch; return the size of its output in bytes."""
    graph = wanted.graph
    if assignment.trainers:
        graph = with_trainers(graph, assignment.trainers, directory / "trainers", runner)
    work = RehearsedWorkspace(str(directory), disk=runner.disk)
    out = str(directory / "out")
    job = Job(graph, assignment, out, wanted.options, choose_sizes(runner.resources), work, runner)
    moved = move_graph(job)
    sizes = _file_sizes(job, moved, runner.num_extra_edges)
    if not wanted.options.reshuffle:
        _note_keeping_ids(job, moved, runner)
    output_nbytes = sum(sizes)
    runner.note_pass("hash-files", (len(sizes), output_nbytes), Traffic(output_nbytes, {}, 4 << 20))
    return output_nbytes


def _file_sizes(job: Job, moved: Moved, num_extra_edges: int) -> list[int]:
    """Sizes of all files of all parts, from the layouts they would get; masks share out the nodes of their type."""
    schema, book, quality = job.graph.schema, moved.book, moved.quality
    nodes, edges = (ranges[:, :, 1] - ranges[:, :, 0] for ranges in (book.node_ranges, book.edge_ranges))
    sizes = []
    for part in range(job.num_parts):
        held = quality.num_owned_edges[part] + num_extra_edges // job.num_parts
        layouts = (
            part_graph_layout(job, (quality.num_inner_nodes[part] + quality.num_halo_nodes[part], held)),
            features_layout(schema.node_types, nodes[part]),
            features_layout(schema.edge_types, edges[part]),
            orig_ids_layout(schema.ntypes, nodes[part]),
            orig_ids_layout(schema.etypes, edges[part]),
        )
        sizes += [layout.nbytes for layout in layouts]
        if moved.has_splits:
            masks = mask_keys(schema)
            shares = [nodes[part, schema.ntypes.index(t)] // sum(of == t for of, _ in masks) for t, _ in masks]
            specs = [ArraySpec(f"{t}/{name}", INT64, (int(n),)) for (t, name), n in zip(masks, shares, strict=True)]
            sizes.append(tensor_file_layout(specs).nbytes)
    return sizes


def _note_keeping_ids(job: Job, moved: Moved, runner: Rehearsal) -> None:
    """Note the two passes that give nodes and edges their original IDs back."""
    held = sum(moved.quality.num_inner_nodes) + sum(moved.quality.num_halo_nodes) + sum(moved.quality.num_owned_edges)
    nbytes = 8 * (held + runner.num_extra_edges)
    units = max(1, held >> 20)
    runner.note_pass("keep-ids", (units, nbytes), Traffic(nbytes, {"kept": nbytes}, 32 << 20))
    maps = 8 * (job.graph.schema.num_nodes + job.graph.schema.num_edges)
    written = {OUTPUT: nbytes + maps}
    runner.note_pass("place-ids", (units, nbytes + maps), Traffic(nbytes + maps // 8, written, 16 << 20))
