"""An output in a store belongs to one run, which holds the lock in it.

In S3, each file of an output is an upload in parts, and the lock is asked for before it is completed. A run that takes
the output aborts what others have begun to send, so that nothing they had under way can appear any more, whether they
sleep, have lost their network or are dead. (Committers of Hadoop do the same.) Elsewhere a run asks for the lock before
each write, and a request that is then under way may still arrive.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from daskgraphpart.errors import GraphPartError, InputFileNotFoundError
from daskgraphpart.storage.atomic import DELETED_FORMAT
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.object_store import open_store
from daskgraphpart.storage.store_lock import Claim, StoreLock
from daskgraphpart.storage.store_objects import delete_version, is_s3, list_below, place_in_s3
from daskgraphpart.storage.upload import PROBE, abort_uploads, open_for_upload

if TYPE_CHECKING:
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
        if not _abort_uploads_of_others(self.directory, self.claim) and self.is_after_silence:
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


def _abort_uploads_of_others(directory: UPath, claim: Claim) -> bool:
    """Abort all uploads below an output; return whether the store has shown them, which is tried with one."""
    own: dict[str, str] = {}
    with suppress(GraphPartError), open_store(directory) as fs:
        if is_s3(fs):
            place = place_in_s3(fs, directory / PROBE)
            own = {**place, "UploadId": fs.call_s3("create_multipart_upload", **place)["UploadId"]}
    if not own:
        return False
    if any(own["UploadId"] in abort_uploads(directory, claim, is_listing_all=it) for it in (False, True)):
        return True
    with suppress(GraphPartError), open_store(directory) as fs:
        fs.abort_mpu(own["Bucket"], own["Key"], own["UploadId"])
    return False


def delete_claimed(path: UPath, claim: Claim) -> None:
    """Delete a file of an output.

    In S3 it is first replaced by something unique. So a request to delete it, which may arrive late, cannot meet what
    another run has written since, even if that is the same file again.
    """
    with suppress(InputFileNotFoundError), open_store(path) as fs:
        if not is_s3(fs):
            claim.check()
            fs.rm_file(path.path)
            return
    content = json.dumps({"format": DELETED_FORMAT, "token": secrets.token_hex(8)}).encode()
    with open_for_upload(path, len(content), claim) as file:
        file.write(content)
    delete_version(path, file.version)


def delete_claimed_below(directory: UPath, claim: Claim) -> None:
    """Delete all files of an output below a directory, or one of that name."""
    for name in list_below(directory):
        delete_claimed(directory / name if name else directory, claim)
