"""The output directory in a store: what may be overwritten there, and what is deleted; as in `output.py`."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.delivery.output import discard_output, holds_input, is_a_file, is_in_the_way, is_not_empty
from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.dgl import EDGE_MAP, NODE_MAP, PART_FILES
from daskgraphpart.layouts.manifest import FORMAT as MANIFEST_FORMAT
from daskgraphpart.storage.confine import leads_outside
from daskgraphpart.storage.files import file_sizes_in, is_file, list_names, read_file
from daskgraphpart.storage.lock import LOCK_NAME
from daskgraphpart.storage.stores import delete_file, require_bucket
from daskgraphpart.storage.upload import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upath import UPath

    from daskgraphpart.storage.paths import Location

STAGING_NAME = ".daskgraphpart-upload"
_PART_DIRECTORY = re.compile(r"part\d+")
_MOST_CONFIG_NBYTES = 1 << 28


def staging_directory(out: UPath, workspace: str | None) -> Path:
    """Name the local directory in which partitions are made before they are sent to a store.

    Raises
    ------
    OptionError
        If no workspace is given.
    """
    if workspace is None:
        raise OptionError(
            "partitions for a store are made in a workspace first",
            file=out,
            place="--workspace",
            expected="a directory with room for the partitions and for temporary files",
            hint="give one on a local disk, or on a shared file system where there are several machines",
        )
    of_output = hashlib.sha256(str(out).encode()).hexdigest()[:12]
    return Path(workspace).absolute() / f"{STAGING_NAME}-{of_output}"


def remove_staging(staging: Path) -> None:
    """Remove the staging directory of a job that is over, and leave that of one that can be continued.

    A workspace in it is one that was to be kept, or that a run continues from; a lock is that of another run.
    """
    if (staging / WORKSPACE_NAME).exists() or (staging / LOCK_NAME).exists():
        return
    shutil.rmtree(staging, ignore_errors=True)


def check_remote_output(out: UPath, inputs: Iterable[Location]) -> None:
    """Check that a directory of a store can be the output, before anything is touched.

    Raises
    ------
    OutputExistsError
        If it is a file, or holds something of the input.
    InputFileNotFoundError
        If there is no such bucket.
    EnvironmentFaultError
        If the store cannot be reached, or refuses access.
    """
    require_bucket(out)
    for path in inputs:
        if str(path) == str(out) or leads_outside(path, out) is None:
            raise holds_input(out, path)
    if is_file(out):
        raise is_a_file(out)
    check_writable(out)


def claim_remote_output(out: UPath, staging: Path, own_names: Iterable[str], overwrite: bool) -> None:
    """Make sure that the output directory, and its staging directory, are empty of partitions.

    Parameters
    ----------
    out : UPath
        Output directory.
    staging : Path
        Its staging directory.
    own_names : iterable of str
        Files that will be written beside the parts.
    overwrite : bool
        Whether partitions that are there are deleted. Other files are left alone.

    Raises
    ------
    OutputExistsError
        If the directory is not empty and may not be overwritten, or holds a file of somebody else's under a name that
        will be written.
    """
    discard_output(staging)
    found = list_names(out)
    if found and not overwrite:
        raise is_not_empty(out, found)
    if found:
        discard_remote_output(out)
        foreign = sorted(set(own_names) & set(list_names(out)))
        if foreign:
            raise is_in_the_way(out / foreign[0])


def discard_remote_output(out: UPath) -> None:
    """Delete partitions, finished or not, and nothing else: configs first, so that nothing ever looks whole."""
    for name, size in file_sizes_in(out).items():
        path = out / name
        if name in (NODE_MAP, EDGE_MAP) or (
            name.endswith(".json") and size <= _MOST_CONFIG_NBYTES and _is_config(read_file(path))
        ):
            delete_file(path)
    for directory in list_names(out):
        if _PART_DIRECTORY.fullmatch(directory):
            where = out / directory
            for name in set(PART_FILES) & set(file_sizes_in(where)):
                delete_file(where / name)


def _is_config(text: bytes) -> bool:
    content: Any = None
    with suppress(ValueError):
        content = json.loads(text)
    return isinstance(content, dict) and ("part-0" in content or content.get("format") == MANIFEST_FORMAT)
