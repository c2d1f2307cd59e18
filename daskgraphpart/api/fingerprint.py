"""What a job depends on: options, metadata, and path, size, times of change and inode of every input file.

Kept in the journal; a run that continues the job must have the same, because what is in the workspace was made from it.
Times are only compared for being equal, never with a clock, so that one that lies in the future does no harm.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.assignment.assignment import BINARY_FORMS, TRAINERS, crc_of
from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.engine.journal import RESTART_HINT
from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.files import cached_listings, is_file, read_file, signature_of
from daskgraphpart.storage.paths import to_path
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.chunked.graph import ChunkedGraph

WORK_VERSION = 3
"""Of what passes exchange through the workspace; raise it when a file or the order of passes changes."""

MOST_SHOWN = 3


def fingerprint(
    command: str, graph: ChunkedGraph, options: Mapping[str, Any], files: Iterable[Path] = ()
) -> dict[str, Any]:
    """Describe what the output of a job depends on, as a flat dictionary of JSON values."""
    found: dict[str, Any] = {"command": command, "version of the workspace": WORK_VERSION}
    for name, value in options.items():
        found[f"--{name.replace('_', '-')}"] = list(value) if isinstance(value, tuple) else value
    paths = [to_path(graph.directory) / METADATA_FILE, *(to_path(file.path) for file in graph.files), *files]
    with cached_listings(to_path(graph.directory)):
        for path in paths:
            absolute = path.absolute()
            if (signature := signature_of(absolute)) is not None:
                found[f"input {absolute}"] = [*signature]
        metadata = read_file(paths[0]) if is_file(paths[0]) else b""
    found["metadata"] = zlib.crc32(metadata + repr([str(path) for path in paths]).encode())
    found["schema"] = [graph.schema.name, zlib.crc32(repr(graph.schema).encode())]
    if graph.source is not None:
        found["collections"] = graph.source.token
    return found


def balance_files(balance: str | Sequence[str] | None) -> list[Path]:
    """Files that a balance names."""
    items = balance.split(",") if isinstance(balance, str) else balance or ()
    named = [item.strip().removeprefix("file:") for item in items if item.strip().startswith("file:")]
    return [Path(name if Path(name).is_file() else name.rpartition("=")[0]) for name in named]


def owner_files(path: str | os.PathLike[str]) -> list[Path]:
    """Files of an assignment: those directly in its directory, and those of its trainers and zarr arrays."""
    root = Path(path)
    if not root.is_dir():
        return [root]
    found = [child for child in root.iterdir() if child.is_file() and not child.name.startswith(".")]
    for child in root.iterdir():
        if child.is_dir() and (child.name == TRAINERS or child.suffix[1:] in BINARY_FORMS):
            found += [inner for inner in child.rglob("*") if inner.is_file()]
    return sorted(found)


def owners_fingerprint(assignment: Assignment) -> dict[str, Any]:
    """Content of an assignment that is not in a directory of the user's: its files are temporary, their names too."""
    regions = {**assignment.owners, **{f"{TRAINERS}/{name}": region for name, region in assignment.trainers.items()}}
    crcs = {name: [region.num_rows, crc_of(Path(region.path))] for name, region in regions.items()}
    return {"assignment": [assignment.num_parts, assignment.method, crcs]}


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any], workspace: str) -> None:
    """Compare the fingerprints of an unfinished run and of the one that is to continue it."""
    changed = [key for key in {**now, **before} if before.get(key) != now.get(key) or (key in before) != (key in now)]
    if not changed:
        return
    # options and files say more than what follows from them
    shown = [key for key in changed if key not in ("schema", "metadata")][:MOST_SHOWN] or changed
    more = "" if len(changed) <= len(shown) else f", and {len(changed) - len(shown)} more"
    raise ResumeError(
        "an unfinished run is here, and what it was begun with has changed",
        file=workspace,
        place=f"{', '.join(shown)}{more}",
        expected=_describe(shown[0], before),
        found=_describe(shown[0], now),
        hint=f"run it as it was begun, or {RESTART_HINT}",
    )


def _describe(key: str, of: Mapping[str, Any]) -> str:
    if key not in of:
        return "no such file" if key.startswith("input ") else "nothing"
    if not key.startswith("input "):
        return {"schema": "another schema", "metadata": "other metadata"}.get(key, str(of[key]))
    nbytes, mtime_ns, *others = of[key]
    if isinstance(mtime_ns, str):
        return f"{format_size(nbytes)} ({nbytes} bytes), {mtime_ns}"
    seconds, rest = divmod(mtime_ns, 10**9)
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{format_size(nbytes)} ({nbytes} bytes) of {when}.{rest:09d}, ctime and inode {others}"
