"""Write files from front to back: to a store, to other machines' disks, or from staged arrays.

Pass `export-files`. Files appear complete or not at all; a rerun sends only what the journal does not know as sent.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.delivery.staged_array import StagedArray
from daskgraphpart.dispatching.destination import Exporter
from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.errors import GraphPartError, OptionError
from daskgraphpart.storage.atomic import temporary_path, whole_file
from daskgraphpart.storage.checksums import FileChecksum, read_pieces
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.paths import Location, is_remote
from daskgraphpart.storage.upload import open_for_upload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _typeshed import ReadableBuffer as Buffer

    from daskgraphpart.dispatching.destination import StagedRows
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.make_files import OutputFile
    from daskgraphpart.storage.store_lock import Claim

STAGING_NAME = ".daskgraphpart-staging"


class ZarrExporter(Exporter):
    """Stages features in zarr arrays; writes to the output directory."""

    __slots__ = ()

    def stage(
        self, path: str, dtype: np.dtype, row_shape: tuple[int, ...], num_rows: np.ndarray, max_nbytes: int
    ) -> StagedRows:
        """Name a zarr array."""
        return StagedArray.of(path, dtype, row_shape, num_rows, max_nbytes)

    def export(
        self, job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedRows]
    ) -> dict[str, FileChecksum]:
        """Write files in place under temporary names, or to the destination; return checksums."""
        return export(job, files, staged)


@dataclass(frozen=True, slots=True, eq=False)
class ExportConfig:
    """Local directory of the files, where they go, on which machines in turn, arrays of features, claim on a store."""

    source: str
    root: Location
    hosts: tuple[str, ...]
    staged: Mapping[str, StagedArray]
    claim: Claim | None


def host_of(hosts: Sequence[str], part: int | None) -> str:
    """Machine of a part, as in DGL's dispatch pipeline; the first for files of the whole graph; "" without machines."""
    return hosts[(part or 0) % len(hosts)] if hosts else ""


def export(job: Job, files: Sequence[OutputFile], staged: Mapping[str, Any]) -> dict[str, FileChecksum]:
    """Write files to the destination, or in place under temporary names; return checksums."""
    elsewhere = job.destination
    root, hosts, claim = (
        (Path(job.out), (), None) if elsewhere is None else (elsewhere.root, elsewhere.hosts, elsewhere.claim)
    )
    config = ExportConfig(job.out, root, hosts, staged, claim)
    units = [Unit(file, file.layout.nbytes, host=host_of(hosts, file.part)) for file in files]
    exported = job.runner.run(Pass("export-files", export_file, units, config, (FileChecksum,)))
    return {file.path: checksum for file, checksum in zip(files, exported, strict=True)}


def export_file(file: OutputFile, config: ExportConfig) -> FileChecksum:
    """Write one file, and return its size and checksum."""
    import xxhash

    host, directory = host_of(config.hosts, file.part), config.root
    source = Path(temporary_path(f"{config.source}/{file.path}"))
    target = source if str(directory) == config.source else directory / file.path
    with attach_host_to_error(host):
        state = xxhash.xxh3_128()
        nbytes = file.layout.nbytes if file.is_streamed else file_size(source)
        with _open_whole(target, nbytes, config.claim) as opened:
            for content in _stream(file, config.staged) if file.is_streamed else read_pieces(str(source)):
                opened.write(content)
                state.update(content)
    return FileChecksum(nbytes, state.hexdigest(), getattr(opened, "version", ""))


@contextmanager
def _open_whole(path: Location, nbytes: int, claim: Claim | None) -> Iterator[Any]:
    """Open a file for writing that appears once complete."""
    if is_remote(path):
        with open_for_upload(path, nbytes, claim) as file:
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


@contextmanager
def attach_host_to_error(host: str) -> Iterator[None]:
    """Put the machine, if any, before the file: ``10.0.0.2:/data/part1/graph.dgl``."""
    try:
        yield
    except GraphPartError as fault:
        if not host:
            raise
        raise fault.restated(type(fault), file=f"{host}:{fault.file or ''}") from fault
    except OSError as fault:
        if host and fault.filename is not None:
            fault.filename = f"{host}:{os.fsdecode(fault.filename)}"
        raise


def staging_directory(target: Location, what: str, workspace: str | None) -> Path:
    """Name the local directory in which to make files for a store or machines."""
    if workspace is None:
        raise OptionError(
            f"partitions for {what} need a workspace",
            file=target,
            option="workspace",
            expected="a directory that workers and client share, with room for partitions and temporary files",
        )
    of_output = hashlib.sha256(str(target).encode()).hexdigest()[:12]
    return Path(workspace).absolute() / f"{STAGING_NAME}-{of_output}"


def remove_staging(directory: Path) -> None:
    """Remove a finished job's staging directory; keep it if the job can resume.

    A workspace in it was kept, or a run resumes from it; a lock belongs to another run.
    """
    if not (directory / WORKSPACE_NAME).exists() and not (directory / LOCK_NAME).exists():
        shutil.rmtree(directory, ignore_errors=True)
