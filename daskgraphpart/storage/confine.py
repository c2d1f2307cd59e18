"""Keep paths that somebody else wrote inside one directory, links followed."""

from __future__ import annotations

import os

from daskgraphpart.remote.url import Url


def leads_outside(path: str | os.PathLike[str], directory: str | os.PathLike[str]) -> str | None:
    """Tell where a path leads that leaves a directory.

    Parameters
    ----------
    path : path
        Absolute, or relative to the working directory; need not exist.
    directory : path
        What must hold it, at any depth.

    Returns
    -------
    str or None
        The path with links, ``.`` and ``..`` resolved; None if it stays inside.
    """
    if isinstance(directory, Url) or isinstance(path, Url):
        inside = isinstance(path, Url) and isinstance(directory, Url) and path.startswith(f"{directory}/")
        return None if inside else os.fspath(path)
    try:
        real, root = os.path.realpath(path), os.path.realpath(directory)
    except ValueError:  # a NUL in the name: there is no such file anywhere
        return None
    return None if os.path.commonpath([real, root]) == root else real
