"""An output in a store belongs to one run, which holds the lock in it.

In S3, each file of an output is an upload in parts, and the lock is asked for before it is completed. A run that takes
the output aborts what others have begun to send, so that nothing they had under way can appear any more, whether they
sleep, have lost their network or are dead. (Committers of Hadoop do the same.) Elsewhere a run asks for the lock before
each write, and a request that is then under way may still arrive.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.store_lock import StoreLock
from daskgraphpart.storage.upload import abort_all_uploads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

logger = logging.getLogger(__name__)


class OutputLock(StoreLock):
    """The lock in an output; `is_kept` says that the run can be continued, and leaves its notes."""

    def __init__(self, out: UPath) -> None:
        super().__init__(out, LOCK_NAME)
        self.is_kept = False

    def commit(self) -> None:
        """Let nobody continue what earlier holders have left, nor finish what they have begun to send."""
        if self.is_committed:
            return
        super().commit()
        if not abort_all_uploads(self.directory, self.claim) and self.is_after_silence:
            logger.warning(
                "%s: the run before has not ended, and this store does not let us abort what it sends: make sure that"
                " it is dead; if it only sleeps, one more file of it may arrive",
                self.directory,
            )


@contextmanager
def output_lock(out: UPath) -> Iterator[OutputLock]:
    """Take an output in a store for one run."""
    lock = OutputLock(out)
    try:
        yield lock
        lock.commit()
    finally:
        lock.release(keep_notes=lock.is_kept)
