"""Manifests: what DGL's config has no place for, and a checksum of every file that a layout has, of configs as well."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts.known_outputs import MANIFEST_FORMAT, description_of
from daskgraphpart.schema import DataSpec, RowType
from daskgraphpart.storage.atomic import json_bytes
from daskgraphpart.storage.checksums import ALGORITHM, FileChecksum, hash_bytes

if TYPE_CHECKING:
    from daskgraphpart.layouts.layout import DispatchedGraph, Layout

VERSION = 2
DIGEST = "digest"
"""Key of the checksum of all other keys: nothing else tells that a method or a dtype is not what was written."""
SUFFIX = ".manifest.json"


ADDED = "added_features"
"""Key of the features ``<type>/<name>`` that were added to finished partitions, and that the input may not have."""
CONFIGS, LINKS = "configs", "links"
"""Keys of the paths of small files that describe the others, and of what links lead to, by path."""


def describe_files(layout: Layout, graph: DispatchedGraph) -> dict[str, bytes]:
    """Content of descriptions in writing order; the outermost manifest lists all other files, an inner one some."""
    described = layout.describe(graph)
    contents = {path: content for path, content in described.items() if isinstance(content, bytes)}
    manifests = {path: content for path, content in described.items() if not isinstance(content, bytes)}
    checksums = {**graph.checksums, **{path: hash_bytes(content) for path, content in contents.items()}}
    *inner, outermost = sorted(manifests, key=lambda path: -path.count("/"))
    for path in (*inner, outermost):
        below, up = path[: path.rfind("/") + 1], "../" * path.count("/")
        names = {
            name: name.removeprefix(below) if name.startswith(below) else up + name
            for name in checksums
            if path == outermost or name.startswith(below)
        }
        beside = {
            CONFIGS: [names[name] for name in contents if name in names],
            LINKS: {name.removeprefix(below): to for name, to in layout.links().items() if name.startswith(below)},
        }
        content = {**manifests[path], **{key: values for key, values in beside.items() if values}}
        contents[path] = _manifest(content, {names[name]: checksums[name] for name in names})
        checksums[path] = hash_bytes(contents[path])
    return {path: contents[path] for path in layout.descriptions(graph.schema.name)}


def _manifest(content: Mapping[str, Any], files: Mapping[str, FileChecksum]) -> bytes:
    """Encode a manifest: content, and checksums by relative path in this order."""
    listed = {name: {"size": checksum.nbytes, ALGORITHM: checksum.digest} for name, checksum in files.items()}
    known = {"format": MANIFEST_FORMAT, "version": VERSION, **content, "checksum": ALGORITHM, "files": listed}
    return json_bytes({**known, DIGEST: digest_of(known)})


def digest_of(content: Mapping[str, Any]) -> str:
    """Checksum of all other keys, regardless of their order and spacing."""
    others = {key: value for key, value in content.items() if key != DIGEST}
    return hash_bytes(json.dumps(others, sort_keys=True).encode()).digest


def describe_layout(
    graph: DispatchedGraph, layout: str, version: int, content: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Content, by its path, of the JSON file of a layout with its own directory."""
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
    return {description_of(layout): described}


def stated_data(types: Sequence[RowType]) -> dict[str, Any]:
    """Dtypes and row shapes of features, as in a manifest."""
    return {
        kind.name: {spec.name: {"dtype": spec.dtype.name, "row_shape": list(spec.row_shape)} for spec in kind.data}
        for kind in types
        if kind.data
    }


def data_of(kind: str, stated: Mapping[str, Any]) -> tuple[DataSpec, ...]:
    """Return the features of a type, as a manifest states them."""
    features = stated.get(kind, {}).items()
    return tuple(DataSpec(name, np.dtype(of["dtype"]), tuple(of["row_shape"])) for name, of in features)
