"""The directory a chunked graph is written to: claimed before work starts, cleared again if it fails."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.errors import OutputExistsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ID_MAP = "id_map"
DIRECTORIES = ("edges", "node_data", "edge_data", ID_MAP)


@contextmanager
def claimed_directory(out: Path, inputs: Iterable[str], overwrite: bool) -> Iterator[None]:
    """Make the output directory, or empty it of a graph that may be replaced; nothing is left if the job fails.

    Parameters
    ----------
    out : Path
        Output directory.
    inputs : iterable of str
        Files that are read, none of which may lie in it.
    overwrite : bool
        Whether a chunked graph that is there is deleted. Other files are never touched.

    Raises
    ------
    OutputExistsError
        If it holds something that may not be replaced.
    """
    _check_claim(out, inputs, overwrite)
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    _discard(out)
    try:
        yield
    except BaseException:
        _discard(out)
        if is_new:
            with suppress(OSError):  # somebody put something else there
                out.rmdir()
        raise


def _check_claim(out: Path, inputs: Iterable[str], overwrite: bool) -> None:
    """Refuse a directory that holds something else, or part of the input; raises as `claimed_directory`."""
    if out.exists() and not out.is_dir():
        raise OutputExistsError("not a directory", file=str(out), hint="give another directory")
    found = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    ours = METADATA_FILE in found or not set(found) - set(DIRECTORIES)
    if found and not (overwrite and ours):
        raise OutputExistsError(
            "the output directory is not empty",
            file=str(out),
            found=", ".join(found[:5]),
            hint="give another directory, or --overwrite to replace a chunked graph in it",
        )
    among = [path for path in inputs if found and out.resolve() in Path(path).resolve().parents]
    if among:
        raise OutputExistsError(
            "the output directory holds the input", file=str(out), found=among[0], hint="give another directory"
        )


def _discard(out: Path) -> None:
    """Delete a chunked graph, finished or not, and nothing else: its metadata first."""
    (out / METADATA_FILE).unlink(missing_ok=True)
    for name in DIRECTORIES:
        shutil.rmtree(out / name, ignore_errors=True)
