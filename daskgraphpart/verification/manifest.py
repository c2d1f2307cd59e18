"""Compare the entries of a manifest with the partitions and with the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.layouts.manifest import SUFFIX, find_manifest, read_manifest, stated_data
from daskgraphpart.storage.files import is_directory, read_file
from daskgraphpart.verification.files import part_of
from daskgraphpart.verification.findings import Finding, differences
from daskgraphpart.verification.headers import TRAINERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location

MAX_LISTED = 20


def manifest_of(config: Location) -> Manifest | None:
    """Manifest beside a config, or in a directory whose config is damaged; None if there is none."""
    if is_directory(config):
        path = find_manifest(config)
    else:
        path = find_manifest(config.parent, config.stem) or find_manifest(config.parent)
    return None if path is None else read_manifest(path)


def missing_manifest(config: Location, graph_name: str) -> Iterator[Finding]:
    """Find that partitions of ours have lost their manifest: our config is one line, DGL's tools indent theirs."""
    if b"\n" not in read_file(config).strip():
        says = "the manifest that daskgraphpart writes beside its config"
        yield Finding("manifest", graph_name + SUFFIX, "file is missing", expected=says, found="none")


def entry_findings(manifest: Manifest, config: PartitionConfig, schema: GraphSchema) -> Iterator[Finding]:
    """Compare the entries of a manifest with the config and the input."""
    data = {"node_data": stated_data(schema.node_types), "edge_data": stated_data(schema.edge_types)}
    names = {"graph_name": config.graph_name, "num_parts": config.num_parts, "num_hops": config.halo_hops}
    expected = _flat(names | data)
    found = _flat({key: manifest.content.get(key) for key in (*names, *data)})
    trainers = [key for key in found if f".{TRAINERS}." in key and key not in expected]
    file, found = manifest.path.name, {key: value for key, value in found.items() if key not in trainers}
    yield from differences("manifest", file, expected, found)
    method, out_edges = manifest.content.get("method"), manifest.content.get("out_edges")
    if not isinstance(method, str) or (method == "random") != (config.part_method == "random"):
        says = "random" if config.part_method == "random" else "any other than random"
        yield Finding("manifest", file, "method", expected=says, found=repr(method))
    if not isinstance(out_edges, bool):
        yield Finding("manifest", file, "out_edges", expected="true or false", found=repr(out_edges))
    if manifest.files is not None:
        needed = (name for part in config.parts for name in (part.part_graph, part.node_feats, part.edge_feats))
        for name in [name for name in needed if name not in manifest.files][:MAX_LISTED]:
            yield Finding("manifest", file, f"files: {name} is not listed", part=part_of(name))


def stated_findings(manifest: Manifest, expected: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare some numbers of a manifest with what was counted."""
    found = {key: manifest.content.get(key) for key in expected}
    yield from differences("manifest", manifest.path.name, expected, found)


def format_findings(manifest: Manifest, formats: Sequence[tuple[str, ...]]) -> Iterator[Finding]:
    """Compare the formats that a manifest states with those of the first part that has others."""
    stated = manifest.content.get("graph_formats")
    for number, of_part in enumerate(formats):
        if stated != sorted(of_part):
            what = f"graph_formats, which part {number} does not have"
            yield Finding("manifest", manifest.path.name, what, expected=str(sorted(of_part)), found=str(stated))
            return


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by path, as ``node_data.author.x.dtype``; at the top, what is empty is left out."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{prefix}{key}.")
        elif value or prefix:
            found[prefix + key] = value
    return found
