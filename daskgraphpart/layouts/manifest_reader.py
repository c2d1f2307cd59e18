"""Find and read manifests of partitions.

Version 1 had no checksums; early manifests of version 2 had none of themselves. DGL writes no manifest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from daskgraphpart.errors import GraphPartError, LayoutError
from daskgraphpart.layouts.known_outputs import MANIFEST_FORMAT
from daskgraphpart.layouts.manifest import DIGEST, SUFFIX, VERSION, digest_of
from daskgraphpart.storage.checksums import ALGORITHM, FileChecksum
from daskgraphpart.storage.files import is_file, list_directory
from daskgraphpart.storage.json_file import convert_json, read_json_object, shown

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class Manifest:
    """What verification needs from a manifest.

    `files` are checksums by relative path (None in version 1), of which `configs` describe the others; `links` are what
    links lead to, by path; `changed` are the paths of manifests that are not as they were written.
    """

    path: Location
    content: Mapping[str, Any]
    files: Mapping[str, FileChecksum] | None
    configs: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()


def find_manifest(directory: Location, graph_name: str | None = None) -> Location | None:
    """Find a graph's manifest in a directory of partitions, or the only one there; else None."""
    if graph_name is not None:
        path = directory / f"{graph_name}{SUFFIX}"
        return path if is_file(path) else None
    manifests = [directory / name for name in list_directory(directory) if name.endswith(SUFFIX)]
    return manifests[0] if len(manifests) == 1 else None


def read_manifest(path: Location, directory: str = "") -> Manifest:
    """Read a manifest; of a layout with its own directory, return paths relative to the one above."""
    try:
        content = read_json_object(path, LayoutError)
    except GraphPartError:
        raise  # a failing store says nothing about the manifest
    except OSError as fault:
        raise LayoutError("manifest is not readable", file=str(path), found=str(fault)) from fault
    if content.get("format") != MANIFEST_FORMAT:
        raise LayoutError("not a manifest of daskgraphpart", file=str(path), expected=f'"format": "{MANIFEST_FORMAT}"')
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise LayoutError(
            "unknown manifest version",
            file=str(path),
            expected=f"1 to {VERSION}",
            found=repr(version),
            hint="install a newer version of daskgraphpart",
        )
    is_changed = DIGEST in content and content[DIGEST] != digest_of(content)
    changed = (_place(path, path.name, directory),) * is_changed
    if version == 1:
        return Manifest(path, content, None, changed=changed)
    what = "not the configs and links of a manifest"
    stated = convert_json(dict(content), _Stated, LayoutError, what, file=str(path))
    configs = tuple(_place(path, name, directory) for name in stated.configs)
    links = {_place(path, name, directory): to for name, to in stated.links.items()}
    return Manifest(path, content, _files(path, content, directory), configs, links, changed)


def _place(path: Location, name: str, directory: str) -> str:
    """Path that a manifest in a directory names, relative to the one above; refuse one that leads out of that."""
    beside = bool(directory) and name.startswith("../")
    place = name.removeprefix("../") if beside else str(PurePosixPath(directory, name))
    if PurePosixPath(place).is_absolute() or ".." in PurePosixPath(place).parts or "\0" in place:
        raise LayoutError("bad entry of a manifest", file=str(path), place=f"files.{shown(name)}")
    return place


class _Stated(msgspec.Struct):
    configs: list[str] = []
    links: dict[str, str] = {}


def _files(path: Location, content: Mapping[str, Any], directory: str) -> dict[str, FileChecksum]:
    """Read the checksums."""
    files, algorithm = content.get("files"), content.get("checksum")
    if algorithm != ALGORITHM or not isinstance(files, dict):
        raise LayoutError(
            "manifest without checksums", file=str(path), place="checksum", expected=ALGORITHM, found=repr(algorithm)
        )
    checksums = {}
    for name, entry in files.items():
        size, digest = (entry.get("size"), entry.get(ALGORITHM)) if isinstance(entry, dict) else (None, None)
        if not isinstance(size, int) or not isinstance(digest, str):
            place = f"files.{shown(name)}"
            raise LayoutError("bad entry of a manifest", file=str(path), place=place, found=shown(entry))
        checksums[_place(path, name, directory)] = FileChecksum(size, digest)
    return checksums
