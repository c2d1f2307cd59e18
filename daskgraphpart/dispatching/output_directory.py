"""What may be written and deleted in an output directory: here, on another machine, or in a store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from daskgraphpart.errors import LayoutError, OutputExistsError
from daskgraphpart.layouts.known_outputs import DIRECTORIES, FILES, is_description
from daskgraphpart.layouts.plugin_layouts import load_layout
from daskgraphpart.registry import plugin_names
from daskgraphpart.storage.files import delete_file, is_directory, is_file, kind_of, list_directory
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.local_store import TEMPORARY_SUFFIX
from daskgraphpart.storage.paths import Location, check_apart, is_remote

OWN_PREFIX = ".daskgraphpart-"
"""Of the names of workspace, lock and mark, which another machine may be writing at this moment."""

_DIRECTORIES, _FILES = re.compile(DIRECTORIES), re.compile(FILES, re.DOTALL)
_UNFINISHED = re.compile(rf"(.*?)(\.[0-9a-f]{{12}})?{re.escape(TEMPORARY_SUFFIX)}", re.DOTALL)


def check_output(out: Location, inputs: Iterable[Location]) -> None:
    """Check that a directory can be the output, without changing anything."""
    check_apart(out, inputs)
    if kind_of(out) in ("file", "other"):
        raise OutputExistsError("the output is a file", file=out, hint="give a directory")


def check_empty(out: Location, overwrite: bool) -> None:
    """Refuse a directory that holds something, unless it may be overwritten; raises as `check_claimable`."""
    names = [name for name in _listed(out) if not name.startswith(OWN_PREFIX)]
    if names and not overwrite:
        raise OutputExistsError(
            "the output directory is not empty",
            file=out,
            found=", ".join(names[:5]) + (" ..." if len(names) > 5 else ""),
            hint="add --overwrite to replace partitions there, or choose another directory",
        )


def check_claimable(out: Location, own_names: Iterable[str], overwrite: bool) -> None:
    """Check that partitions can go to a directory, described at `own_names`."""
    check_empty(out, overwrite)
    names = _listed(out)
    wrong = [name for name in names if _is_own_name(name) and not _is_own_directory(out / name)]
    wrong += [name for name in own_names if name in names and not is_config(out / name)]
    if wrong:
        raise OutputExistsError(
            "this is no part of a partition, and in the way",
            file=out / wrong[0],
            hint="remove it (links are not followed), or choose another directory",
        )


def old_files(out: Location) -> list[str]:
    """List the files of finished partitions and nothing else, configs first, as they are deleted."""
    names = [*_own_files(out)]
    configs = _configs(out, names)
    return [*configs, *(name for name in names if _is_own_file(name) and name not in configs)]


def discard_output(out: Location) -> None:
    """Delete finished partitions and nothing else, configs first, so that nothing looks complete."""
    _discard(out, old_files(out))


def discard_unfinished(out: Path) -> None:
    """Delete unfinished partitions in a local directory; finished ones have a config, and stay."""
    names = [*_own_files(out)]
    unfinished = [(name, match[1]) for name in names if (match := _UNFINISHED.fullmatch(name))]
    _discard(out, [name for name, whole in unfinished if whole.endswith(".json") or _is_own_file(whole)])
    if not _configs(out, names):
        discard_output(out)


def _discard(out: Location, names: Iterable[str]) -> None:
    """Delete files, and then our empty directories."""
    for name in names:
        delete_file(out / name)
    if is_remote(out):
        return  # a store has no directories
    for name in filter(_is_own_name, _listed(out)):
        for directory, _, _ in os.walk(out / name, topdown=False):
            if not os.path.islink(directory) and not os.listdir(directory):
                os.rmdir(directory)


def _own_files(out: Location, within: str = "") -> Iterator[str]:
    """Paths of the files in a directory of partitions, and in its directories that are named as ours are."""
    for name, nbytes in _listed(out / within if within else out).items():
        path = within + name
        if nbytes is None and (within or _is_own_name(name)) and _is_own_directory(out / path):
            yield from _own_files(out, f"{path}/")
        else:
            yield path


def _is_own_name(name: str) -> bool:
    """Whether it is the name of a directory of a part, or of a layout."""
    return bool(_DIRECTORIES.fullmatch(name)) or name in plugin_names("layouts")


def _is_own_file(name: str) -> bool:
    """Whether it is the path of a file of a layout."""
    layout, _, file = name.partition("/")
    if layout not in plugin_names("layouts"):
        return bool(_FILES.fullmatch(name))
    return bool(re.fullmatch(load_layout(layout).own_files, file, re.DOTALL))


def is_config(path: Location) -> bool:
    """Whether a file is a partition config or our manifest."""
    if not is_file(path):
        return False
    try:
        return is_description(read_json_object(path, LayoutError))
    except LayoutError:
        return False


def _configs(out: Location, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.endswith(".json") and is_config(out / name)]


def _listed(out: Location) -> dict[str, int | None]:
    return list_directory(out) if is_remote(out) or out.is_dir() else {}


def _is_own_directory(path: Location) -> bool:
    return is_directory(path) and (is_remote(path) or not path.is_symlink())
