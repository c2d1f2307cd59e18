"""Write, complete and delete objects of a store only if they are as expected, where the store can.

S3 compares as it writes. Elsewhere only creation is certain, and what is replaced is compared right before.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, InputFileNotFoundError
from daskgraphpart.storage.store_writes import writable_store
from daskgraphpart.storage.stores import open_store, signature_in_store, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

TAGS = {"ETag", "etag", "md5Hash", "generation"}
_REFUSALS = ("PreconditionFailed", "NoSuchKey", "NoSuchUpload")


class _RefusedError(Exception):
    """The store did not find what was expected."""


def version_in_store(path: UPath) -> str | None:
    """Return what changes with each write of an object, None if there is none."""
    signature = signature_in_store(path)
    return None if signature is None else str(signature[1])


def versions_below(directory: UPath) -> dict[str, str]:
    """Return the versions of all objects below a directory, by relative name."""
    with suppress(InputFileNotFoundError), open_store(directory) as fs:
        first = len(str(fs._strip_protocol(directory.path)).rstrip("/")) + 1
        listed = fs.find(directory.path, detail=True).items()
        # listings of stores without versions tell times in another form
        return {name[first:]: version_of(info if TAGS & info.keys() else fs.info(name)) for name, info in listed}
    return {}


def write_if(path: UPath, content: bytes, replaced: str | None) -> str | None:
    """Create an object or, given a version, replace that one; return the new version, None if there is another.

    In S3, versions follow from the content. The same content is therefore sent in another form, so that no request
    that is still under way takes it for what it replaced.
    """
    with _refusable() as answers, writable_store(path) as fs:
        if not hasattr(fs, "call_s3"):
            if replaced is None:
                fs.pipe_file(path.path, content, mode="create")
            elif version_in_store(path) == replaced:
                fs.pipe_file(path.path, content)
            else:
                raise _RefusedError
            answers.append(version_in_store(path))
        elif replaced == _etag(hashlib.md5(content, usedforsecurity=False).hexdigest()):
            place = _place(fs, path)
            upload = {**place, "UploadId": fs.call_s3("create_multipart_upload", **place)["UploadId"]}
            part = fs.call_s3("upload_part", **upload, PartNumber=1, Body=content)
            answers.append(_complete(fs, upload, [{"PartNumber": 1, "ETag": part["ETag"]}], replaced))
        else:
            answer = fs.pipe_file(path.path, content, **_condition(replaced))
            answers.append(_etag(answer["ETag"]) if isinstance(answer, dict) else version_in_store(path))
    return answers[0] if answers else None


def complete_if(path: UPath, file: Any, replaced: str | None) -> str | None:
    """Complete an upload in parts that s3fs has begun, on the same condition; return the same."""
    with _refusable() as answers, writable_store(path) as fs:
        upload = {**_place(fs, path), "UploadId": file.mpu["UploadId"]}
        answers.append(_complete(fs, upload, file.parts, replaced))
    return answers[0] if answers else None


def delete_if(path: UPath, version: str) -> bool:
    """Delete an object of a version; return whether it is gone."""
    with _refusable() as answers, writable_store(path) as fs:
        if hasattr(fs, "call_s3"):
            fs.call_s3("delete_object", **_place(fs, path), **_condition(version))
        elif version_in_store(path) == version:
            fs.rm_file(path.path)
        else:
            raise _RefusedError
        answers.append(version)
    return bool(answers) or version_in_store(path) is None


def num_parts_of(version: str | None) -> int:
    """Number of parts in which an object of S3 was sent, 0 if it was sent whole."""
    number = (version or "").rpartition("-")[2]
    return int(number) if version and "-" in version and number.isdecimal() else 0


def _complete(fs: Any, upload: dict[str, str], parts: list[Any], replaced: str | None) -> str:
    sent = {**upload, "MultipartUpload": {"Parts": parts}}
    return _etag(fs.call_s3("complete_multipart_upload", **sent, **_condition(replaced))["ETag"])


def _condition(replaced: str | None) -> dict[str, str]:
    return {"IfNoneMatch": "*"} if replaced is None else {"IfMatch": f'"{replaced.removeprefix("ETag ")}"'}


def _place(fs: Any, path: UPath) -> dict[str, str]:
    bucket, key, _ = fs.split_path(path.path)
    return {"Bucket": bucket, "Key": key}


def _etag(value: str) -> str:
    return f"ETag {value}".replace('"', "")


@contextmanager
def _refusable() -> Iterator[list[str | None]]:
    """Yield a list for the answer; it stays empty if the store refuses."""
    try:
        yield []
    except GraphPartError as fault:
        cause: BaseException | None = fault
        while cause is not None:
            if isinstance(cause, (FileExistsError, _RefusedError)) or any(code in str(cause) for code in _REFUSALS):
                return
            cause = cause.__cause__
        raise
