"""Send a file to a store: in one piece or in many, so that it appears whole or not at all.

Small files are one request, which stores take as a whole. Large ones are an upload in several parts (of S3) or its
like; it is given up if anything fails. While it runs, its name is noted in a file of ours, so that one that was left by
a process that was killed can be given up later: nothing but what is noted is ever given up, because others may have
uploads in the same bucket.
"""

from __future__ import annotations

import json
import logging
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, InputFileNotFoundError
from daskgraphpart.remote.store import filesystem, size_of, store_faults

if TYPE_CHECKING:
    from typing import BinaryIO

    from daskgraphpart.remote.name import StoredName

logger = logging.getLogger(__name__)

WHOLE_NBYTES = 8 << 20
"""Largest file that is sent with one request; the smallest part of one that is not. S3 wants 5 MiB at least."""

READ_NBYTES = 1 << 20
PROBE_NAME = ".daskgraphpart-probe"
MOST_PARTS = 9_000  # S3 takes 10,000


def upload_file(path: str, url: StoredName, note: str) -> int:
    """Send a local file to a store, and ask the store how large it is there.

    Holds two parts of the file, 16 MiB for files of up to 70 GB.

    Parameters
    ----------
    path : str
        The file.
    url : StoredName
        Where it goes; what is there is replaced.
    note : str
        Local file that names an upload in parts while it runs.

    Returns
    -------
    int
        Bytes of the file.

    Raises
    ------
    EnvironmentFaultError
        If the store fails, or has another number of bytes. There is no file of that name then, as far as the store
        can be reached.
    """
    abort_noted(note, url)
    fs, nbytes = filesystem(url), os.stat(path).st_size
    try:
        with open(path, "rb") as file, store_faults(url):
            if nbytes <= WHOLE_NBYTES:
                fs.pipe_file(url, file.read())
            else:
                _send_in_parts(fs, file, nbytes, url, note)
        found = size_of(url)
    except InputFileNotFoundError as fault:  # a bucket that is gone is not a mistake in the input
        raise EnvironmentFaultError(
            "the store does not take a file", file=str(url), found=fault.found, hint="is the bucket still there?"
        ) from fault
    if found != nbytes:
        with suppress(Exception):
            fs.rm_file(url)
        raise EnvironmentFaultError(
            "the store has another number of bytes than it was sent",
            file=str(url),
            expected=f"{nbytes:,}",
            found=f"{found:,}",
        )
    return nbytes


def check_writable(url: StoredName) -> None:
    """Find out before work starts whether a directory may be written to; of S3 only, where the question leaves nothing.

    Raises
    ------
    EnvironmentFaultError
        If the store refuses to begin an upload in parts, which is given up at once.
    """
    fs = filesystem(url)
    if not hasattr(fs, "call_s3"):
        return
    with store_faults(url):
        bucket, key, _ = fs.split_path(f"{url}/{PROBE_NAME}")
        upload = fs.call_s3("create_multipart_upload", Bucket=bucket, Key=key)
        fs.abort_mpu(bucket, key, upload["UploadId"])


def _send_in_parts(fs: Any, file: BinaryIO, nbytes: int, url: StoredName, note: str) -> None:
    part = max(WHOLE_NBYTES, -(-nbytes // (MOST_PARTS << 20)) << 20)
    target = fs.open(url, "wb", block_size=part, autocommit=False)
    try:
        while content := file.read(READ_NBYTES):
            target.write(content)
            _take_note(target, note)
        target.close()
        target.commit()
    except BaseException:
        if _give_up(fs, target, url):
            _unlink(note)
        raise
    _unlink(note)


def _give_up(fs: Any, target: Any, url: StoredName) -> bool:
    """End an upload that has failed, without hiding why; tell whether it was possible."""
    is_ended = True
    try:
        target.discard()
    except Exception as fault:
        is_ended = False
        logger.warning("%s: an unfinished upload could not be given up yet: %s", url, fault)
    with suppress(Exception):  # its finaliser would finish it
        target.closed = True
    if not getattr(target, "parts", None):  # a store without uploads in parts shows what has come so far
        with suppress(Exception):
            fs.rm_file(url)
    return is_ended


def _take_note(target: Any, note: str) -> None:
    """Write down the name of an upload in parts, once it has one."""
    upload = getattr(target, "mpu", None)
    if upload and not os.path.exists(note):
        with open(note, "w", encoding="utf-8") as file:
            json.dump({"bucket": target.bucket, "key": target.key, "upload": upload["UploadId"]}, file)


def abort_noted(note: str, url: StoredName) -> None:
    """Give up the upload that a killed process has noted, if there is one.

    Parameters
    ----------
    note : str
        The file; it is removed.
    url : StoredName
        Something in the same store.

    Raises
    ------
    EnvironmentFaultError
        If the store fails.
    """
    try:
        with open(note, encoding="utf-8") as file:
            noted = json.load(file)
    except (FileNotFoundError, ValueError):  # none, or the process died while it wrote it
        noted = None
    if isinstance(noted, dict):
        try:
            with store_faults(url):
                filesystem(url).abort_mpu(noted["bucket"], noted["key"], noted["upload"])
        except InputFileNotFoundError:
            logger.debug("%s: the upload is gone", url)
        except EnvironmentFaultError as fault:
            # it was finished, or given up by the store itself; s3fs has no error of its own for that
            if not re.search(r"NoSuchUpload|upload does not exist", str(fault.__cause__), re.IGNORECASE):
                raise
    _unlink(note)


def _unlink(note: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(note)
