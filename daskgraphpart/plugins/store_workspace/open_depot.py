"""Open the depot of a job whose workspace is in a store, unless the job cannot have one."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.destination import Destination
from daskgraphpart.errors import OptionError
from daskgraphpart.plugins.store_workspace.leftovers import name_leftovers
from daskgraphpart.plugins.store_workspace.store_depot import mounted_depot
from daskgraphpart.storage.paths import is_remote, resolve_path
from daskgraphpart.storage.upload import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.storage.mounts import Depot

DIRECTORY = ".daskgraphpart-work"


@contextmanager
def open_depot(resources: Resources, target: Path | Destination, *, writes: bool = True) -> Iterator[Depot]:
    """Yield the depot in a workspace for the job of an output, which may only want names."""
    assert resources.workspace is not None, "it is a URL"
    out = target.root if isinstance(target, Destination) and not target.hosts else None
    if out is None or not is_remote(out):
        raise _refusal("the output must be in a store, too", target, "give the output as a URL")
    if resources.staging == "zarr":
        raise _refusal("features cannot be staged in zarr", "--staging zarr", "leave out --staging")
    options = out.storage_options if resources.workspace.startswith(f"{out.protocol}://") else {}
    place = resolve_path(resources.workspace, options)
    assert is_remote(place), "it is a URL"
    of_output = hashlib.sha256(str(out).encode()).hexdigest()[:12]
    own = place / f"{DIRECTORY}-{of_output}"
    if writes:
        check_writable(place)
        name_leftovers(place, own, f"{DIRECTORY}-")
    with mounted_depot(own) as depot:
        yield depot


def _refusal(what: str, found: object, hint: str) -> OptionError:
    return OptionError(
        f"with a workspace in a store, {what}", place="--workspace", found=found, hint=f"{hint}, or a local --workspace"
    )
