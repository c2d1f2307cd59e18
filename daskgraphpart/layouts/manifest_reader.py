"""Find and read manifests of partitions.

Version 1 had no checksums; early manifests of version 2 had none of themselves. DGL writes no manifest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, LayoutError
from daskgraphpart.layouts.manifest import DIGEST, SUFFIX, VERSION, digest_of
from daskgraphpart.layouts.written_files import MANIFEST_FORMAT
from daskgraphpart.storage.checksums import ALGORITHM, FileChecksum
from daskgraphpart.storage.files import is_file, list_directory
from daskgraphpart.storage.json_file import read_json_object, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.storage.paths import Location


@dataclass(frozen=True, slots=True)
class Manifest:
    """What verification needs from a manifest.

    `files` are checksums by relative path (None in version 1); `changed` are the paths of manifests that are not as
    they were written.
    """

    path: Location
    content: Mapping[str, Any]
    files: Mapping[str, FileChecksum] | None
    changed: tuple[str, ...] = ()


def find_manifest(directory: Location, graph_name: str | None = None) -> Location | None:
    """Find a graph's manifest in a directory of partitions, or the only one there; else None."""
    if graph_name is not None:
        path = directory / f"{graph_name}{SUFFIX}"
        return path if is_file(path) else None
    manifests = [directory / name for name in list_directory(directory) if name.endswith(SUFFIX)]
    return manifests[0] if len(manifests) == 1 else None


def read_manifest(path: Location) -> Manifest:
    """Read a manifest."""
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
    return Manifest(path, content, None if version == 1 else _files(path, content), (path.name,) * is_changed)


def _files(path: Location, content: Mapping[str, Any]) -> dict[str, FileChecksum]:
    """Read the checksums; refuse names that lead out of the directory."""
    files, algorithm = content.get("files"), content.get("checksum")
    if algorithm != ALGORITHM or not isinstance(files, dict):
        raise LayoutError(
            "manifest without checksums", file=str(path), place="checksum", expected=ALGORITHM, found=repr(algorithm)
        )
    checksums = {}
    for name, entry in files.items():
        size, digest = (entry.get("size"), entry.get(ALGORITHM)) if isinstance(entry, dict) else (None, None)
        inside = not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and "\0" not in name
        if not isinstance(size, int) or not isinstance(digest, str) or not inside:
            place = f"files.{shown(name)}"
            raise LayoutError("bad entry of a manifest", file=str(path), place=place, found=shown(entry))
        checksums[name] = FileChecksum(size, digest)
    return checksums
