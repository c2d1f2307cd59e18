"""List the parquet files of Delta and Iceberg tables, which keep files beside them that are no longer valid."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from daskgraphpart.errors import GraphPartError, InputFileError, InputFileNotFoundError
from daskgraphpart.extras import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable

# features of Delta that leave rows of files, and names of their columns, as they are
DELTA_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
_VERSION = re.compile(r"v?(\d+).*\.metadata\.json")


def lake_files(directory: str) -> list[str] | None:
    """List the files of the newest version of a table; None if the directory is no Delta or Iceberg table."""
    if os.path.isdir(os.path.join(directory, "_delta_log")):
        return _listed(directory, "Delta", _delta_files)
    if any(map(_VERSION.fullmatch, _metadata_files(directory))):
        return _listed(directory, "Iceberg", _iceberg_files)
    return None


def _listed(directory: str, kind: str, list_files: Callable[[str], list[str]]) -> list[str]:
    try:
        paths = list_files(directory)
    except GraphPartError:
        raise
    except Exception as fault:  # of any kind, from libraries that read metadata of others
        found = next(iter(str(fault).splitlines()), "") or type(fault).__name__
        raise InputFileError(f"not a readable {kind} table", file=directory, found=found) from fault
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        what, found = f"{kind} table with files that are not there", f"{len(missing):,} of {len(paths):,} missing"
        raise InputFileNotFoundError(what, file=directory, expected=missing[0], found=found, hint="was it moved?")
    return paths


def _delta_files(directory: str) -> list[str]:
    deltalake = import_extra("deltalake", "this is a Delta table", 'pip install "daskgraphpart[delta]"', file=directory)
    table = deltalake.DeltaTable(directory)
    protocol = table.protocol()
    needed = {"column mapping"} if protocol.min_reader_version == 2 else set(protocol.reader_features or ())
    if needed - DELTA_FEATURES:
        found, hint = ", ".join(sorted(needed - DELTA_FEATURES)), "write it anew, or export it as plain parquet"
        raise InputFileError("Delta table whose files are not its rows", file=directory, found=found, hint=hint)
    return [_local(path) for path in table.file_uris()]


def _iceberg_files(directory: str) -> list[str]:
    tables = import_extra(
        "pyiceberg.table", "this is an Iceberg table", 'pip install "daskgraphpart[iceberg]"', file=directory
    )
    matches = [match for match in map(_VERSION.fullmatch, _metadata_files(directory)) if match]
    newest = max(matches, key=lambda match: (int(match[1]), match[0]))[0]
    tasks: list[Any] = list(
        tables.StaticTable.from_metadata(os.path.join(directory, "metadata", newest)).scan().plan_files()
    )
    if any(task.delete_files for task in tasks):
        hint = "compact it (rewrite_data_files)"
        raise InputFileError("Iceberg table whose files have deleted rows", file=directory, hint=hint)
    return [_local(task.file.file_path) for task in tasks]


def _metadata_files(directory: str) -> list[str]:
    path = os.path.join(directory, "metadata")
    return os.listdir(path) if os.path.isdir(path) else []


def _local(uri: str) -> str:
    return unquote(urlparse(uri).path) if uri.startswith("file:") else uri
