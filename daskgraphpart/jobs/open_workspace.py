"""Open the workspace of a job in a store, unless the job cannot have one there."""

from __future__ import annotations

import datetime
import hashlib
import logging
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, OptionError
from daskgraphpart.storage.files import INPUT, cached_listings, signatures_of
from daskgraphpart.storage.object_store import OBJECTS, open_store
from daskgraphpart.storage.paths import Location, is_remote, resolve_path
from daskgraphpart.storage.store_lock import LOCK_DIRECTORY, is_released, notes_of
from daskgraphpart.storage.store_objects import read_objects
from daskgraphpart.storage.store_workspace.pieced_store import PiecedStore, pieced_store
from daskgraphpart.storage.upload import WORK_DIRECTORY, check_writable
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from upath import UPath

    from daskgraphpart.engine.resources import Resources


logger = logging.getLogger(__name__)

LIVE = datetime.timedelta(minutes=10)
"""How long ago the lock of a run that lives may have changed, clocks of stores being off by some minutes."""


@contextmanager
def open_workspace(
    resources: Resources,
    out: Location,
    inputs: Sequence[Location] | None = None,
    *,
    is_output: bool = True,
) -> Iterator[PiecedStore]:
    """Yield the workspace in a store for the job of an output; without its inputs, only for names.

    Raises at the end if the inputs have changed. With `is_output` False, the job only reads it.
    """
    assert resources.workspace is not None, "it is a URL"
    if not is_remote(out):
        what = "output" if is_output else "partitions"
        raise _refusal(f"the {what} must be in a store, too", out, f"give the {what} as a URL")
    if resources.staging == "zarr":
        raise _refusal("features cannot be staged in zarr", "--staging zarr", "leave out --staging")
    options = out.storage_options if resources.workspace.startswith(f"{out.protocol}://") else {}
    place = resolve_path(resources.workspace, options)
    assert is_remote(place), "it is a URL"
    of_output = hashlib.sha256(str(out).encode()).hexdigest()[:12]
    own = place / f"{WORK_DIRECTORY}-{of_output}{'' if is_output else '-read'}"
    with pieced_store(own, out) as store:
        if inputs is None:
            yield store
            return
        check_writable(place)
        name_leftovers(place, own, f"{WORK_DIRECTORY}-")
        before = _signatures(inputs)
        yield store
        if is_output:
            _check_unchanged(before, _signatures(inputs), out)


def _signatures(inputs: Sequence[Location]) -> dict[str, Any]:
    remote = [path for path in inputs if is_remote(path)]
    with cached_listings(remote[0] if remote else ""):
        return signatures_of(remote)


def _check_unchanged(before: dict[str, Any], after: dict[str, Any], out: UPath) -> None:
    changed = [name.removeprefix(INPUT) for name, signature in before.items() if after.get(name) != signature]
    if changed:
        raise EnvironmentFaultError(
            "an input file was replaced while the job ran, so the output may hold some of both",
            file=changed[0],
            found=f"{format_number(len(changed), 'file')} replaced; the output is in {out}",
            hint="run again with --overwrite",
        )


def _refusal(what: str, given: object, hint: str) -> OptionError:
    return OptionError(
        f"with a workspace in a store, {what}", option="workspace", found=given, hint=f"{hint}, or a local --workspace"
    )


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
