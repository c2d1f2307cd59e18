"""Finish the output: bring files to where they belong, take their checksums, let each layout describe its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
from upath import UPath

from daskgraphpart.dispatching.export import check_sent, export_files
from daskgraphpart.dispatching.lay_out import OutputFile, files_of
from daskgraphpart.dispatching.machines import (
    Destination,
    Machines,
    SentFiles,
    check_files,
    claim_machine,
    describe_parts,
    run_on_each,
)
from daskgraphpart.dispatching.output import discard_output
from daskgraphpart.engine.plan import Pass
from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
from daskgraphpart.storage.atomic import publish_once
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.upload import upload_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.quality import Quality
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.staged_array import StagedArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome:
    """What came out."""

    config_path: Location  # the partition config, which DGL is given; on each machine, if the parts went to several
    book: PartitionBook  # ranges of new IDs
    quality: Quality  # edge cut, balance, replication
    hosts: tuple[str, ...] | None = None  # machine of each part, if they went to the disks of several
    part_nbytes: tuple[int, ...] | None = None  # bytes of the files of each part, likewise

    def __repr__(self) -> str:
        return f"<Outcome {self.config_path}: {self.book.num_parts} parts, {self.quality.cut_share:.1%} of edges cut>"


def finish(
    job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality, staged: Mapping[str, StagedArray]
) -> Outcome:
    """Bring the files of all layouts to where they belong, and describe them; users are told of the first's config."""

    def complete() -> tuple[str, tuple[int, ...]]:
        return _complete(job, sizes, staged, book, quality)

    target = None if job.destination is None else job.destination.target
    if not isinstance(target, Machines):
        name, part_nbytes = complete()
        return Outcome((Path(job.out) if target is None else target) / name, book, quality, None, part_nbytes)
    # as a whole, because a machine that was lost may come back with another disk
    name, part_nbytes = job.runner.step("deliver", complete)
    hosts = tuple(target.host_of(part) for part in range(job.num_parts))
    return Outcome(target.path / name, book, quality, hosts, tuple(part_nbytes))


def _complete(
    job: Job, sizes: GraphSizes, staged: Mapping[str, StagedArray], book: PartitionBook, quality: Quality
) -> tuple[str, tuple[int, ...]]:
    """Write and describe all files; return the name of the first config, and the bytes of each part."""
    files = [(layout, list(files_of(job, layout, sizes))) for layout in job.layouts]
    in_order = [file for _, of_layout in files for file in of_layout]
    checksums = _write_here(job, in_order, staged) if job.destination is None else _send(job, in_order, staged)
    configs = [
        layout.finish(
            DispatchedGraph(
                out=Path(job.out),
                schema=job.graph.schema,
                book=book,
                quality=quality,
                method=job.assignment.method,
                num_hops=job.options.num_hops,
                out_edges=job.options.out_edges,
                reshuffle=job.options.reshuffle,
                checksums={file.name: checksums[file.name] for file in of_layout},
            )
        ).name
        for layout, of_layout in files
    ]
    if job.destination is not None:
        names = [*(name for name in job.destination.own_names if name not in configs), *configs]
        _describe(job, job.destination, names, {file: checksums[file.name] for file in in_order})
    part_nbytes = np.zeros(job.num_parts, np.int64)
    for file in in_order:
        part_nbytes[max(0, file.part)] += checksums[file.name].nbytes
    return configs[0], tuple(part_nbytes.tolist())


def _write_here(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Replace what was there by the files that are complete now under temporary names."""
    checksums = export_files(job, [file for file in files if file.is_streamed], staged)
    job.runner.step("discard-old", lambda: discard_output(Path(job.out)))
    for file in files:
        publish_once(f"{job.out}/{file.name}")
    names = [file.name for file in files if not file.is_streamed]
    paths = [f"{job.out}/{name}" for name in names]
    nbytes = [file.layout.nbytes for file in files if not file.is_streamed]
    # they are mostly in the page cache still
    found = job.runner.run(Pass("hash-files", hash_file, paths, None, nbytes, (FileChecksum,)))
    return {**checksums, **dict(zip(names, found, strict=True))}


def _send(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Replace what a store or machines have by the files of all parts."""
    destination = job.destination
    assert destination is not None, "files that belong here are not sent"
    if isinstance(destination.target, UPath):
        job.runner.step("discard-old", partial(discard_output, destination.target))
        return export_files(job, files, staged)
    run_on_each("claim-machines", claim_machine, destination.target, destination, job.runner)
    # machines take turns
    return export_files(job, sorted(files, key=lambda file: (PurePath(file.name).name, file.part)), staged)


def _describe(
    job: Job, destination: Destination, names: Sequence[str], sent: Mapping[OutputFile, FileChecksum]
) -> None:
    """Compare what was sent with what is there, and send what describes it, the config last."""
    target = destination.target
    if isinstance(target, UPath):
        check_sent(target, {file.name: checksum for file, checksum in sent.items()})
        for name in names:
            upload_file(f"{job.out}/{name}", target / name)
        return
    checksums: dict[str, dict[str, FileChecksum]] = {host: {} for host in target.distinct}
    for file, checksum in sent.items():
        checksums[target.host_of(file.part)][file.name] = checksum
    sent_files = SentFiles(destination, checksums, names)
    run_on_each("check-files", check_files, target, sent_files, job.runner)
    run_on_each("describe-parts", describe_parts, target, sent_files, job.runner)
