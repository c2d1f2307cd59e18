"""Describe what the output of a job depends on, and say what has changed since an unfinished run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.journal import RESTART_HINT
from daskgraphpart.errors import ResumeError
from daskgraphpart.graph.scan import ROWS_OF, Scan
from daskgraphpart.jobs.job_inputs import first_input
from daskgraphpart.options import stated_options
from daskgraphpart.partitioner.assign_nodes import find_start
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import BINARY_FORMS, TRAINERS, Owners, crc_of
from daskgraphpart.partitioner.balance import ByFile
from daskgraphpart.registry import package_of
from daskgraphpart.storage.files import INPUT, cached_listings, signatures_of
from daskgraphpart.storage.paths import Location, is_url, require_local

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

logger = logging.getLogger(__name__)

WORK_VERSION = 19
"""Of what passes exchange through the workspace; raise it when a file or the order of passes changes."""

MOST_SHOWN = 3


def fingerprint(command: str, scan: Scan, options: Mapping[str, Any], files: Iterable[Location] = ()) -> dict[str, Any]:
    """Describe what the output depends on, as a flat dictionary of JSON values.

    That is: options, metadata, and path, size, times and inode of every input file. The journal keeps it, and a run
    that resumes must match it, since the workspace was made from it. Times are compared only for equality.
    """
    facts: dict[str, Any] = {"command": command, "version of the workspace": WORK_VERSION}
    for name, value in options.items():
        facts[f"--{name.replace('_', '-')}"] = list(value) if isinstance(value, tuple) else value
    with cached_listings(first_input(scan) or ""):
        return {**facts, **signatures_of([*scan.paths, *files]), **scan.identity()}


def identify_owners(owners: Owners | Path | AssignOptions) -> dict[str, Any]:
    """Describe what owners depend on besides files, as JSON values by option."""
    if isinstance(owners, AssignOptions):
        given = {name: getattr(owners, name) for name in stated_options(AssignOptions)}
        if package := package_of("methods", str(owners.method)):
            given["method"] = f"{owners.method} of {package}"
        return given
    if isinstance(owners, Path):
        return {"assignment": str(owners.absolute())}
    # a temporary directory's file names change from run to run
    regions = {**owners.files, **{f"{TRAINERS}/{name}": region for name, region in owners.trainers.items()}}
    crcs = {name: [region.num_rows, crc_of(Path(region.path))] for name, region in regions.items()}
    return {"assignment": [owners.num_parts, owners.method, crcs]}


def files_of_owners(scan: Scan, owners: Owners | Path | AssignOptions) -> list[Location]:
    """List the files that owners are read or made from."""
    if isinstance(owners, Owners):
        return []
    if isinstance(owners, Path):
        return [owners, *_files_in(owners)]
    named = [None if owners.is_named else owners.method, owners.extend]
    files: list[Location] = [
        file for name in named if name is not None for file in _files_in(require_local(name, "an assignment"))
    ]
    if (start := find_start(owners)) is not None:
        files += start.files(scan.known)
    return [*files, *(Path(item.path) for item in owners.constraints if isinstance(item, ByFile))]


def _files_in(root: Path) -> list[Path]:
    """List an assignment's files, with those of trainers and zarr arrays."""
    if not root.is_dir():
        return [root]
    files = [child for child in root.iterdir() if child.is_file() and not child.name.startswith(".")]
    for child in root.iterdir():
        if child.is_dir() and (child.name == TRAINERS or child.suffix[1:] in BINARY_FORMS):
            files += [inner for inner in child.rglob("*") if inner.is_file()]
    return sorted(files)


def warn_of_changes(before: Mapping[str, Any]) -> None:
    """Warn of local files that have changed since a job's fingerprint was taken, and are still there."""
    names = [name.removeprefix(INPUT) for name in before if name.startswith(INPUT)]
    now = signatures_of(Path(name) for name in names if not is_url(name))
    if changed := [name.removeprefix(INPUT) for name, signature in now.items() if signature != before[name]]:
        more = f" and {len(changed) - 1:,} more" if changed[1:] else ""
        what = "%s%s: changed while the job ran, so the output may hold some of both; verify compares it with the input"
        logger.warning(what, changed[0], more)


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any], workspace: str) -> None:
    """Refuse to resume if the fingerprint has changed."""
    changed = [key for key in {**now, **before} if before.get(key) != now.get(key) or (key in before) != (key in now)]
    if not changed:
        return
    # name options and files before what follows from them
    rows = [key for key in changed if key.startswith(ROWS_OF)]
    if rows:
        more = "" if len(rows) <= 1 else f", and of {len(rows) - 1} more"
        raise ResumeError(
            "the unfinished run read other rows",
            file=workspace,
            place=f"{rows[0]}{more}",
            expected="the same tables, arrays or functions, over the same files",
            found="others",
            hint=f"restore them, or {RESTART_HINT}. Random numbers without a seed, and rows in a cluster's memory, are "
            "new in each process: write such to parquet files, and give those",
        )
    shown = [key for key in changed if key not in ("schema", "metadata")][:MOST_SHOWN] or changed
    more = "" if len(changed) <= len(shown) else f", and {len(changed) - len(shown)} more"
    raise ResumeError(
        "the input or options of the unfinished run have changed",
        file=workspace,
        place=f"{', '.join(shown)}{more}",
        expected=before.get(shown[0], next((key for key in before if key not in now), "nothing")),
        found=now.get(shown[0], "nothing"),
        hint=f"restore them, or {RESTART_HINT}",
    )
