"""Keep paths that somebody else wrote inside one directory, links followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from upath import UPath

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import AnyPath


def leads_outside(path: AnyPath, directory: AnyPath) -> str | None:
    """Return where a path leads, links and ``..`` resolved, if that is not in a directory; None if it is."""
    if isinstance(directory, UPath) or isinstance(path, UPath):
        return None if str(path).startswith(f"{str(directory).rstrip('/')}/") else str(path)
    try:
        real, root = os.path.realpath(path), os.path.realpath(directory)
    except ValueError:  # a NUL in the name: there is no such file anywhere
        return None
    return None if os.path.commonpath([real, root]) == root else real
