"""Pass `export-files`: write files of parts from front to back, as stores and the disks of other machines take them.

Features come out of their zarr arrays; all other files were made in the workspace, and are copied. Files appear whole
or not at all; their checksums are taken on the way.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from upath import UPath

from daskgraphpart.dispatching.machines import Machines, attach_host_to_error
from daskgraphpart.dispatching.targets import unfinished
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.atomic import TEMPORARY_SUFFIX, whole_file
from daskgraphpart.storage.checksums import FileChecksum, hash_file, read_pieces
from daskgraphpart.storage.files import file_sizes_in, is_file
from daskgraphpart.storage.paths import to_key
from daskgraphpart.storage.upload import open_for_upload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from _typeshed import ReadableBuffer as Buffer

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.lay_out import OutputFile
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.staged_array import StagedArray


@dataclass(frozen=True, slots=True, eq=False)
class ExportConfig:
    """Directory in which files were made, where they go, and the arrays of features, by name."""

    source: str
    target: Location | Machines
    staged: Mapping[str, StagedArray]
    keeps_source: bool


def export_files(job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedArray]) -> dict[str, FileChecksum]:
    """Write files to the destination of a job, or under their temporary names where they belong; return checksums."""
    target = Path(job.out) if job.destination is None else job.destination.target
    hosts = [target.host_of(file.part) for file in files] if isinstance(target, Machines) else None
    # what machines lost is sent again
    config = ExportConfig(job.out, target, staged, keeps_source=isinstance(target, Machines) or job.work.is_kept)
    sizes = [file.layout.nbytes for file in files]
    found = job.runner.run(Pass("export-files", export_file, files, config, sizes, (FileChecksum,), unit_hosts=hosts))
    return {file.name: checksum for file, checksum in zip(files, found, strict=True)}


def export_file(file: OutputFile, config: ExportConfig) -> FileChecksum:
    """Write one file, and return its size and checksum."""
    import xxhash

    host, directory = "", config.target
    if isinstance(directory, Machines):
        host, directory = directory.host_of(file.part), directory.path
    name = f"{file.name}{TEMPORARY_SUFFIX}" if str(directory) == config.source else file.name
    source, target = Path(unfinished(config.source, file.name)), directory / name
    with attach_host_to_error(host):
        if not file.is_streamed and not source.exists() and is_file(target):
            return hash_file(to_key(target))  # a run that was killed has sent it, and deleted it here
        state = xxhash.xxh3_128()
        with _open_whole(target, file.layout.nbytes) as opened:
            for content in _stream(file, config.staged) if file.is_streamed else read_pieces(str(source)):
                opened.write(content)
                state.update(content)
    if not file.is_streamed and not config.keeps_source:
        source.unlink()
    return FileChecksum(file.layout.nbytes, state.hexdigest())


@contextmanager
def _open_whole(path: Location, nbytes: int) -> Iterator[Any]:
    """Open a file for writing that appears when it is whole."""
    if isinstance(path, UPath):
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
        elif content in staged:  # not rows of width 0
            dtype = file.layout.regions[content][1]
            for rows in staged[content].blocks(file.part):
                yield np.ascontiguousarray(rows, dtype).reshape(-1).view(np.uint8).data


def check_sent(target: UPath, checksums: Mapping[str, FileChecksum]) -> None:
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
