"""One listener for tests: it notes what a job does and says, and stops it at a pass."""

from __future__ import annotations

from inside import SilentProgress


class Stopped(Exception):  # noqa: N818
    """What a job is stopped by, as if it had been killed."""


class Listener(SilentProgress):
    """Notes the passes that begin (`begun`), and lines (`lines`); stops where a pass begins, or when one is done."""

    def __init__(self, stop_at: str = "", stop_after: str = "") -> None:
        self.stop_at, self.stop_after = stop_at, stop_after
        self.begun: list[str] = []
        self.lines: list[str] = []

    def begin(self, name: str, num_units: int, nbytes: int, num_rows: int = 0) -> None:
        self.begun.append(name)
        if name == self.stop_at:
            raise Stopped

    def end(self) -> None:
        if self.begun[-1] == self.stop_after:
            raise Stopped

    def note(self, text: str) -> None:
        self.lines.append(text)
