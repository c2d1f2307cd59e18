"""Write files from front to back: to a store, to other machines' disks, or from staged arrays.

Pass `export-files`. Files appear complete or not at all; a rerun sends only what the journal does not know as sent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.atomic import temporary_path, whole_file
from daskgraphpart.storage.checksums import FileChecksum, HashingWriter, read_pieces
from daskgraphpart.storage.files import file_size

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

    from daskgraphpart.dispatching.delivery.staged_array import StagedArray
    from daskgraphpart.dispatching.destination import Destination, OutputFile


@dataclass(frozen=True, slots=True, eq=False)
class ExportConfig:
    """Local directory of the files, where they go if not there, and arrays of features."""

    source: str
    destination: Destination | None
    staged: Mapping[str, StagedArray]


def export(
    source: str,
    destination: Destination | None,
    files: Sequence[OutputFile],
    staged: Mapping[str, StagedArray],
    runner: Runner,
) -> dict[str, FileChecksum]:
    """Write files to a destination, or in place under temporary names; return checksums by path."""
    units = [
        Unit(file, file.layout.nbytes, host="" if destination is None else destination.host_of(file.part))
        for file in files
    ]
    config = ExportConfig(source, destination, staged)
    exported = runner.run(Pass("export-files", export_file, units, config, (FileChecksum,)))
    return {file.path: checksum for file, checksum in zip(files, exported, strict=True)}


def export_file(file: OutputFile, config: ExportConfig) -> FileChecksum:
    """Write one file, and return its size and checksum."""
    destination, source = config.destination, Path(temporary_path(f"{config.source}/{file.path}"))
    with attach_host_to_error("" if destination is None else destination.host_of(file.part)):
        nbytes = file.layout.nbytes if file.is_streamed else file_size(source)
        with open_whole(source) if destination is None else destination.open(file.path, nbytes) as opened:
            for content in _stream(file, config.staged) if file.is_streamed else read_pieces(str(source)):
                opened.write(content)
    return opened.checksum


@contextmanager
def open_whole(path: Path) -> Iterator[HashingWriter]:
    """Open a file on this machine's disk for writing that appears once complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        yield HashingWriter(file)


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
