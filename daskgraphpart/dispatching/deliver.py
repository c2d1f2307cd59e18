"""Write files from front to back: to a store, to other machines' disks, or from staged arrays.

Pass `export-files`. Files appear complete or not at all; a rerun sends only what is missing.
"""

from __future__ import annotations

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
from daskgraphpart.dispatching.output_directory import discard_output
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.atomic import temporary_path, whole_file
from daskgraphpart.storage.checksums import FileChecksum, hash_file, read_pieces
from daskgraphpart.storage.files import delete_file, file_size, file_sizes_in, is_file
from daskgraphpart.storage.paths import Location, is_remote, to_key
from daskgraphpart.storage.upload import open_for_upload, upload_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _typeshed import ReadableBuffer as Buffer
    from upath import UPath

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.lay_out import OutputFile
    from daskgraphpart.storage.zarr_arrays import StagedArray


def send(
    job: Job, destination: Destination, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]
) -> dict[str, FileChecksum]:
    """Replace what the store or machines have by the files of all parts."""
    if not isinstance(destination.target, Machines):
        job.runner.step("discard-old", partial(discard_output, destination.target))
        return export(job, files, staged)
    run_on_each("claim-machines", claim_machine, destination.target, destination, job.runner)
    # machines take turns
    return export(job, sorted(files, key=lambda file: (PurePath(file.name).name, file.part or 0)), staged)


def describe(job: Job, destination: Destination, made: Path, sent: Mapping[OutputFile, FileChecksum]) -> None:
    """Check what was sent, then send what describes it, made in a directory here, the config last."""
    target = destination.target
    if not isinstance(target, Machines):
        _check_sent(target, {file.path: checksum for file, checksum in sent.items()})
        for name in destination.own_names:
            upload_file(str(made / name), target / name)
        return
    checksums: dict[str, dict[str, FileChecksum]] = {host: {} for host in target.distinct}
    for file, checksum in sent.items():
        checksums[target.host_of(file.part)][file.path] = checksum
    sent_files = SentFiles(destination, checksums)
    run_on_each("check-files", check_files, target, sent_files, job.runner)
    run_on_each("describe-parts", describe_parts, target, sent_files, job.runner)


def _check_sent(target: UPath, checksums: Mapping[str, FileChecksum]) -> None:
    """Compare a store's listing with what this run or an earlier one sent."""
    for directory in sorted({name.rpartition("/")[0] for name in checksums}):
        found = file_sizes_in(target / directory if directory else target)
        for name, expected in checksums.items():
            parent, _, file = name.rpartition("/")
            if parent == directory and found.get(file) != expected.nbytes:
                raise ResumeError(
                    "an uploaded file is missing from the store",
                    file=target / name,
                    expected=f"{expected.nbytes:,} bytes",
                    found=f"{found[file]:,}" if file in found else "no such file",
                    hint="add --restart to start over",
                )


@dataclass(frozen=True, slots=True, eq=False)
class ExportConfig:
    """Local directory of the files, their destination, and the arrays of features by name."""

    source: str
    target: Location | Machines
    staged: Mapping[str, StagedArray]
    keeps_source: bool


def export(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Write files to the destination, or in place under temporary names; return checksums."""
    target = Path(job.out) if job.destination is None else job.destination.target
    machines = target if isinstance(target, Machines) else None
    # send again what machines have lost
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
        if not file.is_streamed and not is_file(source) and is_file(target):
            return hash_file(to_key(target))  # a killed run has sent it and deleted it here
        state = xxhash.xxh3_128()
        nbytes = file.layout.nbytes if file.is_streamed else file_size(source)
        with _open_whole(target, nbytes) as opened:
            for content in _stream(file, config.staged) if file.is_streamed else read_pieces(str(source)):
                opened.write(content)
                state.update(content)
    if not file.is_streamed and not config.keeps_source:
        delete_file(source)
    return FileChecksum(nbytes, state.hexdigest())


@contextmanager
def _open_whole(path: Location, nbytes: int) -> Iterator[Any]:
    """Open a file for writing that appears once complete."""
    if is_remote(path):
        with open_for_upload(path, nbytes) as file:
            yield file
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        yield file


def _stream(file: OutputFile, staged: Mapping[str, StagedArray]) -> Iterator[Buffer]:
    """Content of a file from front to back: the layout's bytes, and rows of staged arrays."""
    places: list[tuple[int, bytes | str]] = [*file.layout.pieces]
    places += [(offset, name) for name, (offset, _, _) in file.layout.regions.items()]
    for _, content in sorted(places, key=lambda place: place[0]):
        if isinstance(content, bytes):
            yield content
        elif content in staged and file.part is not None:  # not rows of width 0
            dtype = file.layout.regions[content][1]
            for rows in staged[content].blocks(file.part):
                yield np.ascontiguousarray(rows, dtype).reshape(-1).view(np.uint8).data
