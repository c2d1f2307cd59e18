"""Compare the manifest with the partitions: its entries, the files it lists, and files that are there beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.layouts.manifest import SUFFIX, find_manifest, read_manifest, stated_data
from daskgraphpart.storage.files import is_directory, read_file
from daskgraphpart.verification.checksums import part_of
from daskgraphpart.verification.findings import Finding, show_difference
from daskgraphpart.verification.headers import TRAINERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import Location

_PART = re.compile(r"part(\d+)")
MAX_LISTED = 20


def manifest_of(config: Location) -> Manifest | None:
    """Manifest beside a config, or in a directory whose config is damaged; None if there is none."""
    if is_directory(config):
        path = find_manifest(config)
    else:
        path = find_manifest(config.parent, config.stem) or find_manifest(config.parent)
    return None if path is None else read_manifest(path)


def is_our_config(config: Location) -> bool:
    """Whether daskgraphpart wrote a config: on one line, where DGL's tools indent theirs."""
    return b"\n" not in read_file(config).strip()


def missing_manifest(config: Location, graph_name: str) -> Finding:
    """Finding of partitions of ours that have lost their manifest."""
    return Finding(
        "manifest", graph_name + SUFFIX, "file is missing",
        expected="the manifest that daskgraphpart writes beside its config", found="none",
    )  # fmt: skip


def unlisted_findings(config: Location, num_parts: int, manifest: Manifest | None) -> list[Finding]:
    """Find directories of parts that do not exist, and files that the manifest does not list."""
    root = config.parent
    if not isinstance(root, Path):
        return []  # a store has other objects below the same prefix
    findings = []
    for entry in sorted(root.iterdir()):
        match = _PART.fullmatch(entry.name)
        if match and entry.is_dir() and (int(match[1]) >= num_parts or entry.name != f"part{int(match[1])}"):
            what = "directory of a part that the config does not have"
            findings.append(Finding("files", entry.name, what, expected=f"{num_parts:,} parts"))
        elif manifest is None or manifest.files is None or entry.name.startswith("."):
            continue
        elif match and entry.is_dir():
            names = (f"{entry.name}/{file.name}" for file in sorted(entry.iterdir()))
            findings += [_unlisted(name) for name in names if name not in manifest.files]
        elif entry.name not in (*manifest.files, manifest.path.name):
            findings.append(_unlisted(entry.name))
    return findings


def _unlisted(name: str) -> Finding:
    return Finding("files", name, "not in the manifest", part_of(name), expected="no such file")


def entry_findings(manifest: Manifest, config: PartitionConfig, schema: GraphSchema) -> Iterator[Finding]:
    """Compare the entries of a manifest with the config and the input."""
    data = {"node_data": stated_data(schema.node_types), "edge_data": stated_data(schema.edge_types)}
    expected = {"graph_name": config.graph_name, "num_parts": config.num_parts, "num_hops": config.halo_hops, **data}
    yield from _differing(manifest, expected)
    method = manifest.content.get("method")
    says = "random" if config.part_method == "random" else "any other than random"
    if not isinstance(method, str) or (method == "random") != (config.part_method == "random"):
        yield _entry(manifest, "method", says, repr(method))
    if not isinstance(manifest.content.get("out_edges"), bool):
        yield _entry(manifest, "out_edges", "true or false", repr(manifest.content.get("out_edges")))
    if manifest.files is not None:
        needed = [name for part in config.parts for name in (part.part_graph, part.node_feats, part.edge_feats)]
        missing = [name for name in needed if name not in manifest.files]
        for name in missing[:MAX_LISTED]:
            yield Finding("manifest", manifest.path.name, f"files: {name} is not listed", part_of(name))


def count_findings(
    manifest: Manifest, num_halo: Sequence[int], formats: Sequence[tuple[str, ...]]
) -> Iterator[Finding]:
    """Compare what a manifest says of the parts with the headers of their files."""
    yield from _differing(manifest, {"num_halo_nodes": list(num_halo)})
    for number, found in enumerate(formats):
        if manifest.content.get("graph_formats") != sorted(found):
            says = repr(manifest.content.get("graph_formats"))
            yield _entry(manifest, f"graph_formats, which part {number} does not have", repr(sorted(found)), says)
            return


def cut_findings(manifest: Manifest, num_cut_edges: int) -> Iterator[Finding]:
    """Compare the edge cut."""
    yield from _differing(manifest, {"num_cut_edges": num_cut_edges})


def _differing(manifest: Manifest, expected: Mapping[str, Any]) -> Iterator[Finding]:
    for key, value in expected.items():
        found = manifest.content.get(key)
        if found == value and type(found) is type(value):
            continue
        if isinstance(found, list) and isinstance(value, list):
            yield _entry(manifest, key, *show_difference(value, found))
        elif isinstance(found, dict) and isinstance(value, dict):
            yield from _differing_types(manifest, key, value, found)
        else:
            yield _entry(manifest, key, repr(value)[:200], "nothing" if found is None else repr(found)[:200])


def _differing_types(
    manifest: Manifest, key: str, expected: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare features, type by type."""
    for name in {**expected, **found}:
        one, other = expected.get(name, {}), found.get(name, {})
        for feature in {**one, **other} if isinstance(other, dict) else one:
            if feature == TRAINERS and feature not in one:
                continue
            says = [repr(of.get(feature, "nothing")) if isinstance(of, dict) else repr(of)[:200] for of in (one, other)]
            if says[0] != says[1]:
                yield _entry(manifest, f"{key}.{name}.{feature}", *says)


def _entry(manifest: Manifest, key: str, expected: str, found: str) -> Finding:
    return Finding("manifest", manifest.path.name, key, expected=expected, found=found)
