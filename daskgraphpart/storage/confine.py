"""Keep paths that somebody else wrote inside one directory, and inputs outside the output, links followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daskgraphpart.errors import OutputExistsError
from daskgraphpart.storage.paths import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterable

    from daskgraphpart.storage.paths import AnyPath, Location


def leads_outside(path: AnyPath, directory: AnyPath) -> str | None:
    """Return where a path leads, links and ``..`` resolved, if that is not in a directory; None if it is."""
    if is_remote(directory) or is_remote(path):
        return None if str(path).startswith(f"{str(directory).rstrip('/')}/") else str(path)
    try:
        real, root = os.path.realpath(path), os.path.realpath(directory)
    except ValueError:  # a NUL in the name: there is no such file anywhere
        return None
    return None if os.path.commonpath([real, root]) == root else real


def check_apart(out: Location, inputs: Iterable[Location]) -> None:
    """Refuse an output directory that is, or holds, something of the input."""
    for path in inputs:
        is_same_kind = is_remote(path) == is_remote(out)
        if is_same_kind and (str(path) == str(out) or leads_outside(path, out) is None):
            hint = "give a directory of its own for the output"
            raise OutputExistsError("the output directory holds the input", file=out, found=path, hint=hint)
