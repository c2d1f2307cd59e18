"""The contract of what writes files that cannot be made in place, as in a store or on disks of machines.

Features are staged until then. Files are written from front to back, and appear complete or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    import numpy as np

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.make_files import OutputFile
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.checksums import FileChecksum
    from daskgraphpart.storage.output_lock import OutputLock
    from daskgraphpart.storage.paths import Location
    from daskgraphpart.storage.store_lock import Claim


class StagedRows(Protocol):
    """Rows of a feature of all parts, in the workspace."""

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        ...

    def create(self, name: str) -> None:
        """Create it once."""

    def write(self, part: int, start: int, rows: np.ndarray) -> None:
        """Write rows of a part, from its row `start` on."""


class Exporter(ABC):
    """What stages features, and writes files from front to back.

    `delivery/` has one for the output directory, one for stores, and one for the disks of machines.
    """

    __slots__ = ()

    @abstractmethod
    def stage(
        self, path: str, dtype: np.dtype, row_shape: tuple[int, ...], num_rows: np.ndarray, max_nbytes: int
    ) -> StagedRows:
        """Name rows to stage at a path, `num_rows` (int64) of each part; a task holds at most `max_nbytes`."""

    @abstractmethod
    def export(
        self, job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedRows]
    ) -> dict[str, FileChecksum]:
        """Write files; return checksums by path."""


@dataclass(frozen=True, slots=True)
class Destination(Exporter):
    """A place elsewhere, which takes complete files."""

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

    def hosts_of(self, num_parts: int) -> tuple[str, ...] | None:
        """Machine of each part; None for a store."""
        return tuple(self.hosts[part % len(self.hosts)] for part in range(num_parts)) if self.hosts else None

    def check_parts(self, num_parts: int) -> None:
        """Refuse a number of parts."""
        return

    @abstractmethod
    def check_place(self, cluster: object) -> None:
        """Refuse a place that tasks on this cluster cannot write to."""

    @abstractmethod
    def check_claimable(self, own_names: Sequence[str], overwrite: bool) -> None:
        """Refuse a place that holds something else, as far as can be seen from here."""

    @abstractmethod
    def check(self, runner: Runner) -> None:
        """Check by tasks, before work starts, whether the place can take the parts."""

    @abstractmethod
    def local_directory(self, workspace: str | None) -> Path:
        """Directory here in which to make files, in a workspace that must be given."""

    @abstractmethod
    def clean(self, directory: Path) -> None:
        """Remove that directory, unless the job can resume."""

    @abstractmethod
    def send(self, job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedRows]) -> dict[str, FileChecksum]:
        """Replace what is there by the files of all parts."""

    @abstractmethod
    def describe(self, job: Job, made: Path, sent: Mapping[OutputFile, FileChecksum]) -> None:
        """Check what was sent, then send what describes it, made in a directory here, the config last."""
