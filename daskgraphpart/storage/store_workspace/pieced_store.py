"""A workspace in an object store, for clusters without a shared disk.

Files have names as on a shared disk, below a root that no machine has. What a task writes as a whole is an object; what
many tasks write at offsets is a pieced file. Rows are read by ranges of bytes; what is looked up at random is copied to
the machine's own disk once, and mapped from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import InputFileNotFoundError, OutputLockedError, ResumeError
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.local_store import LOCAL
from daskgraphpart.storage.object_store import OBJECTS
from daskgraphpart.storage.output_lock import OutputLock, delete_claimed_below, output_lock
from daskgraphpart.storage.paths import is_remote
from daskgraphpart.storage.store import LocalPath, WorkspaceStore, Writes, attached
from daskgraphpart.storage.store_lock import Claim, StoreLock
from daskgraphpart.storage.store_objects import delete_below, read_objects
from daskgraphpart.storage.store_workspace import spool as spools
from daskgraphpart.storage.store_workspace.indexes import Indexes
from daskgraphpart.storage.store_workspace.pieced_file import PiecedFile, read_merged
from daskgraphpart.storage.store_workspace.store_log import LogInStore
from daskgraphpart.storage.store_workspace.traffic import add_to_run, counting_run, counting_task, describe_run
from daskgraphpart.storage.upload import abort_uploads, open_for_upload, upload_file

if TYPE_CHECKING:
    from upath import UPath


FILES, INDEXES, WRITES, LOGS = "files", "indexes", "writes", "logs"
OUTPUT = "output"
"""Directory of names whose whole files are those of the output, at its own place in the store."""
COPIED_NBYTES = 64 << 20
"""Bytes that a copy asks for at a time."""
_copying, _attaching = threading.Lock(), threading.Lock()
_disks: dict[str, str] = {}
"""Directories on this machine's disk by run: no task carries one, for it may run on another machine."""
_of_runs: dict[str, Indexes] = {}
"""Indexes as this process knows them, by run."""


@dataclass(frozen=True, slots=True, eq=False)
class PiecedStore(WorkspaceStore):
    """The workspace of a run in a directory of an object store; its names begin with `root`."""

    root: str
    run: str
    store: UPath
    out: UPath
    number: int = 0  # of the pass that runs, as in the journal
    needed: tuple[int, int, int] = (0, 0, 0)  # bytes of a worker's disk: for maps, per thread, to partition
    claim: Claim | None = None  # on the output
    held: Claim | None = None  # on the workspace

    def attach(self, directory: str | None = None) -> None:
        """Let this process find the files by name, with copies in a directory of this machine, which stays."""
        with _attaching:
            known = attached.get(self.root)
            if isinstance(known, PiecedStore) and known.run != self.run:  # the client of an earlier run was killed
                known.forget()
                del _disks[known.run]
            disk = os.path.join(directory or tempfile.gettempdir(), f"daskgraphpart-{self.run}")
            os.makedirs(_disks.setdefault(self.run, disk), 0o700, True)
            attached[self.root] = self

    def detach(self) -> None:
        """Let no name lead here any more, and delete copies on this machine."""
        with _attaching:
            attached.pop(self.root, None)
            self.forget()
            del _disks[self.run]

    def forget(self) -> None:
        shutil.rmtree(_disks.get(self.run, ""), ignore_errors=True)
        _of_runs.pop(self.run, None)

    @contextmanager
    def claimed(self) -> Iterator[tuple[PiecedStore, OutputLock]]:
        """Take the output for one run, and let this run write to it."""
        with output_lock(self.out) as lock:
            store = replace(self, claim=lock.claim)
            store.attach()
            yield store, lock

    def at_pass(self, number: int) -> PiecedStore:
        return replace(self, number=number)

    def note_needs(self, for_maps: int, per_thread: int, to_partition: int) -> None:
        replace(self, needed=(for_maps, per_thread, to_partition)).attach()

    def disk_nbytes(self, num_threads: int) -> int:
        for_maps, per_thread, to_partition = self.needed
        return max(to_partition, for_maps + per_thread * num_threads)

    @property
    def output(self) -> Path:
        """Directory of names of the output's files; what is written there as a whole is complete output."""
        return Path(self.root) / OUTPUT

    def shown_name(self, path: LocalPath) -> str:
        first, _, rest = self._relative(path).partition("/")
        return f"{self.out}/{rest}".rstrip("/") if first == OUTPUT else f"{self.store}/{self._relative(path)}"

    def place_of(self, path: Path | UPath) -> Path | UPath:
        """Return where a file of the output lies, in the store; any other path as it is."""
        is_output = not is_remote(path) and path.is_relative_to(self.output)
        return self._place(FILES, str(path)) if is_output else path

    # files written as a whole

    @contextmanager
    def whole_file(self, path: LocalPath) -> Iterator[str]:
        """Yield a name on this machine's disk; what is written there becomes the file."""
        temporary = self._temporary()
        try:
            yield temporary
            self._check_held()
            upload_file(temporary, self._place(FILES, path), self._claim_on(path))
            if (spool := spools.running_spool()) is not None:
                with attach_path_to_error(temporary), open(temporary, "rb") as file:
                    spool.others.append(spools.describe(self._relative(path), {}, spools.digest_file(file)))
        finally:
            with suppress(OSError):
                os.unlink(temporary)

    @contextmanager
    def changed_file(self, path: LocalPath) -> Iterator[str]:
        """Yield a copy of a file on this machine's disk; what is there in the end becomes the file, as a whole."""
        with self.whole_file(path) as temporary:
            self._copy_to(temporary, path)
            yield temporary
        OBJECTS.delete_files([self._place(INDEXES, path)])
        self._indexes().forget([self._relative(path)])

    # files written at offsets

    def create(
        self, path: LocalPath, nbytes: int, constants: Sequence[tuple[int, bytes]], *, is_mapped: bool = False
    ) -> None:
        self._indexes().create(self._relative(path), nbytes, constants, self.number)

    def write(self, path: LocalPath, offset: int, content: memoryview) -> None:
        spool = spools.running_spool()
        assert spool is not None, "only tasks and steps write at offsets of files in a store"
        spool.write(self._relative(path), offset, content)

    @contextmanager
    def gathered_writes(self, name: str) -> Iterator[list[Writes]]:
        """Send the writes of a task as one object at the end, and fill the list: what they are, and what was asked."""
        gathered: list[Writes] = []
        with spools.spooling(self._disk) as spool, counting_task(self.store) as asked:
            self._indexes().begin(self.number, name.rpartition("/")[0] or name)
            yield gathered
            self._indexes().put_created()
            gathered += spool.others
            if spool.nbytes:  # an object of its own, whatever other runs write
                digest = spools.Digest()
                with open_for_upload(self.store / WRITES / name, spool.nbytes) as sent:
                    for part in spools.in_parts(spool.contents()):
                        sent.write(digest.add(part))
                gathered.append(spool.writes(name, digest.written()))
        gathered.append([dict(asked)])

    def settle(self, gathered: Sequence[Writes]) -> Sequence[Writes]:
        """Add what a task asked to this run, and what it wrote to the step of which it is; return what it wrote."""
        *writes, (asked,) = gathered
        add_to_run(self.run, asked)
        if (spool := spools.running_spool()) is not None:
            spool.others += writes
        return writes

    def suspects(self, writes: Mapping[int, Sequence[Writes]]) -> list[tuple[int, Any]]:
        """Return what the store does not list as killed runs wrote it, by pass: bytes, and what `check` takes."""
        written = {
            self.store / WRITES / name if places else self._place(FILES, f"{self.root}/{name}"): spools.Written(*what)
            for name, places, *what in chain.from_iterable(writes.values())
        }
        changed = spools.not_as_listed([self.store, self.out], written) if written else []
        return [(expected.nbytes, (path, expected)) for path, expected in changed]

    def check(self, suspect: tuple[UPath, spools.Written]) -> None:
        spools.check_written(*suspect)

    def describe_traffic(self) -> str:
        """Name requests and bytes of this run; empty if they were not counted."""
        return describe_run(self.run)

    def add_writes(self, number: int, writes: Sequence[Writes]) -> None:
        self._indexes().add_writes(number, writes)

    # reading

    def kind(self, path: LocalPath) -> str | None:
        """Return ``"file"`` or None: there are no directories."""
        return None if self.signature(path) is None else "file"

    def size(self, path: LocalPath) -> int:
        signature = self.signature(path)
        if signature is None:
            raise self._is_gone(path)
        return signature[0]

    def signature(self, path: LocalPath) -> tuple[int, str] | None:
        if (pieced := self._pieced(path)) is not None:
            return pieced.nbytes, pieced.version
        return OBJECTS.signature(self._place(FILES, path))

    def list_names(self, path: LocalPath) -> dict[str, int | None]:
        """List a directory: sorted names, with sizes of whole files and None for all others."""
        names = dict.fromkeys(OBJECTS.list_names(self._place(INDEXES, path)))
        return dict(sorted({**names, **OBJECTS.list_names(self._place(FILES, path))}.items()))

    def read_into(self, buffer: memoryview, path: LocalPath, offset: int) -> None:
        if not len(buffer):
            return
        try:
            if (pieced := self._pieced(path)) is not None:
                pieced.read_into(buffer, offset, partial(read_merged, self.store / WRITES))
            else:
                OBJECTS.read_into(buffer, self._place(FILES, path), offset)
        except InputFileNotFoundError as fault:
            raise self._is_gone(path) from fault

    def local_copy(self, path: LocalPath, *, is_final: bool = False) -> str:
        directory = f"{self._disk}/copies/{_short_hash(os.fspath(path))}"
        if is_final and (names := LOCAL.list_names(directory)):
            return f"{directory}/{next(iter(names))}"
        copy = f"{directory}/{_short_hash(repr(self.signature(path)))}"
        with _copying:
            if not os.path.isfile(copy):
                temporary = self._temporary()
                self._copy_to(temporary, path)
                shutil.rmtree(directory, ignore_errors=True)  # other versions
                os.makedirs(directory, exist_ok=True)
                os.replace(temporary, copy)
        return copy

    @contextmanager
    def directory_on_disk(self, path: LocalPath) -> Iterator[Path]:
        directory = tempfile.mkdtemp(dir=self._disk)
        try:
            yield Path(directory)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    # deleting

    def delete_files(self, paths: Sequence[LocalPath]) -> None:
        """Delete files, here and in the store."""
        for path in filter(self._claim_on, paths):
            self.delete_tree(path)
        of_job = [path for path in paths if not self._claim_on(path)]
        OBJECTS.delete_files([self._place(kind, path) for path in of_job for kind in (FILES, INDEXES)])
        self._indexes().forget([self._relative(path) for path in paths])
        for path in paths:
            shutil.rmtree(f"{self._disk}/copies/{_short_hash(os.fspath(path))}", ignore_errors=True)

    def delete_tree(self, path: LocalPath) -> None:
        if (claim := self._claim_on(path)) is not None:
            delete_claimed_below(self._place(FILES, path), claim)
        for kind in (FILES, INDEXES) if claim is None else ():
            delete_below(self._place(kind, path))

    def remove(self, root: str, kept: str = "") -> None:
        """Delete everything in the workspace, the logs last."""
        if kept:
            return
        if self.held is not None:
            abort_uploads(self.store, self.held)
        for kind in (FILES, INDEXES, WRITES, LOGS):
            delete_below(self.store / kind)

    # what only the client has

    def open_log(self, path: LocalPath) -> LogInStore:
        return LogInStore(self._place(LOGS, path), self._check_held)

    def read_log(self, path: LocalPath) -> bytes | None:
        log = self._place(LOGS, path)
        return b"".join(read_objects([log / name for name in OBJECTS.list_names(log)])) or None

    def lock(self, directory: Path) -> StoreLock:
        lock = StoreLock(self.store)
        replace(self, held=lock.claim).attach()
        return lock

    @property
    def _disk(self) -> str:
        """Where this machine keeps copies, and writes what is not in the store yet."""
        return _disks[self.run]

    def _temporary(self) -> str:
        return f"{self._disk}/{uuid.uuid4().hex}"

    def _relative(self, path: LocalPath) -> str:
        return os.fspath(path)[len(self.root) + 1 :]

    def _place(self, kind: str, path: LocalPath) -> UPath:
        relative = self._relative(path)
        first, _, rest = relative.partition("/")
        return self.out / rest if kind == FILES and first == OUTPUT else self.store / kind / relative

    def _check_held(self) -> None:
        """Raise `OutputLockedError` if another run has taken the workspace: its files have the same names."""
        if self.held is not None:
            self.held.check()

    def _claim_on(self, path: LocalPath) -> Claim | None:
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

    def _pieced(self, path: LocalPath) -> PiecedFile | None:
        return self._indexes().find(self._relative(path))

    def _is_gone(self, path: LocalPath) -> ResumeError:
        what, hint = "a file of the unfinished run is gone", "add --restart to start over"
        return ResumeError(what, file=self.shown_name(path), hint=hint)

    def _copy_to(self, target: str, path: LocalPath) -> None:
        nbytes = self.size(path)
        with attach_path_to_error(target), open(target, "wb") as file:
            for start in range(0, nbytes, COPIED_NBYTES):
                piece = bytearray(min(COPIED_NBYTES, nbytes - start))
                self.read_into(memoryview(piece), path, start)
                file.write(piece)


@contextmanager
def pieced_store(store: UPath, out: UPath) -> Iterator[PiecedStore]:
    """Attach the workspace in a directory of a store for one run of a job with an output."""
    run = uuid.uuid4().hex[:12]
    workspace = PiecedStore(f"/{store.protocol}:/{store.path.strip('/')}", run, store, out)
    if workspace.root in attached:
        hint = "wait until it ends, or choose another output directory"
        raise OutputLockedError("another run of this process is writing here", file=store, hint=hint)
    workspace.attach()
    try:
        with counting_run(store, run):
            yield workspace
    finally:
        workspace.detach()


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
