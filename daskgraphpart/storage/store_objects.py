"""Small objects of a store: listed, read, created, replaced and deleted, some only if they are as expected.

S3 compares versions as it writes. Elsewhere only creation is certain, and what is replaced is compared right before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, InputFileNotFoundError
from daskgraphpart.storage.object_store import OBJECTS, open_store, version_of

if TYPE_CHECKING:
    from upath import UPath

HTTP_CONFLICT = 409
TAGS = {"ETag", "etag", "md5Hash", "generation"}


@contextmanager
def writable_store(path: UPath, *, is_waiting: bool = True) -> Iterator[Any]:
    """Yield the file system of a path to be written; a missing bucket is no input mistake."""
    try:
        with open_store(path, is_waiting=is_waiting) as fs:
            _retry_conflicts(path.protocol)
            yield fs
    except InputFileNotFoundError as fault:
        what, hint = "the store refuses a file", "check that the bucket exists"
        raise EnvironmentFaultError(what, file=path, found=fault.found, hint=hint) from fault


@cache
def _retry_conflicts(protocol: str) -> None:
    """Let s3fs ask again if a request met another one to the same object, as it does if a store is busy."""
    core = sys.modules.get("s3fs.core")
    if core is not None and protocol in ("s3", "s3a") and hasattr(core, "set_custom_error_handler"):  # since 2026.2
        others = core.CUSTOM_ERROR_HANDLER
        core.set_custom_error_handler(lambda fault: _is_conflict(fault) or others(fault))


def _is_conflict(fault: Exception) -> bool:
    answer = getattr(fault, "response", None)
    about = answer.get("ResponseMetadata", {}) if isinstance(answer, dict) else {}
    return bool(about.get("HTTPStatusCode") == HTTP_CONFLICT)


def is_s3(fs: Any) -> bool:
    """Whether a file system is that of S3, which takes conditions, and uploads that others may abort."""
    return hasattr(fs, "call_s3")


def place_in_s3(fs: Any, path: UPath) -> dict[str, str]:
    """Name an object as S3's requests do."""
    bucket, key, _ = fs.split_path(path.path)
    return {"Bucket": bucket, "Key": key}


def read_objects(paths: Sequence[UPath]) -> list[bytes]:
    """Read objects of one store at once; none may be empty."""
    if not paths:
        return []
    with open_store(paths[0]) as fs:
        return list(fs.cat_ranges([path.path for path in paths], 0, None, on_error="raise"))


def content_of(path: UPath) -> bytes:
    """Read an object; empty if it is gone."""
    try:
        return read_objects([path])[0]
    except InputFileNotFoundError:
        return b""


def put_objects(contents: Mapping[UPath, bytes]) -> None:
    """Write objects of one store at once."""
    if contents:
        with writable_store(next(iter(contents))) as fs:
            fs.pipe({path.path: content for path, content in contents.items()})


def create_object(path: UPath, content: bytes) -> bool:
    """Write an object unless there is one; return False if there is one with other content.

    A refusal may answer a request that was made again after its first answer was lost.
    """
    try:
        with writable_store(path) as fs:
            fs.pipe_file(path.path, content, mode="create")
    except EnvironmentFaultError as fault:
        if not _is_refusal(fault):
            raise
        return content_of(path) == content
    return True


def replace_object(path: UPath, content: bytes, version: str) -> str | None:
    """Replace a version of an object; return the new one, None if there was another.

    No two contents may be the same, for then a version could come back.
    """
    try:
        with writable_store(path) as fs:
            if is_s3(fs):
                return version_of(fs.call_s3("put_object", **place_in_s3(fs, path), Body=content, **_if_match(version)))
            if version_in_store(path) != version:
                return None
            fs.pipe_file(path.path, content)
            return version_in_store(path)
    except EnvironmentFaultError as fault:
        if not _is_refusal(fault):
            raise
    there = version_in_store(path)
    return there if content_of(path) == content else None  # the first answer to the same request was lost


def delete_version(path: UPath, version: str) -> None:
    """Delete an object if it still is of a version."""
    with suppress(InputFileNotFoundError):
        try:
            with open_store(path) as fs:
                if is_s3(fs):
                    fs.call_s3("delete_object", **place_in_s3(fs, path), **_if_match(version))
                elif version_in_store(path) == version:
                    fs.rm_file(path.path)
        except EnvironmentFaultError as fault:
            if not _is_refusal(fault):
                raise


def _if_match(version: str) -> dict[str, str]:
    return {"IfMatch": f'"{version.removeprefix("ETag ")}"'}


def _is_refusal(fault: GraphPartError) -> bool:
    """Whether a store did not find what was expected, or found what was not."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, (FileExistsError, InputFileNotFoundError)) or "PreconditionFailed" in str(cause):
            return True
        cause = cause.__cause__
    return False


def version_in_store(path: UPath) -> str | None:
    """Return what changes with the content of an object, None if there is none."""
    signature = OBJECTS.signature(path)
    return None if signature is None else str(signature[1])


def list_below(directory: UPath) -> dict[str, dict[str, Any]]:
    """List all objects below a directory: relative names, with what the store tells of them."""
    with suppress(InputFileNotFoundError), open_store(directory) as fs:
        first = len(str(fs._strip_protocol(directory.path)).rstrip("/")) + 1
        return {name[first:]: info for name, info in fs.find(directory.path, detail=True).items()}
    return {}


def versions_below(directory: UPath) -> dict[str, str]:
    """Return the versions of all objects below a directory, by relative name."""
    listed = list_below(directory)
    with open_store(directory) as fs:  # listings of stores without versions tell times in another form
        return {
            name: version_of(info if TAGS & info.keys() else fs.info((directory / name).path))
            for name, info in listed.items()
        }


def delete_below(directory: UPath) -> None:
    """Delete all objects below a directory."""
    with suppress(InputFileNotFoundError), open_store(directory) as fs:
        if paths := fs.find(directory.path):
            fs.rm(paths)
