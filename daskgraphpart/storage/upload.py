"""Send files to stores, front to back, so that they appear complete or not at all.

A killed process leaves the parts it has sent, which cost space; `abort_uploads` removes them.
"""

from __future__ import annotations

import errno
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError
from daskgraphpart.storage.checksums import FileChecksum
from daskgraphpart.storage.conditional import complete_if, num_parts_of, version_in_store
from daskgraphpart.storage.files import file_size, open_for_reading
from daskgraphpart.storage.store_writes import writable_store
from daskgraphpart.storage.stores import kind_in_store, open_store, size_in_store, waiting_for

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from upath import UPath

    from daskgraphpart.storage.claims import Claim

SEND_NBYTES = 8 << 20
"""Bytes of one request, and of the largest file that is sent with one; S3 wants parts of 5 MiB at least."""
MAX_REQUESTS = 9_000  # S3 takes 10,000


class Upload:
    """A file on its way to a store; `version` is what the store tells of it in the end, if a claim was given."""

    def __init__(self, sink: Any) -> None:
        import xxhash

        self._sink, self._state, self._nbytes, self.version = sink, xxhash.xxh3_128(), 0, ""

    def write(self, content: Any) -> None:
        """Send some bytes."""
        self._sink.write(content)
        self._state.update(content)
        self._nbytes += memoryview(content).nbytes

    @property
    def checksum(self) -> FileChecksum:
        """Size and checksum of what was sent."""
        return FileChecksum(self._nbytes, self._state.hexdigest())


@contextmanager
def open_for_upload(path: UPath, nbytes: int, claim: Claim | None = None) -> Iterator[Upload]:
    """Open a file in a store for writing `nbytes` bytes; on success it exists. Files of an output need its claim.

    Holds two requests, 16 MiB for files of up to 70 GB.
    """
    with writable_store(path, is_waiting=False) as fs:
        with waiting_for(path):
            replaced = None if claim is None else claim.version_before(path)
        if nbytes <= SEND_NBYTES:
            content = BytesIO()
            upload = Upload(content)
            yield upload
            with waiting_for(path):
                if claim is None:
                    fs.pipe_file(path.path, content.getvalue())
                else:
                    upload.version = claim.write(path, content.getvalue(), replaced)
        else:
            request_nbytes = max(SEND_NBYTES, -(-nbytes // (MAX_REQUESTS << 20)) << 20)
            if num_parts_of(replaced) == -(-nbytes // request_nbytes):
                request_nbytes *= 2  # in another form, see `write_if`
            with _open_in_parts(fs, path, request_nbytes, claim) as file:
                upload = Upload(_Sending(path, file.write))
                yield upload
                with waiting_for(path):
                    file.close()
                    upload.version = _complete(file, path, claim, replaced, upload.checksum)


def _complete(file: Any, path: UPath, claim: Claim | None, replaced: str | None, checksum: FileChecksum) -> str:
    """Let a file that was sent in parts appear; return its version if a claim was given."""
    if claim is None:
        _commit(file, path, checksum.nbytes)
        return ""
    if claim.is_conditional and getattr(file, "parts", None):
        return claim.put(path, replaced, partial(complete_if, path, file), checksum)
    claim.check()
    _commit(file, path, checksum.nbytes)
    return version_in_store(path) or ""


@dataclass(frozen=True, slots=True)
class _Sending:
    """A file to which bytes are written, of which some calls send a part."""

    path: UPath
    send: Callable[[Any], object]

    def write(self, content: Any) -> None:
        with waiting_for(self.path):
            self.send(content)


@contextmanager
def _open_in_parts(fs: Any, path: UPath, request_nbytes: int, claim: Claim | None) -> Iterator[Any]:
    file = fs.open(path.path, "wb", block_size=request_nbytes, autocommit=False)
    try:
        if claim is not None:
            claim.check()
        yield file
    except BaseException:
        with suppress(Exception):
            file.discard()
        with suppress(Exception):
            file.closed = True  # its finaliser would complete it
        if not getattr(file, "parts", None):  # stores without multipart uploads show what has arrived
            with suppress(Exception):
                if claim is not None:
                    claim.check()
                fs.rm_file(file.path)
        raise


def _commit(file: Any, path: UPath, nbytes: int) -> None:
    """Complete an upload; if the answer is lost, stores refuse to do so again. An older file of ours is the same."""
    try:
        file.commit()
    except Exception:
        if kind_in_store(path) is None or size_in_store(path) != nbytes:
            raise


def check_writable(directory: UPath) -> None:
    """Check whether a directory of S3 is writable; other stores tell with the first file."""
    with open_store(directory) as fs:
        if hasattr(fs, "call_s3"):
            bucket, key, _ = fs.split_path((directory / ".daskgraphpart-probe").path)
            try:
                upload = fs.call_s3("create_multipart_upload", Bucket=bucket, Key=key)
            except OSError as fault:
                if fault.errno != errno.ENOSYS:
                    raise
                what, hint = "the store takes no uploads in parts", "choose another store, or a local directory"
                raise EnvironmentFaultError(what, file=directory, found=str(fault), hint=hint) from fault
            fs.abort_mpu(bucket, key, upload["UploadId"])


def upload_file(source: str, target: UPath, claim: Claim | None = None) -> int:
    """Send a local file to a store and return its size."""
    nbytes = file_size(source)
    with open_for_reading(source) as file, open_for_upload(target, nbytes, claim) as sent:
        while content := file.read(SEND_NBYTES):
            sent.write(content)
    return nbytes


def abort_uploads(directory: UPath, names: Collection[str] | None = None) -> None:
    """Remove what killed processes have sent of files below a directory of S3: of all, or of some relative names."""
    with suppress(GraphPartError), open_store(directory) as fs:  # a key may write, but not list uploads
        if not hasattr(fs, "call_s3"):
            return
        bucket, prefix, _ = fs.split_path(directory.path)
        asked = {"Bucket": bucket, "Prefix": f"{prefix}/"}
        answer = fs.call_s3("list_multipart_uploads", **asked)
        while True:
            for upload in answer.get("Uploads", ()):
                if names is None or upload["Key"][len(prefix) + 1 :] in names:
                    fs.abort_mpu(bucket, upload["Key"], upload["UploadId"])
            if not answer.get("IsTruncated"):
                return
            markers = {"KeyMarker": answer["NextKeyMarker"], "UploadIdMarker": answer["NextUploadIdMarker"]}
            answer = fs.call_s3("list_multipart_uploads", **asked, **markers)
