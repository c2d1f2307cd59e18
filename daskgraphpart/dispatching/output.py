"""The output directory: claimed before work starts, cleared of what is unfinished if it fails."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.workspace import WORKSPACE_NAME
from daskgraphpart.errors import OutputExistsError

if TYPE_CHECKING:
    from pathlib import Path

_PART_DIRECTORY = re.compile(r"part\d+")


def claim_output(out: Path, input_directory: Path, overwrite: bool) -> None:
    """Make the output directory, empty of partitions.

    Parameters
    ----------
    out : Path
        Output directory.
    input_directory : Path
        Directory of the input, of which nothing may be touched.
    overwrite : bool
        Whether partitions that are there are deleted. Other files are left alone.

    Raises
    ------
    OutputExistsError
        If the directory is not empty and may not be overwritten, or is the input's.
    """
    source, target = input_directory.resolve(), out.resolve()
    if source == target or target in source.parents:
        raise OutputExistsError(
            "the output directory holds the input", file=str(out), hint="give a directory of its own for the output"
        )
    if out.exists() and not out.is_dir():
        raise OutputExistsError("the output is a file", file=str(out), hint="give a directory")
    found = sorted(path.name for path in out.iterdir() if path.name != WORKSPACE_NAME) if out.exists() else []
    if found and not overwrite:
        raise OutputExistsError(
            "the output directory is not empty",
            file=str(out),
            found=", ".join(found[:5]) + (" ..." if len(found) > 5 else ""),
            hint="give another directory, or --overwrite to replace partitions in it",
        )
    out.mkdir(parents=True, exist_ok=True)
    discard_output(out)


def discard_output(out: Path) -> None:
    """Delete partitions, finished or not: configs first, so that nothing ever looks whole that is not."""
    for path in out.glob("*.json"):
        if path.name.endswith(".manifest.json") or _is_config(path):
            path.unlink()
    for path in out.iterdir():
        if path.is_dir() and _PART_DIRECTORY.fullmatch(path.name):
            shutil.rmtree(path)


def _is_config(path: Path) -> bool:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        return False
    return isinstance(content, dict) and "part-0" in content
