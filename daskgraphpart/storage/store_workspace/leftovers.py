"""Name what other runs have left in a workspace: those that were stopped or killed, and not continued."""

from __future__ import annotations

import datetime
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.object_store import OBJECTS, open_store
from daskgraphpart.storage.store_lock import LOCK_DIRECTORY, is_released, notes_of
from daskgraphpart.storage.store_objects import read_objects

if TYPE_CHECKING:
    from upath import UPath

logger = logging.getLogger(__name__)

LIVE = datetime.timedelta(minutes=10)
"""How long ago the lock of a run that lives may have changed, clocks of stores being off by some minutes."""


def name_leftovers(workspace: UPath, own: UPath, prefix: str) -> None:
    """Warn about each directory of a workspace that no run uses, other than one's own."""
    with suppress(GraphPartError):  # a key may not list the workspace
        for name in OBJECTS.list_names(workspace):
            directory = workspace / name
            if name.startswith(prefix) and str(directory) != str(own):
                _name(directory)


def _name(directory: UPath) -> None:
    numbers = [*OBJECTS.list_names(directory / LOCK_DIRECTORY)]
    if not numbers:
        logger.warning("%s: an unfinished run has left these files; delete them if none of yours runs there", directory)
        return
    lock = directory / LOCK_DIRECTORY / numbers[-1]
    (content,) = read_objects([lock])
    with open_store(lock) as fs:
        age = datetime.datetime.now(datetime.UTC) - fs.modified(lock.path)
    if is_released(content) or age > LIVE:
        what = "%s: a run on host %s has not ended, and left these files; run it again to continue, or delete them"
        logger.warning(what, directory, notes_of(content).host)
