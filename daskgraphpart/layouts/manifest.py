"""The manifest beside a partition config: what DGL's config has no place for, and a checksum of every file.

Version 1 had no checksums; early manifests of version 2 had none of themselves. DGL writes no manifest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import GraphPartError, LayoutError
from daskgraphpart.layouts.written_files import MANIFEST_FORMAT, description_of
from daskgraphpart.storage.atomic import write_json
from daskgraphpart.storage.checksums import ALGORITHM, FileChecksum, hash_bytes
from daskgraphpart.storage.files import is_file, list_directory
from daskgraphpart.storage.json_file import read_json_object, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.layouts.layout import DispatchedGraph
    from daskgraphpart.schema import RowType
    from daskgraphpart.storage.paths import Location

VERSION = 2
DIGEST = "digest"
"""Key of the checksum of all other keys: nothing else tells that a method or a dtype is not what was written."""
SUFFIX = ".manifest.json"


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


def write_manifest(path: Path, content: Mapping[str, Any], files: Mapping[str, FileChecksum]) -> None:
    """Write ``<graph name>.manifest.json`` atomically: content, and checksums by relative path in this order."""
    listed = {name: {"size": found.nbytes, ALGORITHM: found.digest} for name, found in files.items()}
    known = {"format": MANIFEST_FORMAT, "version": VERSION, **content, "checksum": ALGORITHM, "files": listed}
    write_json(path, {**known, DIGEST: _digest_of(known)})


def _digest_of(content: Mapping[str, Any]) -> str:
    """Checksum of all other keys, regardless of their order and spacing."""
    others = {key: value for key, value in content.items() if key != DIGEST}
    return hash_bytes(json.dumps(others, sort_keys=True).encode()).digest


def describe_layout(graph: DispatchedGraph, layout: str, version: int, content: Mapping[str, Any]) -> None:
    """Write the JSON file of a layout with its own directory: counts, content, and checksums of files."""
    schema, sizes = graph.schema, graph.sizes
    described = {
        "layout": layout,
        "layout_version": version,
        "graph_name": schema.name,
        "num_parts": sizes.num_parts,
        "method": graph.method,
        "num_nodes": {kind.name: kind.num_nodes for kind in schema.node_types},
        "num_edges": {kind.name: kind.num_edges for kind in schema.edge_types},
        **({"mapped_features": dict(graph.mapped_features)} if graph.mapped_features else {}),
        **content,
    }
    files = {name.removeprefix(f"{layout}/"): found for name, found in graph.checksums.items()}
    write_manifest(graph.out / description_of(layout), described, files)


def stated_data(types: Sequence[RowType]) -> dict[str, Any]:
    """Dtypes and row shapes of features, as in a manifest."""
    return {
        kind.name: {spec.name: {"dtype": spec.dtype.name, "row_shape": list(spec.row_shape)} for spec in kind.data}
        for kind in types
        if kind.data
    }


def find_manifest(directory: Location, graph_name: str | None = None) -> Location | None:
    """Find a graph's manifest in a directory of partitions, or the only one there; else None."""
    if graph_name is not None:
        path = directory / f"{graph_name}{SUFFIX}"
        return path if is_file(path) else None
    found = [directory / name for name in list_directory(directory) if name.endswith(SUFFIX)]
    return found[0] if len(found) == 1 else None


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
    is_changed = DIGEST in content and content[DIGEST] != _digest_of(content)
    return Manifest(path, content, None if version == 1 else _files(path, content), (path.name,) * is_changed)


def _files(path: Location, content: Mapping[str, Any]) -> dict[str, FileChecksum]:
    """Read the checksums; refuse names that lead out of the directory."""
    files, algorithm = content.get("files"), content.get("checksum")
    if algorithm != ALGORITHM or not isinstance(files, dict):
        raise LayoutError(
            "manifest without checksums", file=str(path), place="checksum", expected=ALGORITHM, found=repr(algorithm)
        )
    found = {}
    for name, entry in files.items():
        size, digest = (entry.get("size"), entry.get(ALGORITHM)) if isinstance(entry, dict) else (None, None)
        inside = not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts and "\0" not in name
        if not isinstance(size, int) or not isinstance(digest, str) or not inside:
            place = f"files.{shown(name)}"
            raise LayoutError("bad entry of a manifest", file=str(path), place=place, found=shown(entry))
        found[name] = FileChecksum(size, digest)
    return found
