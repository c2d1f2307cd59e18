"""Send files to stores, front to back, so that they appear complete or not at all.

A killed process leaves the parts it has sent, which cost space; `abort_uploads` removes them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileNotFoundError, OutputLockedError
from daskgraphpart.storage.checksums import FileChecksum, HashingWriter, hash_file
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.object_store import OBJECTS, open_store, version_of, waiting_for
from daskgraphpart.storage.store_objects import is_s3, place_in_s3, version_in_store, writable_store

if TYPE_CHECKING:
    from upath import UPath

    from daskgraphpart.storage.store_lock import Claim

SEND_NBYTES = 8 << 20
"""Bytes of one request, and of the largest file that is sent with one; S3 wants parts of 5 MiB at least."""
MAX_REQUESTS = 9_000  # S3 takes 10,000
PROBE = ".daskgraphpart-probe"
WORK_DIRECTORY = ".daskgraphpart-work"
"""Name of a job's directory in a workspace, with a hash of the output after it."""


@contextmanager
def open_for_upload(path: UPath, nbytes: int, claim: Claim | None = None) -> Iterator[HashingWriter]:
    """Open a file in a store for writing `nbytes` bytes; on success it exists. Files of an output need its claim.

    Holds two requests, 16 MiB for files of up to 70 GB.
    """
    check: Callable[[], None] = (lambda: None) if claim is None else claim.check
    try:
        with writable_store(path, is_waiting=False) as fs:
            if nbytes <= SEND_NBYTES and (claim is None or not is_s3(fs)):
                content = BytesIO()
                upload = HashingWriter(content)
                yield upload
                with waiting_for(path):
                    check()
                    fs.pipe_file(path.path, content.getvalue())
            else:
                request_nbytes = max(SEND_NBYTES, -(-nbytes // (MAX_REQUESTS << 20)) << 20)
                with _open_in_parts(fs, path, request_nbytes, check) as file:
                    upload = HashingWriter(_Sending(path, file.write))
                    yield upload
                    with waiting_for(path):
                        file.close()
                        check()
                        upload.version = _complete(fs, path, file, upload.checksum)
            if claim is not None and not upload.version:
                upload.version = version_in_store(path) or ""
    except GraphPartError:
        try:
            check()
        except EnvironmentFaultError as why:
            if isinstance(why, OutputLockedError):
                raise
        raise


@dataclass(frozen=True, slots=True)
class _Sending:
    """A file to which bytes are written, of which some calls send a part."""

    path: UPath
    send: Callable[[Any], object]

    def write(self, content: Any) -> None:
        with waiting_for(self.path):
            self.send(content)


@contextmanager
def _open_in_parts(fs: Any, path: UPath, request_nbytes: int, check: Callable[[], None]) -> Iterator[Any]:
    if not is_s3(fs):  # stores without uploads in parts show what has arrived
        check()
    file = fs.open(path.path, "wb", block_size=request_nbytes, autocommit=False)
    try:
        yield file
    except BaseException:
        with suppress(Exception):
            file.discard()
        with suppress(Exception):
            file.closed = True  # its finaliser would complete it
        if not is_s3(fs):
            with suppress(Exception):
                check()
                fs.rm_file(file.path)
        raise


def _complete(fs: Any, path: UPath, file: Any, sent: FileChecksum) -> str:
    """Let a file appear that was sent in parts; return its version if the answer tells it.

    If an answer is lost, stores refuse to complete it again.
    """
    try:
        if not is_s3(fs):
            file.commit()
            return ""
        upload = {**place_in_s3(fs, path), "UploadId": file.mpu["UploadId"]}
        if not sent.nbytes:  # s3fs would create an empty file in another way
            part = fs.call_s3("upload_part", **upload, PartNumber=1, Body=b"")
            file.parts.append({"PartNumber": 1, "ETag": part["ETag"]})
        return complete_upload(fs, upload, file.parts)
    except Exception:
        if OBJECTS.kind(path) is None or hash_file(path) != sent:
            raise
        return ""


def complete_upload(fs: Any, upload: dict[str, str], parts: list[dict[str, Any]]) -> str:
    """Complete an upload in S3, unless another run has aborted it; return the version of the object."""
    return version_of(fs.call_s3("complete_multipart_upload", **upload, MultipartUpload={"Parts": parts}))


def check_writable(directory: UPath) -> None:
    """Check whether a directory of S3 is writable; other stores tell with the first file."""
    with open_store(directory) as fs:
        if is_s3(fs):
            place = place_in_s3(fs, directory / PROBE)
            try:
                upload = fs.call_s3("create_multipart_upload", **place)
            except OSError as fault:
                if fault.errno != errno.ENOSYS:
                    raise
                what, hint = "the store takes no uploads in parts", "choose another store, or a local directory"
                raise EnvironmentFaultError(what, file=directory, found=str(fault), hint=hint) from fault
            fs.abort_mpu(place["Bucket"], place["Key"], upload["UploadId"])


def upload_file(source: str, target: UPath, claim: Claim | None = None) -> None:
    """Send a local file to a store."""
    with open_for_reading(source) as file, open_for_upload(target, file_size(source), claim) as sent:
        while content := file.read(SEND_NBYTES):
            sent.write(content)


def abort_uploads(directory: UPath, claim: Claim, *, is_listing_all: bool = False) -> list[str]:
    """Abort all uploads below a directory of S3 that were begun while a claim held; return IDs, if all are gone.

    MinIO lists uploads of one object or of a whole bucket, so what is below a directory is found there by listing all.
    Those below a workspace may be of another job.
    """
    listed: list[dict[str, str]] = []
    with suppress(GraphPartError), open_store(directory) as fs:  # a key may write, but not list uploads
        if is_s3(fs):
            place = place_in_s3(fs, directory)
            below = f"{place['Key']}/".lstrip("/")
            listed = [
                {"Bucket": place["Bucket"], "Key": upload["Key"], "UploadId": upload["UploadId"]}
                for upload in _unfinished_uploads(fs, place["Bucket"], "" if is_listing_all else below)
                if upload["Key"].startswith(below) and WORK_DIRECTORY not in upload["Key"][len(below) :]
            ]
    claim.check()
    with suppress(GraphPartError):
        for upload in listed:
            with suppress(InputFileNotFoundError), open_store(directory) as fs:  # it may have ended
                fs.abort_mpu(upload["Bucket"], upload["Key"], upload["UploadId"])
        return [upload["UploadId"] for upload in listed]
    return []


def _unfinished_uploads(fs: Any, bucket: str, prefix: str) -> Iterator[dict[str, str]]:
    """List uploads of keys with a prefix."""
    asked = {"Bucket": bucket, "Prefix": prefix}
    while True:
        answer = fs.call_s3("list_multipart_uploads", **asked)
        yield from answer.get("Uploads", ())
        if not answer.get("IsTruncated"):
            return
        asked |= {"KeyMarker": answer["NextKeyMarker"], "UploadIdMarker": answer["NextUploadIdMarker"]}
