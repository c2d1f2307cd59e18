"""Say which store does not answer: libraries of stores wait for minutes, and ask again, without a word."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upath import UPath

logger = logging.getLogger(__name__)

SECONDS_OF_SILENCE = 15.0
"""Between two words about a store."""
_waiting: dict[int, waiting_for] = {}
_watch: threading.Thread | None = None


class waiting_for:  # noqa: N801  # around every request: a generator takes longer than some stores
    """Watch a request to a store, and say so while it is not answered."""

    __slots__ = ("path", "since")

    def __init__(self, path: UPath) -> None:
        self.path, self.since = path, 0.0

    def __enter__(self) -> None:
        """Begin to watch."""
        global _watch
        self.since = time.monotonic()
        _waiting[id(self)] = self
        if _watch is None or not _watch.is_alive():  # also in a fork
            _watch = threading.Thread(target=_tell, daemon=True, name="daskgraphpart-waiting")
            _watch.start()

    def __exit__(self, *_: object) -> None:
        """End."""
        del _waiting[id(self)]


def _tell() -> None:
    """Look now and then which request waits longest."""
    told = 0.0
    while True:
        time.sleep(SECONDS_OF_SILENCE / 4)
        now, calls = time.monotonic(), [*_waiting.values()]
        oldest = min(calls, key=lambda call: call.since, default=None)
        if oldest is not None and now - max(oldest.since, told) >= SECONDS_OF_SILENCE:
            seconds, more = round(now - oldest.since), f", nor to {len(calls) - 1} more requests" * (len(calls) > 1)
            logger.warning("%s: no answer for %d s%s; waiting, and asking again", oldest.path, seconds, more)
            told = now
