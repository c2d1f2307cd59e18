"""Finish the output: bring files to where they belong, take their checksums, let each layout describe its own.

In a local directory files were made in place under temporary names, and are renamed. Stores and the disks of other
machines take files from front to back (pass `export-files`), as does every output if features were staged: these come
out of their zarr arrays, all other files were made in the workspace and are copied. Files appear whole or not at all.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.machines import (
    Destination,
    Machines,
    SentFiles,
    attach_host_to_error,
    check_files,
    claim_machine,
    describe_parts,
    run_on_each,
)
from daskgraphpart.dispatching.output import discard_output
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import ResumeError
from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
from daskgraphpart.storage.atomic import publish_once, temporary_path, whole_file
from daskgraphpart.storage.checksums import FileChecksum, hash_file, read_pieces
from daskgraphpart.storage.files import file_sizes_in, is_file
from daskgraphpart.storage.paths import Location, is_remote, to_key
from daskgraphpart.storage.region import Region
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _typeshed import ReadableBuffer as Buffer
    from upath import UPath

    from daskgraphpart.assignment.report import AssignReport
    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.lay_out import OutputFile, Places
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.quality import Quality
    from daskgraphpart.storage.zarr_arrays import StagedArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Outcome:
    """What came out."""

    config_path: Location  # the partition config, which DGL is given; on each machine, if the parts went to several
    book: PartitionBook  # ranges of new IDs
    quality: Quality  # edge cut, balance, replication
    hosts: tuple[str, ...] | None = None  # machine of each part, if they went to the disks of several
    part_nbytes: tuple[int, ...] = ()  # bytes of the files of each part
    report: AssignReport | None = None  # method, and balance of every constraint; None for owners that were given

    def __repr__(self) -> str:
        parts = format_number(self.book.num_parts, "part")
        return f"<Outcome {self.config_path}: {parts}, {self.quality.cut_share:.1%} of edges cut>"


def finish(job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality, places: Places) -> Outcome:
    """Bring the files of all layouts to where they belong, and describe them; the config of the first is named."""
    complete = partial(_complete, job, sizes, book, quality, places)
    target = Path(job.out) if job.destination is None else job.destination.target
    config = job.layouts[0].descriptions(job.graph.schema)[-1]
    if not isinstance(target, Machines):
        return Outcome(target / config, book, quality, None, tuple(complete()), job.assignment.report)
    # as a whole, because a machine that was lost may come back with another disk
    part_nbytes = job.runner.step("deliver", complete)
    hosts = tuple(target.host_of(part) for part in range(job.num_parts))
    return Outcome(target.path / config, book, quality, hosts, tuple(part_nbytes), job.assignment.report)


def _complete(job: Job, sizes: GraphSizes, book: PartitionBook, quality: Quality, places: Places) -> list[int]:
    """Write and describe all files; return the bytes of each part."""
    flat, staged = places.all_files, places.staged
    _encode(job, flat)
    checksums = _write_here(job, flat, staged) if job.destination is None else _send(job, job.destination, flat, staged)
    id_maps = None
    if job.destination is None and job.graph.id_maps:
        from daskgraphpart.assignment.id_maps import describe_id_maps

        id_maps = describe_id_maps(job.graph, Path(job.out), job.runner)
    for layout, of_layout in places.files.items():
        dispatched = DispatchedGraph(
            out=Path(job.out),
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
            constraints=() if job.assignment.report is None else job.assignment.report.constraints,
        )
        layout.finish(dispatched)
    if job.destination is not None:
        _describe(job, job.destination, {file: checksums[file.path] for file in flat})
    part_nbytes = np.zeros(job.num_parts, np.int64)
    for file in flat:
        part_nbytes[file.part or 0] += checksums[file.path].nbytes
    found: list[int] = part_nbytes.tolist()
    return found


def _encode(job: Job, files: Sequence[OutputFile]) -> None:
    """Write, or complete, the files that need their arrays whole, as these are now."""
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
    """Write one file under its temporary name, and delete its own arrays."""
    out, work = config.out, config.work
    target = Path(temporary_path(f"{out}/{file.path}"))
    source = temporary_path(f"{work.encoded}/{file.path}") if file.layout.encode else str(target)
    if not os.path.exists(source):
        return  # a run that was killed has done it
    target.parent.mkdir(parents=True, exist_ok=True)
    write = file.layout.encode or file.layout.complete
    assert write is not None, "only files that need their arrays whole are units"
    arrays = {name: Region(source, *where) for name, where in file.layout.regions.items()}
    write({**arrays, **file.held}, str(target))
    if file.layout.encode and not work.is_kept:
        os.unlink(source)


def _write_here(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Replace what was there by the files that are complete now under temporary names."""
    checksums = _export(job, [file for file in files if file.is_streamed], staged)
    job.runner.step("discard-old", partial(discard_output, Path(job.out)))
    for file in files:
        publish_once(f"{job.out}/{file.path}")
    made = [file for file in files if not file.is_streamed]
    units = [Unit(f"{job.out}/{file.path}", file.layout.nbytes) for file in made]
    # they are mostly in the page cache still
    found = job.runner.run(Pass("hash-files", hash_file, units, None, (FileChecksum,)))
    return {**checksums, **{file.path: checksum for file, checksum in zip(made, found, strict=True)}}


def _send(
    job: Job, destination: Destination, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]
) -> dict[str, FileChecksum]:
    """Replace what a store or machines have by the files of all parts."""
    if not isinstance(destination.target, Machines):
        job.runner.step("discard-old", partial(discard_output, destination.target))
        return _export(job, files, staged)
    run_on_each("claim-machines", claim_machine, destination.target, destination, job.runner)
    # machines take turns
    return _export(job, sorted(files, key=lambda file: (PurePath(file.name).name, file.part or 0)), staged)


def _describe(job: Job, destination: Destination, sent: Mapping[OutputFile, FileChecksum]) -> None:
    """Compare what was sent with what is there, and send what describes it, the config last."""
    target = destination.target
    if not isinstance(target, Machines):
        from daskgraphpart.storage.upload import upload_file

        _check_sent(target, {file.path: checksum for file, checksum in sent.items()})
        for name in destination.own_names:
            upload_file(f"{job.out}/{name}", target / name)
        return
    checksums: dict[str, dict[str, FileChecksum]] = {host: {} for host in target.distinct}
    for file, checksum in sent.items():
        checksums[target.host_of(file.part)][file.path] = checksum
    sent_files = SentFiles(destination, checksums)
    run_on_each("check-files", check_files, target, sent_files, job.runner)
    run_on_each("describe-parts", describe_parts, target, sent_files, job.runner)


def _check_sent(target: UPath, checksums: Mapping[str, FileChecksum]) -> None:
    """Compare what a store lists with what it was sent, in this run or in an earlier one."""
    for directory in sorted({name.rpartition("/")[0] for name in checksums}):
        found = file_sizes_in(target / directory if directory else target)
        for name, expected in checksums.items():
            parent, _, file = name.rpartition("/")
            if parent == directory and found.get(file) != expected.nbytes:
                raise ResumeError(
                    "a file that was uploaded is not in the store any more",
                    file=target / name,
                    expected=f"{expected.nbytes:,} bytes",
                    found=f"{found[file]:,}" if file in found else "no such file",
                    hint="somebody has changed it; add --restart to start over",
                )


@dataclass(frozen=True, slots=True, eq=False)
class ExportConfig:
    """Directory in which files were made, where they go, and the arrays of features, by name."""

    source: str
    target: Location | Machines
    staged: Mapping[str, StagedArray]
    keeps_source: bool


def _export(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Write files to the destination of a job, or under their temporary names where they belong; return checksums."""
    target = Path(job.out) if job.destination is None else job.destination.target
    machines = target if isinstance(target, Machines) else None
    # what machines lost is sent again
    config = ExportConfig(job.out, target, staged, keeps_source=machines is not None or job.work.is_kept)
    units = [
        Unit(file, file.layout.nbytes, host="" if machines is None else machines.host_of(file.part)) for file in files
    ]
    found = job.runner.run(Pass("export-files", export_file, units, config, (FileChecksum,)))
    return {file.path: checksum for file, checksum in zip(files, found, strict=True)}


def export_file(file: OutputFile, config: ExportConfig) -> FileChecksum:
    """Write one file, and return its size and checksum."""
    import xxhash

    host, directory = "", config.target
    if isinstance(directory, Machines):
        host, directory = directory.host_of(file.part), directory.path
    source = Path(temporary_path(f"{config.source}/{file.path}"))
    target = source if str(directory) == config.source else directory / file.path
    with attach_host_to_error(host):
        if not file.is_streamed and not source.exists() and is_file(target):
            return hash_file(to_key(target))  # a run that was killed has sent it, and deleted it here
        state = xxhash.xxh3_128()
        nbytes = file.layout.nbytes if file.is_streamed else source.stat().st_size
        with _open_whole(target, nbytes) as opened:
            for content in _stream(file, config.staged) if file.is_streamed else read_pieces(str(source)):
                opened.write(content)
                state.update(content)
    if not file.is_streamed and not config.keeps_source:
        source.unlink()
    return FileChecksum(nbytes, state.hexdigest())


@contextmanager
def _open_whole(path: Location, nbytes: int) -> Iterator[Any]:
    """Open a file for writing that appears when it is whole."""
    if is_remote(path):
        from daskgraphpart.storage.upload import open_for_upload

        with open_for_upload(path, nbytes) as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        yield file


def _stream(file: OutputFile, staged: Mapping[str, StagedArray]) -> Iterator[Buffer]:
    """Content of a file from front to back: what a layout says, and the rows of staged arrays."""
    places: list[tuple[int, bytes | str]] = [*file.layout.pieces]
    places += [(offset, name) for name, (offset, _, _) in file.layout.regions.items()]
    for _, content in sorted(places, key=lambda place: place[0]):
        if isinstance(content, bytes):
            yield content
        elif content in staged and file.part is not None:  # not rows of width 0
            dtype = file.layout.regions[content][1]
            for rows in staged[content].blocks(file.part):
                yield np.ascontiguousarray(rows, dtype).reshape(-1).view(np.uint8).data
