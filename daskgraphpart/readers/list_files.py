"""List the files of a table: by path, pattern or directory, in natural order, also of Delta and Iceberg."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from daskgraphpart.errors import GraphPartError, InputFileError, InputFileNotFoundError, OptionError
from daskgraphpart.extras import how_to_install, import_extra
from daskgraphpart.storage.paths import AnyPath, resolve_path

# features of Delta that keep rows of files and column names as they are
DELTA_FEATURES = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*::)*[A-Za-z][A-Za-z0-9+.\-]*://")
_VERSION = re.compile(r"v?(\d+).*\.metadata\.json")


def local_name(path: AnyPath) -> str:
    """Return the path of a file of a table, with its words; ``file://`` is one, other URLs are refused."""
    name = str(path)
    if not _URL.match(name):
        return name
    if not name.lower().startswith(("file://", "local://")):
        what, hint = "tables are read from files, and this is a URL", "copy it to a file"
        hint = f"{hint}, or read it with dask.dataframe in Python and give the frame"
        raise OptionError(what, file=name, hint=hint)
    return str(resolve_path(name))


def is_there(path: str) -> bool:
    """Whether a path or pattern names something."""
    return os.path.exists(path) or bool(glob.glob(path, recursive=True))


def list_files(pattern: str) -> list[str]:
    """List the files of a path, pattern or directory, in natural order."""
    if pattern == "-":
        return ["/dev/stdin"]
    is_pattern = glob.has_magic(pattern) and not os.path.exists(pattern)
    matches = glob.glob(pattern, recursive=True) if is_pattern else [pattern]
    if not matches:
        raise InputFileNotFoundError("no file matches", file=pattern, hint="quote patterns for the shell")
    paths: list[str] = []
    for path in sorted(matches, key=_natural):
        if not os.path.exists(path):
            raise InputFileNotFoundError("no such file", file=path)
        paths += _files_below(path) if os.path.isdir(path) else [path]
    for path in paths if is_pattern or paths != matches else ():
        if not os.path.isfile(path):  # opening a pipe without a writer blocks forever
            hint = "remove it, or give a pipe by its own name"
            raise InputFileError("not a regular file", file=path, expected="files of a table", hint=hint)
    return paths


def _natural(path: str) -> list[Any]:
    """Sort key that puts part.10 after part.9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", path)]


def _files_below(directory: str) -> list[str]:
    """List the files of a table written by Spark, Hive, dask, Delta or Iceberg, without hidden ones."""
    paths = lake_files(directory)
    if paths is None:
        paths, seen = [], set[str]()
        for root, directories, names in os.walk(directory, followlinks=True):
            if os.path.realpath(root) in seen:
                raise InputFileError(
                    "links lead to the same directory twice", file=root, hint="give its files by a pattern"
                )
            seen.add(os.path.realpath(root))
            directories[:] = [name for name in directories if name[0] not in "_." or "=" in name]
            paths += [os.path.join(root, name) for name in names if name[0] not in "_."]
    if not paths:
        raise InputFileError("the directory has no files", file=directory, expected="files of a table")
    return sorted(paths, key=_natural)


def lake_files(directory: str) -> list[str] | None:
    """List the files of a table's newest version; None for no Delta or Iceberg table."""
    metadata = Path(directory, "metadata")
    names = os.listdir(metadata) if metadata.is_dir() else []
    versions = {name: int(match[1]) for name in names if (match := _VERSION.fullmatch(name))}
    is_delta = os.path.isdir(os.path.join(directory, "_delta_log"))
    if not is_delta and not versions:
        return None
    kind = "Delta" if is_delta else "Iceberg"
    try:
        newest = str(metadata / max(versions, key=lambda name: (versions[name], name), default=""))
        uris = _delta_files(directory) if is_delta else _iceberg_files(directory, newest)
        paths = [unquote(urlparse(uri).path) if uri.startswith("file:") else uri for uri in uris]
    except GraphPartError:
        raise
    except Exception as fault:  # libraries raise anything for untrusted metadata
        message = next(iter(str(fault).splitlines()), "") or type(fault).__name__
        raise InputFileError(f"not a readable {kind} table", file=directory, found=message) from fault
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        what, gap = f"the {kind} table misses files", f"{len(missing):,} of {len(paths):,} missing"
        raise InputFileNotFoundError(what, file=directory, expected=missing[0], found=gap, hint="was it moved?")
    return paths


def _delta_files(directory: str) -> list[str]:
    deltalake = import_extra("deltalake", "this is a Delta table", how_to_install("delta"), file=directory)
    table = deltalake.DeltaTable(directory)
    protocol = table.protocol()
    needed = {"column mapping"} if protocol.min_reader_version == 2 else set(protocol.reader_features or ())
    if needed - DELTA_FEATURES:
        others, hint = ", ".join(sorted(needed - DELTA_FEATURES)), "rewrite it, or export it as plain parquet"
        raise InputFileError(
            "cannot read this Delta table's files as its rows", file=directory, found=others, hint=hint
        )
    return list(table.file_uris())


def _iceberg_files(directory: str, metadata: str) -> list[str]:
    tables = import_extra("pyiceberg.table", "this is an Iceberg table", how_to_install("iceberg"), file=directory)
    tasks: list[Any] = list(tables.StaticTable.from_metadata(metadata).scan().plan_files())
    if any(task.delete_files for task in tasks):
        hint = "compact it (rewrite_data_files)"
        raise InputFileError("the Iceberg table has deleted rows in its files", file=directory, hint=hint)
    return [task.file.file_path for task in tasks]
