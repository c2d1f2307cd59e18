"""Partitions that go to a directory in a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.delivery.export import export
from daskgraphpart.dispatching.destination import Destination, OutputFile
from daskgraphpart.dispatching.output_directory import check_claimable, old_files
from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.checksums import FileChecksum, HashingWriter, hash_file
from daskgraphpart.storage.output_lock import OutputLock, delete_claimed, output_lock
from daskgraphpart.storage.store_objects import versions_below
from daskgraphpart.storage.upload import abort_uploads, check_writable, open_for_upload, upload_file

if TYPE_CHECKING:
    from upath import UPath

    from daskgraphpart.dispatching.delivery.staged_array import StagedArray
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class StoreDestination(Destination):
    """See `Destination`."""

    what = "a store"
    root: UPath

    @contextmanager
    def claimed(self) -> Iterator[tuple[Destination, OutputLock | None]]:
        with output_lock(self.root) as claimed:
            yield replace(self, claim=claimed.claim), claimed

    def check_place(self, cluster: object) -> None:
        check_writable(self.root)

    def check_claimable(self, overwrite: bool) -> None:
        check_claimable(self.root, self.own_names, overwrite)

    def open(self, path: str, nbytes: int) -> AbstractContextManager[HashingWriter]:
        return open_for_upload(self.root / path, nbytes, self.claim)

    def send(
        self, files: Sequence[OutputFile], staged: Mapping[str, StagedArray], runner: Runner
    ) -> dict[str, FileChecksum]:
        runner.step("discard-old", partial(self._discard_old, {file.path for file in files}))
        return export(self.staging, self, files, staged, runner)

    def _discard_old(self, replaced: set[str]) -> None:
        """Delete configs, then the files of partitions that no new one replaces."""
        assert self.claim is not None, "the output was claimed"
        for name in old_files(self.root):
            if name not in replaced:
                delete_claimed(self.root / name, self.claim)

    def describe(self, made: Path, sent: Mapping[OutputFile, FileChecksum], runner: Runner) -> None:
        """Check what is there, send what describes the parts, the config last, and abort what killed runs began."""
        assert self.claim is not None, "the output was claimed"
        _check_sent(self.root, {file.path: checksum for file, checksum in sent.items()})
        for name in self.own_names:
            upload_file(str(made / name), self.root / name, self.claim)
        abort_uploads(self.root, self.claim)


def _check_sent(target: UPath, checksums: Mapping[str, FileChecksum]) -> None:
    """Compare what the store has with what this run or an earlier one sent.

    A task that ran twice may have sent its file again, which has the same content and another version.
    """
    versions = versions_below(target)
    for name, expected in checksums.items():
        is_there = name in versions
        is_same = versions.get(name) == expected.version
        if not is_same and not (is_there and hash_file(target / name) == replace(expected, version="")):
            raise ResumeError(
                f"an uploaded file {'was replaced in' if is_there else 'is missing from'} the store",
                file=target / name,
                expected=expected.version,
                found=versions.get(name, "no such file"),
                hint="add --restart to start over",
            )
