"""Finish the output: move files into place, take checksums, let each layout describe its own.

Local files, made in place under temporary names, are renamed. For stores, other machines or staged features, they are
written from front to back. Files appear complete or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.output_directory import discard_output
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.ids.hash_id_maps import describe_id_maps
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.layouts.known_outputs import ID_MAP
from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes, Layout
from daskgraphpart.layouts.manifest import describe_files
from daskgraphpart.storage.atomic import publish_once, temporary_path, write_bytes
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.files import delete_file, directory_on_disk, is_file, make_directory, workspace_store
from daskgraphpart.storage.region import Region
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from daskgraphpart.dispatching.delivery.staged_array import StagedArray
    from daskgraphpart.dispatching.destination import OutputFile
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.make_files import Places
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.partitioner.assign_report import AssignReport
    from daskgraphpart.quality import Quality
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JobResult:
    """Result of a dispatch."""

    config_path: Location  # the partition config for DGL; with several machines, on each
    graph_name: str
    book: PartitionBook  # ranges of new IDs
    quality: Quality  # edge cut, balance, replication
    hosts: tuple[str, ...] | None = None  # machine of each part, if there are several
    part_nbytes: tuple[int, ...] = ()  # size of each part's files
    report: AssignReport | None = None  # method and balance of every constraint; None for given owners
    unreadable: str = ""  # what to do instead of opening the partitions here
    traffic: str = ""  # requests and bytes, for people, if a store held the workspace

    def __repr__(self) -> str:
        parts = format_number(self.book.num_parts, "part")
        return f"<JobResult {self.config_path}: {parts}, {self.quality.cut_share:.1%} of edges cut>"


def finish(job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality, places: Places) -> JobResult:
    """Move the files of all layouts into place and describe them; return the first layout's config."""
    complete, elsewhere = partial(_complete, job, sizes, book, quality, places), job.destination
    hosts = None
    if elsewhere is not None and elsewhere.hosts:
        hosts = tuple(map(elsewhere.host_of, range(job.num_parts)))
    # all in one, because a lost machine may return with another disk
    part_nbytes = complete() if hosts is None else job.runner.step("deliver", complete)
    config = job.layouts[0].config(job.graph.schema.name)
    path, name = (Path(job.out) if elsewhere is None else elsewhere.root) / config, job.graph.schema.name
    hint = _why_unreadable(job, hosts)
    return JobResult(path, name, book, quality, hosts, tuple(part_nbytes), job.assignment.measured, hint)


def _why_unreadable(job: Job, hosts: tuple[str, ...] | None) -> str:
    """Say what to do where `open_partitions` cannot open the output."""
    if hosts is not None:
        return "each part is on its own machine; copy them to one place and use open_partitions"
    if not job.options.reshuffle:
        return "use load_partition, which reads partitions that keep their IDs"
    if not job.options.graphs:
        return f"the layout {', '.join(job.options.layout)} cannot be opened; add dgl to --layout"
    return ""


def _complete(job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality, places: Places) -> list[int]:
    """Write and describe all files; return the bytes of each part."""
    flat, staged = places.all_files, places.staged
    encode_files(job, flat)
    elsewhere = job.destination
    checksums = _write_here(job, flat, staged) if elsewhere is None else elsewhere.send(flat, staged, job.runner)
    beside = {path: sum_of for path, sum_of in checksums.items() if path.startswith(f"{ID_MAP}/")}
    id_maps = None
    if beside:  # ID maps of tables go with the partitions
        named = {path.removeprefix(f"{ID_MAP}/").removesuffix(".parquet"): path for path in beside}
        id_maps = IdMaps(ID_MAP, {ntype: beside[path].digest for ntype, path in named.items()})
    elif elsewhere is None and job.graph.id_maps:
        id_maps = describe_id_maps(job.graph.id_maps, Path(job.out), job.runner)
    with directory_on_disk(job.out) as out:
        for layout, of_layout in reversed([*places.files.items()]):  # by the first layout's config partitions are whole
            dispatched = DispatchedGraph(
                out=out,
                sizes=sizes,
                book=book,
                quality=quality,
                method=job.assignment.method,
                num_hops=job.options.num_hops,
                out_edges=job.options.out_edges,
                reshuffle=job.options.reshuffle,
                checksums={file.path: checksums[file.path] for file in of_layout},
                id_maps=id_maps,
                mapped_features=job.options.mapped_features,
                training=job.assignment.training,
                constraints=() if job.assignment.measured is None else job.assignment.measured.constraints,
            )
            describe_layout(layout, dispatched)
        if elsewhere is not None:
            elsewhere.describe(out, {file: checksums[file.path] for file in flat}, job.runner)
    part_nbytes = np.zeros(job.num_parts, np.int64)
    for file in flat:
        part_nbytes[file.part or 0] += checksums[file.path].nbytes
    return part_nbytes.tolist()


def describe_layout(layout: Layout, dispatched: DispatchedGraph) -> None:
    """Write what describes the files of a layout, the config last."""
    out = dispatched.out
    for path, target in layout.links().items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # left by a killed run
            os.symlink(target, out / path)
    for path, content in describe_files(layout, dispatched).items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(out / path, content)


def encode_files(job: Job, files: Sequence[OutputFile]) -> None:
    """Write, or complete, the files that need whole arrays."""
    units = [
        Unit(file, file.layout.nbytes + sum(region.nbytes for region in file.held.values()))
        for file in files
        if file.layout.encode or file.layout.complete
    ]
    job.runner.run(Pass("encode-files", encode_file, units, EncodeConfig(job.out, job.work)))


@dataclass(frozen=True, slots=True)
class EncodeConfig:
    """The output directory, and the workspace."""

    out: str
    work: Workspace


def encode_file(file: OutputFile, config: EncodeConfig) -> None:
    """Write one file under its temporary name, and delete its arrays."""
    out, work = config.out, config.work
    target = Path(temporary_path(f"{out}/{file.path}"))
    source = temporary_path(f"{work.encoded}/{file.path}") if file.layout.encode else str(target)
    if not is_file(source):
        return  # done by a killed run
    make_directory(target.parent)
    write = file.layout.encode or file.layout.complete
    assert write is not None, "only files that need their arrays whole are units"
    arrays = {name: Region(source, *where) for name, where in file.layout.regions.items()}
    if file.layout.complete:
        with workspace_store(target).changed_file(target) as place:
            write({**arrays, **file.held}, place)
        return
    write({**arrays, **file.held}, str(target))
    if not work.is_kept:
        delete_file(source)


def _write_here(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Replace the old files by the completed temporary ones."""
    checksums: dict[str, FileChecksum] = {}
    if streamed := [file for file in files if file.is_streamed]:
        from daskgraphpart.dispatching.delivery.export import export  # for few jobs

        checksums = export(job.out, None, streamed, staged, job.runner)
    job.runner.step("discard-old", partial(discard_output, Path(job.out)))
    return {**checksums, **publish_files(job, files)}


def publish_files(job: Job, files: Sequence[OutputFile]) -> dict[str, FileChecksum]:
    """Give complete files their names; return checksums of those that were not streamed."""
    for file in files:
        publish_once(f"{job.out}/{file.path}")
    made = [file for file in files if not file.is_streamed]
    units = [Unit(f"{job.out}/{file.path}", file.layout.nbytes) for file in made]
    # mostly still in the page cache
    checked = job.runner.run(Pass("hash-files", hash_file, units, None, (FileChecksum,)))
    return {file.path: checksum for file, checksum in zip(made, checked, strict=True)}
