"""The files of an output, and the contract of places elsewhere that take them: stores, and the disks of machines.

These take complete files, written from front to back. Features are staged until then.
"""

from __future__ import annotations

import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.errors import OptionError
from daskgraphpart.storage.lock import LOCK_NAME

if TYPE_CHECKING:
    from daskgraphpart.dispatching.delivery.staged_array import StagedArray
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.layout import FileLayout
    from daskgraphpart.storage.checksums import FileChecksum, HashingWriter
    from daskgraphpart.storage.output_lock import OutputLock
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.region import Region
    from daskgraphpart.storage.store_lock import Claim

STAGING_NAME = ".daskgraphpart-staging"


@dataclass(frozen=True, slots=True, eq=False)
class OutputFile:
    """A file of one layout: `name` below the output, with ``{part}``, or for the whole graph if `part` is None."""

    name: str
    part: int | None
    layout: FileLayout
    is_streamed: bool  # written from front to back from staged arrays
    held: Mapping[str, Region] = field(default_factory=dict)  # arrays in other files from which to encode it

    @property
    def path(self) -> str:
        """Path below the output."""
        return self.name if self.part is None else file_of_part(self.name, self.part)


def file_of_part(name: str, part: int) -> str:
    """Path of a part's file; fills in ``{part}``."""
    return name.replace("{part}", str(part))


@dataclass(frozen=True, slots=True)
class Destination(ABC):
    """A place elsewhere, which takes complete files."""

    what: ClassVar[str]  # for messages
    root: Location  # directory in the store, or on every machine's disk
    staging: str = ""  # directory here in which to make files that are not streamed
    own_names: tuple[str, ...] = ()  # paths of what describes the parts, in writing order
    overwrite: bool = False  # replace partitions there
    claim: Claim | None = None  # what tells tasks whether a store is still that of their run

    def of_job(self, staging: Path, own_names: tuple[str, ...], overwrite: bool) -> Self:
        """Return the destination of a job."""
        return replace(self, staging=str(staging), own_names=own_names, overwrite=overwrite)

    @contextmanager
    def claimed(self) -> Iterator[tuple[Destination, OutputLock | None]]:
        """Take the place for one run, if it is a store."""
        yield self, None

    @property
    def hosts(self) -> tuple[str, ...]:
        """Machines that take parts in turn; none for a store."""
        return ()

    def host_of(self, part: int | None) -> str:
        """Machine of a part, as in DGL's dispatch pipeline; the first for files of the whole graph; "" for a store."""
        return self.hosts[(part or 0) % len(self.hosts)] if self.hosts else ""

    def check_parts(self, num_parts: int) -> None:
        """Refuse a number of parts."""
        return

    @abstractmethod
    def check_place(self, cluster: object) -> None:
        """Refuse a place that tasks on this cluster cannot write to."""

    def check_claimable(self, overwrite: bool) -> None:
        """Refuse a place that holds something else, as far as can be seen from here."""
        return

    def check(self, runner: Runner) -> None:
        """Check by tasks, before work starts, whether a place that cannot be seen from here can take the parts."""
        return

    def local_directory(self, workspace: str | None) -> Path:
        """Directory here in which to make files, in a workspace that must be given."""
        if workspace is None:
            raise OptionError(
                f"partitions for {self.what} need a workspace",
                file=self.root,
                option="workspace",
                expected="a directory that workers and client share, with room for partitions and temporary files",
            )
        of_output = hashlib.sha256(str(self.root).encode()).hexdigest()[:12]
        return Path(workspace).absolute() / f"{STAGING_NAME}-{of_output}"

    def clean(self, directory: Path) -> None:
        """Remove that directory of a finished job; keep it if the job can resume.

        A workspace in it was kept, or a run resumes from it; a lock belongs to another run.
        """
        if not (directory / WORKSPACE_NAME).exists() and not (directory / LOCK_NAME).exists():
            shutil.rmtree(directory, ignore_errors=True)

    @abstractmethod
    def open(self, path: str, nbytes: int) -> AbstractContextManager[HashingWriter]:
        """Open a file at a path below the root for writing so many bytes; it appears once complete."""

    @abstractmethod
    def send(
        self, files: Sequence[OutputFile], staged: Mapping[str, StagedArray], runner: Runner
    ) -> dict[str, FileChecksum]:
        """Replace what is there by the files of all parts; return checksums by path."""

    @abstractmethod
    def describe(self, made: Path, sent: Mapping[OutputFile, FileChecksum], runner: Runner) -> None:
        """Check what was sent, then send what describes it, made in a directory here, the config last."""
