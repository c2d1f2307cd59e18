"""A depot: the files of a job whose machines share a store, and no disk.

Files have names as on a shared disk, below a root that no machine has. What a task writes as a whole is an object; what
many tasks write at offsets is a pieced file. Rows are read by ranges of bytes; what is looked up at random is copied to
the machine's own disk once, and mapped from there.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import threading
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from daskgraphpart.errors import InputFileNotFoundError, OutputLockedError, ResumeError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.mounts import Depot, Writes, depot_of, mount, unmount
from daskgraphpart.storage.output_lock import delete_claimed_below
from daskgraphpart.storage.paths import is_remote
from daskgraphpart.storage.store_lock import StoreLock
from daskgraphpart.storage.store_objects import delete_below, delete_objects
from daskgraphpart.storage.store_workspace.digests import Digest, Written, digest_file, in_parts, not_as_listed
from daskgraphpart.storage.store_workspace.indexes import Indexes
from daskgraphpart.storage.store_workspace.merge_ranges import cut_ranges, merge_ranges
from daskgraphpart.storage.store_workspace.spool import describe, running_spool, spooling
from daskgraphpart.storage.store_workspace.store_log import LogInStore, read_log_in_store
from daskgraphpart.storage.store_workspace.traffic import add_to_run, counting_run, counting_task, describe_run
from daskgraphpart.storage.stores import (
    BUFFER_NBYTES,
    MAX_REQUEST_NBYTES,
    MAX_REQUESTS,
    StoreFile,
    list_in_store,
    open_in_store,
    open_store,
    read_ranges,
    signature_in_store,
    size_in_store,
    wrong_number_of_bytes,
)
from daskgraphpart.storage.upload import abort_uploads, open_for_upload, upload_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from upath import UPath

    from daskgraphpart.storage.store_lock import Claim
    from daskgraphpart.storage.store_workspace.pieced_file import PiecedFile, Request

FILES, INDEXES, WRITES, LOGS = "files", "indexes", "writes", "logs"
OUTPUT = "output"
"""Directory of names whose whole files are those of the output, at its own place in the store."""
COPIED_NBYTES = 64 << 20
"""Bytes that a copy asks for at a time."""
MAX_RANGES = 64
"""Ranges of objects that are asked for at a time."""
_copying = threading.Lock()
_of_runs: dict[str, Indexes] = {}
"""Indexes as this process knows them, by run."""


@dataclass(frozen=True, slots=True, eq=False)
class StoreDepot(Depot):
    """A depot in a directory of a store."""

    store: UPath = field(kw_only=True)
    out: UPath = field(kw_only=True)
    claim: Claim | None = field(default=None, kw_only=True)
    held: Claim | None = field(default=None, kw_only=True)  # on the workspace

    def with_claim(self, claim: Claim) -> StoreDepot:
        """Let this run write to the output by its claim."""
        depot = replace(self, claim=claim)
        mount(depot)
        return depot

    @property
    def output(self) -> Path:
        """Directory of names of the output's files; what is written there as a whole is complete output."""
        return Path(self.root) / OUTPUT

    def forget(self) -> None:
        """Delete what this machine has, and forget what this process knows."""
        Depot.forget(self)
        _of_runs.pop(self.run, None)

    def url_of(self, path: str) -> str:
        """Name a file or directory for people."""
        first, _, rest = self._relative(path).partition("/")
        return f"{self.out}/{rest}".rstrip("/") if first == OUTPUT else f"{self.store}{path[len(self.root) :]}"

    def place_of(self, path: Path | UPath) -> Path | UPath:
        """Return where a file of the output lies, in the store; any other path as it is."""
        is_output = not is_remote(path) and path.is_relative_to(self.output)
        return self._place(FILES, str(path)) if is_output else path

    # files written as a whole

    @contextmanager
    def whole_file(self, path: str) -> Iterator[str]:
        """Yield a name on this machine's disk; what is written there becomes the file."""
        temporary = self._temporary()
        try:
            yield temporary
            self._check_held()
            upload_file(temporary, self._place(FILES, path), self._claim_on(path))
            if (spool := running_spool()) is not None:
                with attach_path_to_error(temporary), open(temporary, "rb") as file:
                    spool.others.append(describe(self._relative(path), {}, digest_file(file)))
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    @contextmanager
    def changed_file(self, path: str) -> Iterator[str]:
        """Yield a copy of a file on this machine's disk; what is there in the end becomes the file, as a whole."""
        with self.whole_file(path) as temporary:
            self._copy_to(temporary, path)
            yield temporary
        delete_objects([self._place(INDEXES, path)])
        self._indexes().forget([self._relative(path)])

    # files written at offsets

    def create(self, path: str, nbytes: int, constants: Sequence[tuple[int, bytes]]) -> None:
        """Create a file of a known size for tasks to fill."""
        self._indexes().create(self._relative(path), nbytes, constants, self.number)

    def write(self, path: str, offset: int, content: memoryview) -> None:
        """Write to a file at an offset, as part of the running task."""
        spool = running_spool()
        assert spool is not None, "only tasks and steps write at offsets of files in a depot"
        spool.write(self._relative(path), offset, content)

    @contextmanager
    def gathered_writes(self, name: str) -> Iterator[list[Writes]]:
        """Send the writes of a task as one object at the end, and fill the list: what they are, and what was asked."""
        told: list[Writes] = []
        with spooling(self.disk) as spool, counting_task(self.store) as asked:
            self._indexes().begin(self.number, name.rpartition("/")[0] or name)
            yield told
            self._indexes().put_created()
            told += spool.others
            if spool.nbytes:  # an object of its own, whatever other runs write
                digest = Digest()
                with open_for_upload(self.store / WRITES / name, spool.nbytes) as sent:
                    for part in in_parts(spool.contents()):
                        sent.write(digest.add(part))
                told.append(spool.writes(name, digest.written()))
        told.append([dict(asked)])

    def settle(self, told: Sequence[Writes]) -> Sequence[Writes]:
        """Add what a task asked to this run, and what it wrote to the step of which it is; return what it wrote."""
        *writes, (asked,) = told
        add_to_run(self.run, asked)
        if (spool := running_spool()) is not None:
            spool.others += writes
        return writes

    def suspects(self, writes: Mapping[int, Sequence[Writes]]) -> list[tuple[int, Any]]:
        """Return what the store does not list as killed runs wrote it, by pass: bytes, and what `check` takes."""
        written = {
            self.store / WRITES / name if places else self._place(FILES, f"{self.root}/{name}"): Written(*what)
            for name, places, *what in chain.from_iterable(writes.values())
        }
        changed = not_as_listed([self.store, self.out], written) if written else []
        return [(expected.nbytes, (path, expected)) for path, expected in changed]

    def check(self, suspect: tuple[UPath, Written]) -> None:
        """Read an object; `ResumeError` if it is not what a killed run wrote."""
        path, expected = suspect
        with open_in_store(path) as file:
            there = digest_file(file)
        if there != expected:
            what, hint = "an unfinished run wrote this file, and it has changed since", "add --restart to start over"
            raise ResumeError(what, file=path, expected=str(expected), found=str(there), hint=hint)

    def describe_traffic(self) -> str:
        """Name requests and bytes of this run; empty if they were not counted."""
        return describe_run(self.run)

    def add_writes(self, number: int, writes: Sequence[Writes]) -> None:
        """Add what a pass wrote to the indexes of its files."""
        self._indexes().add_writes(number, writes)

    # reading

    def size(self, path: str) -> int | None:
        """Return the size of a file, None if there is none."""
        if (pieced := self._pieced(path)) is not None:
            return pieced.nbytes
        with suppress(InputFileNotFoundError):
            return size_in_store(self._place(FILES, path))
        return None

    def existing_size(self, path: str) -> int:
        """Return the size of a file; `ResumeError` if there is none."""
        nbytes = self.size(path)
        if nbytes is None:
            raise self._is_gone(path)
        return nbytes

    def list_names(self, path: str) -> dict[str, int | None]:
        """List a directory: sorted names, with sizes of whole files and None for all others."""
        names = dict.fromkeys(list_in_store(self._place(INDEXES, path)))
        return dict(sorted({**names, **list_in_store(self._place(FILES, path))}.items()))

    def read_into(self, buffer: memoryview, path: str, offset: int) -> None:
        """Fill a buffer from an offset of a file; `ResumeError` if there is none."""
        if not len(buffer):
            return
        with self._expected(path):
            if (pieced := self._pieced(path)) is not None:
                pieced.read_into(buffer, offset, self._read_ranges)
            else:
                _read_object(buffer, self._place(FILES, path), offset)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading bytes; `ResumeError` if there is none."""
        with self._expected(path):
            raw = OpenPieces(self, path) if self._pieced(path) else StoreFile(self._place(FILES, path))
        return cast("BinaryIO", io.BufferedReader(raw, BUFFER_NBYTES))

    def copy_here(self, path: str) -> str:
        """Copy a file to this machine's disk, unless it is there, and return its name there."""
        pieced = self._pieced(path)
        version = repr(signature_in_store(self._place(FILES, path))) if pieced is None else pieced.version
        directory = f"{self.disk}/copies/{_short_hash(path)}"
        copy = f"{directory}/{_short_hash(version)}"
        with _copying:
            if not os.path.isfile(copy):
                temporary = self._temporary()
                self._copy_to(temporary, path)
                shutil.rmtree(directory, ignore_errors=True)  # other versions
                os.makedirs(directory, exist_ok=True)
                os.replace(temporary, copy)
        return copy

    # deleting

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete files, here and in the store."""
        for path in filter(self._claim_on, paths):
            self.delete_tree(path)
        of_job = [path for path in paths if not self._claim_on(path)]
        delete_objects([self._place(kind, path) for path in of_job for kind in (FILES, INDEXES)])
        self._indexes().forget([self._relative(path) for path in paths])
        for path in paths:
            shutil.rmtree(f"{self.disk}/copies/{_short_hash(path)}", ignore_errors=True)

    def delete_tree(self, path: str) -> None:
        """Delete all files below a directory of the store."""
        if (claim := self._claim_on(path)) is not None:
            delete_claimed_below(self._place(FILES, path), claim)
        for kind in (FILES, INDEXES) if claim is None else ():
            delete_below(self._place(kind, path))

    def delete_all(self) -> None:
        """Delete everything in the store, the logs last."""
        if self.held is not None:
            abort_uploads(self.store, self.held)
        for kind in (FILES, INDEXES, WRITES, LOGS):
            delete_below(self.store / kind)

    # what only the client has

    def open_log(self, path: str) -> LogInStore:
        """Open a log for appending."""
        return LogInStore(self._place(LOGS, path), self._check_held)

    def read_log(self, path: str) -> bytes | None:
        """Read a log, None if there is none."""
        return read_log_in_store(self._place(LOGS, path))

    def lock(self) -> StoreLock:
        """Take the lock of the job; `OutputLockedError` if another run holds it."""
        lock = StoreLock(self.store)
        mount(replace(self, held=lock.claim))
        return lock

    def _temporary(self) -> str:
        return f"{self.disk}/{uuid.uuid4().hex}"

    def _relative(self, path: str) -> str:
        return path[len(self.root) + 1 :]

    def _place(self, kind: str, path: str) -> UPath:
        relative = self._relative(path)
        first, _, rest = relative.partition("/")
        return self.out / rest if kind == FILES and first == OUTPUT else self.store / kind / relative

    def _check_held(self) -> None:
        """Raise `OutputLockedError` if another run has taken the workspace: its files have the same names."""
        if self.held is not None:
            self.held.check()

    def _claim_on(self, path: str) -> Claim | None:
        """Return the claim by which a file of the output is written, None for all other files."""
        if self._relative(path).partition("/")[0] != OUTPUT:
            return None
        assert self.claim is not None, "the output was claimed"
        return self.claim

    def _indexes(self) -> Indexes:
        if (indexes := _of_runs.get(self.run)) is None:
            indexes = _of_runs.setdefault(self.run, Indexes(self.store / INDEXES))
        indexes.begin(self.number)
        return indexes

    def _pieced(self, path: str) -> PiecedFile | None:
        return self._indexes().find(self._relative(path))

    @contextmanager
    def _expected(self, path: str) -> Iterator[None]:
        try:
            yield
        except InputFileNotFoundError as fault:
            raise self._is_gone(path) from fault

    def _is_gone(self, path: str) -> ResumeError:
        what, hint = "a file of the unfinished run is gone", "add --restart to start over"
        return ResumeError(what, file=self.url_of(path), hint=hint)

    def _copy_to(self, target: str, path: str) -> None:
        nbytes = self.existing_size(path)
        with attach_path_to_error(target), open(target, "wb") as file:
            for start in range(0, nbytes, COPIED_NBYTES):
                piece = bytearray(min(COPIED_NBYTES, nbytes - start))
                self.read_into(memoryview(piece), path, start)
                file.write(piece)

    def _read_ranges(self, requests: Sequence[Request]) -> list[memoryview]:
        """Read ranges of objects of writes, some at a time; neighbours are one request."""
        spans = merge_ranges(requests)
        contents: list[bytes] = []
        directory = self.store / WRITES
        for first in range(0, len(spans), MAX_RANGES):
            names, starts, stops = ([*column] for column in zip(*spans[first : first + MAX_RANGES], strict=True))
            with open_store(directory) as fs:
                paths = [f"{directory.path}/{name}" for name in names]
                contents += fs.cat_ranges(paths, starts, stops, on_error="raise")
        for content, (name, start, stop) in zip(contents, spans, strict=True):
            if len(content) != stop - start:
                raise wrong_number_of_bytes(directory / name, stop - start, len(content))
        return cut_ranges(requests, spans, contents)


@contextmanager
def mounted_depot(store: UPath, out: UPath) -> Iterator[StoreDepot]:
    """Mount the depot of a directory in a store for one run of a job with an output."""
    run = uuid.uuid4().hex[:12]
    depot = StoreDepot(f"/{store.protocol}:/{store.path.strip('/')}", run, store=store, out=out)
    if depot_of(f"{depot.root}/") is not None:
        hint = "wait until it ends, or choose another output directory"
        raise OutputLockedError("another run of this process is writing here", file=store, hint=hint)
    mount(depot)
    try:
        with counting_run(store, run):
            yield depot
    finally:
        unmount(depot)


def _read_object(buffer: memoryview, path: UPath, offset: int) -> None:
    """Fill a buffer from an offset of an object, by several requests at a time."""
    starts = range(0, len(buffer), MAX_REQUEST_NBYTES)
    for batch in range(0, len(starts), MAX_REQUESTS):
        firsts = starts[batch : batch + MAX_REQUESTS]
        stops = [min(first + MAX_REQUEST_NBYTES, len(buffer)) for first in firsts]
        contents = read_ranges(path, [offset + first for first in firsts], [offset + stop for stop in stops])
        for first, stop, content in zip(firsts, stops, contents, strict=True):
            buffer[first:stop] = content


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class OpenPieces(StoreFile):
    """A pieced file, open for reading."""

    def __init__(self, depot: StoreDepot, path: str) -> None:
        self.depot, self.name = depot, path
        self.size, self._position = depot.existing_size(path), 0

    def readinto(self, buffer: object) -> int:
        """Fill a buffer up to the end of the file; return the number of bytes."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        view = view[: max(0, min(len(view), self.size - self._position))]
        self.depot.read_into(view, self.name, self._position)
        self._position += len(view)
        return len(view)
