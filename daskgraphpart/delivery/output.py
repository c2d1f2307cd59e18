"""The output directory: claimed before work starts, cleared of what is unfinished if it fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.errors import LayoutError, OutputExistsError
from daskgraphpart.layouts.dgl import EDGE_MAP, NODE_MAP, PART_FILES
from daskgraphpart.layouts.manifest import FORMAT as MANIFEST_FORMAT
from daskgraphpart.storage.atomic import TEMPORARY_SUFFIX
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.lock import LOCK_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from daskgraphpart.storage.paths import Location

PART_DIRECTORY = re.compile(r"part\d+")


def check_output(out: Path, inputs: Iterable[Path]) -> None:
    """Check that a directory can be the output, before anything is touched.

    Parameters
    ----------
    out : Path
        Output directory.
    inputs : iterable of Path
        Everything that is read, none of which may lie in the output directory.

    Raises
    ------
    OutputExistsError
        If it is a file, or holds something of the input.
    """
    target = out.resolve()
    for path in inputs:
        source = path.resolve()
        if source == target or target in source.parents:
            raise holds_input(out, path)
    if out.exists() and not out.is_dir():
        raise is_a_file(out)


def check_empty(out: Path, overwrite: bool) -> None:
    """Refuse a directory that holds something, unless it may be overwritten; raises as `claim_output`."""
    found = sorted(path.name for path in out.iterdir() if path.name not in (WORKSPACE_NAME, LOCK_NAME))
    if found and not overwrite:
        raise is_not_empty(out, found)


def claim_output(out: Path, own_names: Iterable[str], overwrite: bool) -> None:
    """Make sure that the output directory is empty of partitions.

    Parameters
    ----------
    out : Path
        Output directory.
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
    check_empty(out, overwrite)
    discard_output(out)
    foreign = [name for name in own_names if (out / name).exists()]
    if foreign:
        raise is_in_the_way(out / foreign[0])


def discard_output(out: Path) -> None:
    """Delete partitions, finished or not, and nothing else: configs first, so that nothing ever looks whole."""
    for path in out.glob("*.json"):
        if is_config(path):
            path.unlink()
    for path in out.glob("*.json" + TEMPORARY_SUFFIX):
        path.unlink()
    for name in (NODE_MAP, EDGE_MAP):
        (out / name).unlink(missing_ok=True)
        (out / (name + TEMPORARY_SUFFIX)).unlink(missing_ok=True)
    for path in out.iterdir():
        if path.is_dir() and PART_DIRECTORY.fullmatch(path.name):
            for name in PART_FILES:
                (path / name).unlink(missing_ok=True)
                (path / (name + TEMPORARY_SUFFIX)).unlink(missing_ok=True)
            if not any(path.iterdir()):
                path.rmdir()


def is_config(path: Path) -> bool:
    """Whether a file is a partition config, or a manifest of ours."""
    try:
        content = read_json_object(path, LayoutError)
    except (OSError, LayoutError):
        return False
    return "part-0" in content or content.get("format") == MANIFEST_FORMAT


# the same for outputs of all kinds: directories here, on other machines, in stores


def holds_input(out: Location, path: Location) -> OutputExistsError:
    """Describe an output directory that an input lies in."""
    return OutputExistsError(
        "the output directory holds the input",
        file=str(out),
        found=str(path),
        hint="give a directory of its own for the output",
    )


def is_a_file(out: Location) -> OutputExistsError:
    """Describe an output that is no directory."""
    return OutputExistsError("the output is a file", file=str(out), hint="give a directory")


def is_not_empty(out: Location, found: Sequence[str]) -> OutputExistsError:
    """Describe an output directory in which something was found."""
    return OutputExistsError(
        "the output directory is not empty",
        file=str(out),
        found=", ".join(found[:5]) + (" ..." if len(found) > 5 else ""),
        hint="give another directory, or --overwrite to replace partitions in it",
    )


def is_in_the_way(path: Location | str) -> OutputExistsError:
    """Describe somebody else's file under a name that will be written."""
    return OutputExistsError("a file that is not of a partition is in the way", file=str(path))
