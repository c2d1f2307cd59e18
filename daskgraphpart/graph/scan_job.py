"""`ScanJob`: where a scan puts a graph, and by what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class ScanJob:
    """Where a scan puts a graph, and by what.

    Files that go with the graph, such as ID maps, go to `companions`, all others to `directory`; both exist. `on_open`
    is called with all paths once all files are open and checked, before the first is read. With `counts_only`, rows
    that have to be written first need not be, and are not read. Features that are to be `edge_weights` are checked as
    such while their lines are known.
    """

    directory: Path
    runner: Runner
    on_open: Callable[[list[str]], Any] = field(default=lambda _: None)
    counts_only: bool = False
    edge_weights: tuple[str, ...] = ()
    seen: Path | None = None
    """The directory as workers see it, if they do not see `directory`."""

    @property
    def shared(self) -> Path:
        """Directory of the files that tasks write."""
        return self.directory if self.seen is None else self.seen

    @property
    def companions(self) -> Path:
        """Directory of the files that go with the graph."""
        return self.directory / "beside"

    def inner(self, name: str) -> ScanJob:
        """Return the job of another scan that this one reads, in a directory below."""
        seen = None if self.seen is None else self.seen / name
        return replace(self, directory=self.directory / name, seen=seen).started()

    def started(self) -> ScanJob:
        """Make the directories."""
        self.companions.mkdir(parents=True)
        return self
