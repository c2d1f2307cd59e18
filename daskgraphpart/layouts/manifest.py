"""The manifest beside a partition config: what DGL's config has no place for, and a checksum of every file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from daskgraphpart.layouts.written_files import MANIFEST_FORMAT, description_of
from daskgraphpart.storage.atomic import write_json
from daskgraphpart.storage.checksums import ALGORITHM, FileChecksum, hash_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.layouts.layout import DispatchedGraph
    from daskgraphpart.schema import RowType

VERSION = 2
DIGEST = "digest"
"""Key of the checksum of all other keys: nothing else tells that a method or a dtype is not what was written."""
SUFFIX = ".manifest.json"


def write_manifest(path: Path, content: Mapping[str, Any], files: Mapping[str, FileChecksum]) -> None:
    """Write ``<graph name>.manifest.json`` atomically: content, and checksums by relative path in this order."""
    listed = {name: {"size": checksum.nbytes, ALGORITHM: checksum.digest} for name, checksum in files.items()}
    known = {"format": MANIFEST_FORMAT, "version": VERSION, **content, "checksum": ALGORITHM, "files": listed}
    write_json(path, {**known, DIGEST: digest_of(known)})


def digest_of(content: Mapping[str, Any]) -> str:
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
    files = {name.removeprefix(f"{layout}/"): checksum for name, checksum in graph.checksums.items()}
    write_manifest(graph.out / description_of(layout), described, files)


def stated_data(types: Sequence[RowType]) -> dict[str, Any]:
    """Dtypes and row shapes of features, as in a manifest."""
    return {
        kind.name: {spec.name: {"dtype": spec.dtype.name, "row_shape": list(spec.row_shape)} for spec in kind.data}
        for kind in types
        if kind.data
    }
