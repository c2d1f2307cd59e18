"""Write to stores: what only those who write may meet."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, InputFileNotFoundError
from daskgraphpart.storage.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upath import UPath

HTTP_CONFLICT = 409


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
