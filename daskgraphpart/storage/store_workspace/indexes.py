"""What a process knows of the indexes of pieced files: listed once a pass, and read again only if they have changed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.object_store import version_of
from daskgraphpart.storage.store_objects import content_of, list_below, put_objects, read_objects
from daskgraphpart.storage.store_workspace import pieced_file

if TYPE_CHECKING:
    from upath import UPath

    from daskgraphpart.storage.store import Writes


class Indexes:
    """The indexes below a directory of a store, by the names of their files."""

    def __init__(self, directory: UPath) -> None:
        self._directory = directory
        self._lock = threading.RLock()
        self._created: dict[str, dict[str, Any]] = {}  # not put yet
        self._listed: dict[str, str] | None = None  # versions
        self._parsed: dict[str, tuple[str, pieced_file.PiecedFile]] = {}  # with their versions
        self._number, self._name = -1, ""

    def begin(self, number: int, name: str | None = None) -> None:
        """Look again, if this is another pass than before, by its number or name: files may have changed."""
        with self._lock:
            if number != self._number or name not in (None, self._name):
                self._number, self._name, self._listed = number, name or self._name, None

    def find(self, name: str) -> pieced_file.PiecedFile | None:
        """Return a pieced file, None if there is none."""
        with self._lock:
            if name in self._created:
                return pieced_file.pieces_of(self._created[name])
            if self._listed is None:
                listed = list_below(self._directory).items()
                self._listed = {name: f"{info.get('size')} {version_of(info)}" for name, info in listed}
            version = self._listed.get(name)
            if version is None:
                return None
            known, pieced = self._parsed.get(name, ("", None))
        if pieced is None or known != version:
            path = self._directory / name
            if not (content := content_of(path)):  # a task of this pass has deleted it, and its worker was lost
                self.forget([name])
                return None
            pieced = pieced_file.pieces_of(pieced_file.load_index(content, path))
            self._parsed[name] = version, pieced
        return pieced

    def create(self, name: str, nbytes: int, constants: Sequence[tuple[int, bytes]], number: int) -> None:
        """Create a file, which others see after `put_created`."""
        with self._lock:
            self._created[name] = pieced_file.new_index(nbytes, constants, number)

    def put_created(self) -> None:
        """Let others see all files that were created."""
        with self._lock:
            created, self._created = self._created, {}
        if created:  # else what is listed stays
            self._put(created)

    def add_writes(self, number: int, writes: Sequence[Writes]) -> None:
        """Add what a pass wrote to the indexes of its files."""
        by_file: dict[str, list[tuple[str, list[list[int]]]]] = {}
        for name, places, *_ in writes:
            for path, of_file in places.items():
                by_file.setdefault(path, []).append((name, of_file))
        if not by_file:
            return
        paths = [self._directory / path for path in by_file]
        indexes = map(pieced_file.load_index, read_objects(paths), paths)
        self._put(
            {
                path: pieced_file.with_writes(index, number, of_file)
                for (path, of_file), index in zip(by_file.items(), indexes, strict=True)
            }
        )

    def forget(self, names: Sequence[str]) -> None:
        """Know that indexes were deleted."""
        with self._lock:
            if self._listed is not None:
                for name in names:
                    self._listed.pop(name, None)

    def _put(self, indexes: dict[str, dict[str, Any]]) -> None:
        put_objects({self._directory / path: pieced_file.dump_index(index) for path, index in indexes.items()})
        with self._lock:
            self._listed = None
