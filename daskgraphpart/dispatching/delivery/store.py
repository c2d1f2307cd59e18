"""Partitions that go to a directory in a store."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.delivery.export import ZarrExporter, remove_staging, staging_directory
from daskgraphpart.dispatching.destination import Destination
from daskgraphpart.dispatching.output_directory import check_claimable, discard_output
from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.files import file_sizes_in
from daskgraphpart.storage.paths import is_remote
from daskgraphpart.storage.upload import abort_uploads, check_writable, upload_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from upath import UPath

    from daskgraphpart.dispatching.destination import StagedRows
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.lay_out import OutputFile
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.checksums import FileChecksum


@dataclass(frozen=True, slots=True)
class Store(ZarrExporter, Destination):
    """See `Destination`."""

    @property
    def directory(self) -> UPath:
        """Directory in the store."""
        assert is_remote(self.root), "it is in a store"
        return self.root

    def check_place(self, cluster: object) -> None:
        """Refuse a store that takes no files."""
        check_writable(self.directory)

    def check_claimable(self, own_names: Sequence[str], overwrite: bool) -> None:
        """Refuse a place that holds something else."""
        check_claimable(self.root, own_names, overwrite)

    def check(self, runner: Runner) -> None:
        """Need no task: all has been seen from here."""

    def local_directory(self, workspace: str | None) -> Path:
        """Name the directory in which files are made."""
        return staging_directory(self.root, "a store", workspace)

    def clean(self, directory: Path) -> None:
        """Remove that directory."""
        remove_staging(directory)

    def send(self, job: Job, files: Sequence[OutputFile], staged: Mapping[str, StagedRows]) -> dict[str, FileChecksum]:
        """Replace what the store has by the files of all parts."""
        job.runner.step("discard-old", partial(discard_output, self.root))
        return self.export(job, files, staged)

    def describe(self, job: Job, made: Path, sent: Mapping[OutputFile, FileChecksum]) -> None:
        """Check the listing, send what describes the parts, the config last, and abort what killed runs began."""
        _check_sent(self.directory, {file.path: checksum for file, checksum in sent.items()})
        for name in self.own_names:
            upload_file(str(made / name), self.directory / name)
        abort_uploads(self.directory, {*self.own_names, *(file.path for file in sent)})


def _check_sent(target: UPath, checksums: Mapping[str, FileChecksum]) -> None:
    """Compare a store's listing with what this run or an earlier one sent."""
    for directory in sorted({name.rpartition("/")[0] for name in checksums}):
        sizes = file_sizes_in(target / directory if directory else target)
        for name, expected in checksums.items():
            parent, _, file = name.rpartition("/")
            if parent == directory and sizes.get(file) != expected.nbytes:
                raise ResumeError(
                    "an uploaded file is missing from the store",
                    file=target / name,
                    expected=f"{expected.nbytes:,} bytes",
                    found=f"{sizes[file]:,}" if file in sizes else "no such file",
                    hint="add --restart to start over",
                )
