"""Compare all but data: manifest and files (pass `verify-checksums`), config, headers of parts (`verify-headers`).

Opening a part checks that its arrays have as many rows as it owns.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.layouts.dgl_graph_file import FORMAT_BITS
from daskgraphpart.layouts.known_outputs import ASSIGNMENT, DIST_GRAPH, description_of
from daskgraphpart.layouts.manifest import SUFFIX, stated_data
from daskgraphpart.layouts.manifest_reader import Manifest, find_manifest, read_manifest
from daskgraphpart.registry import plugin_names
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE, GraphSchema, RowType
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import cached_listings, file_size, is_directory, is_file, list_directory, read_file
from daskgraphpart.storage.paths import Location, to_key
from daskgraphpart.tools.verification.findings import Finding, differences
from daskgraphpart.tools.verification.verify_run import Run, check_part, open_part

if TYPE_CHECKING:
    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.partitioned.stored_part import PartRows, StoredPart
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions


MAX_LISTED = 20

QUICK_NBYTES = 256 << 20
"""Bytes that a quick check reads for checksums, of the smallest files."""

_PART = re.compile(r"part([0-9]{1,18})(/|$)")


def manifest_of(config: Location) -> Manifest | None:
    """Manifest beside a config, even a damaged one; None if there is none."""
    if is_directory(config):
        directory, path = config, find_manifest(config)
    else:
        directory = config.parent
        path = find_manifest(directory, config.stem) or find_manifest(directory)
    return _with_layouts(directory, None if path is None else read_manifest(path))


def _with_layouts(directory: Location, manifest: Manifest | None) -> Manifest | None:
    """Add the files of other layouts, with or without DGL's."""
    for layout in plugin_names("layouts") if manifest is None or manifest.files is not None else ():
        if is_file(description := directory / description_of(layout)):
            own = read_manifest(description, layout)
            manifest = manifest or Manifest(directory / description.name, own.content, {})
            manifest = replace(
                manifest,
                files={**(manifest.files or {}), **(own.files or {})},
                configs=(*manifest.configs, *own.configs),
                links={**manifest.links, **own.links},
                changed=(*manifest.changed, *own.changed),
            )
    return manifest


def lost_findings(config: Location) -> Iterator[Finding]:
    """Find manifests that are gone: of layouts with a directory, and of DGL's config, which its tools would indent."""
    is_whole = is_file(config)
    directory = config.parent if is_whole else config
    with cached_listings(directory):
        layouts = [description_of(layout) for layout in plugin_names("layouts") if is_directory(directory / layout)]
        lost = [name for name in layouts if not is_file(directory / name)]
    if is_whole and find_manifest(directory) is None and b"\n" not in (content := read_file(config)).strip():
        with suppress(ValueError, AttributeError, UnicodeDecodeError):  # a damaged config is told elsewhere
            lost.append(f"{json.loads(content).get('graph_name')}{SUFFIX}")
    for name in lost:
        says = "the manifest that daskgraphpart writes"
        yield Finding("manifest", name, "file is missing", expected=says, found="none")


def link_findings(manifest: Manifest) -> Iterator[Finding]:
    """Find links that are missing or lead elsewhere; stores have none."""
    root = manifest.path.parent
    for name, expected in manifest.links.items() if isinstance(root, Path) else ():
        target = os.readlink(str(root / name)) if os.path.islink(str(root / name)) else "no link"
        if target != expected:
            yield Finding("files", name, "link", expected=expected, found=target)


def change_findings(manifest: Manifest) -> Iterator[Finding]:
    """Find manifests that have changed since they were written, in any key."""
    for name in manifest.changed:
        yield Finding("manifest", name, "changed since it was written: the digest does not match")


def size_findings(manifest: Manifest) -> tuple[list[Finding], list[str]]:
    """Find files that are missing or of the wrong size; also return the names of the others."""
    findings, sound, files = [], [], manifest.files or {}
    with cached_listings(manifest.path):
        paths = {name: manifest.path.parent / name for name in files}
        sizes = {name: file_size(path) if is_file(path) else None for name, path in paths.items()}
    for name, size in sizes.items():
        if size == files[name].nbytes:
            sound.append(name)
        elif size is None:
            findings.append(Finding("files", name, "file is missing", part=part_of(name)))
        else:
            says = f"{files[name].nbytes:,} bytes"
            what, actual = "size of the file", f"{size:,}"
            findings.append(Finding("files", name, what, expected=says, found=actual, part=part_of(name)))
    return findings, sound


def checksum_findings(
    manifest: Manifest, sound: list[str], runner: Runner, *, quick: bool = False, configs_only: bool = False
) -> tuple[list[Finding], int]:
    """Compare checksums of files of the right size, small ones only if `quick`; return their number, too."""
    files = manifest.files or {}
    names = sorted({*sound} & {*manifest.configs} if configs_only else sound, key=lambda name: files[name].nbytes)
    if quick:
        read = list(accumulate(files[name].nbytes for name in names))
        names = names[: bisect_right(read, QUICK_NBYTES)]
    names.reverse()  # largest first, so that no worker ends with a large one
    units = [Unit(to_key(manifest.path.parent / name), files[name].nbytes) for name in names]
    digests = runner.run(Pass("verify-checksums", hash_file, units, None))
    findings = [
        Finding("checksums", name, "checksum", None, None, files[name].digest, checksum.digest, part=part_of(name))
        for name, checksum in zip(names, digests, strict=True)
        if checksum.digest != files[name].digest
    ]
    return findings, len(names)


def unlisted_findings(config: Location, num_parts: int, manifest: Manifest | None) -> Iterator[Finding]:
    """Find directories of unknown parts, and files that the manifest does not list."""
    root = config.parent
    if not isinstance(root, Path):
        return  # a store may have other objects below the prefix
    listed = None if manifest is None or manifest.files is None else {*manifest.files, manifest.path.name}
    known = {DIST_GRAPH, ASSIGNMENT, *(name.partition("/")[0] for name in listed or ())}
    for entry in list_directory(root):
        number = part_of(entry) if is_directory(root / entry) else None
        if number is not None and (number >= num_parts or entry != f"part{number}"):
            what = "the config has no such part"
            yield Finding("files", entry, what, expected=f"{num_parts:,} parts")
        elif listed is not None and not entry.startswith(".") and (number is not None or entry not in known):
            for name in [entry] if number is None else [f"{entry}/{name}" for name in list_directory(root / entry)]:
                if name not in listed:
                    yield Finding("files", name, "not in the manifest", expected="no such file", part=part_of(name))


def part_of(name: str) -> int | None:
    """Part in whose directory a file lies, by its path relative to the config."""
    match = _PART.match(name.removeprefix(f"{DIST_GRAPH}/"))
    return int(match[1]) if match else None


def entry_findings(
    manifest: Manifest, config: PartitionConfig, schema: GraphSchema, facts: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare the manifest with the config, the input, and facts found in the parts."""
    content, random = manifest.content, config.part_method == "random"
    method, out_edges = content.get("method"), content.get("out_edges")
    is_other = isinstance(method, str) and method != "random"
    expected = {
        "graph_name": config.graph_name,
        "num_parts": config.num_parts,
        "num_hops": config.halo_hops,
        "method": "random" if random else method if is_other else "any other than random",
        "out_edges": out_edges if isinstance(out_edges, bool) else "true or false",
        "node_data": stated_data(schema.node_types),
        "edge_data": stated_data(schema.edge_types),
        **facts,
    }
    actual = {key: content.get(key) for key in expected}
    yield from differences("manifest", manifest.path.name, _flat(expected), _flat(actual))
    if manifest.files is not None:
        needed = (name for part in config.parts for name in (part.part_graph, part.node_feats, part.edge_feats))
        for name in [name for name in needed if name not in manifest.files][:MAX_LISTED]:
            yield Finding("manifest", manifest.path.name, f"files: {name} is not listed", part=part_of(name))


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by path, as ``node_data.author.x.dtype``, without empty ones at the top."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        if key == TRAINERS:
            continue  # a feature added by partitioning
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        elif prefix or value not in (None, {}):
            flat[prefix + key] = value
    return flat


DTYPES = {
    "_ID": ("int64",),
    # uint8 since DGL 1.0; before, int32 for nodes and int8 for edges
    "inner_node": ("uint8", "int8", "int32"),
    "inner_edge": ("uint8", "int8", "int32"),
    # int32 since DGL 1.0, int64 from its older pipeline
    "_TYPE": ("int32", "int64"),
    "part_id": ("int64",),
}
"""Of the arrays in a local graph."""

TRAINERS = "trainer_id"
"""A feature that partitioning adds or overwrites, one number per node or edge."""

ORIGINALS = "original IDs"
"""Check that counts only if original IDs should be there."""

DGL_TYPES = ((DEFAULT_NTYPE,), (DEFAULT_ETYPE,))
"""What DGL calls the types of a homogeneous graph; ours keep the names of the input."""


@dataclass(frozen=True, slots=True)
class PartHeaders:
    """What a part's headers say; sizes count only if nothing is wrong."""

    findings: list[Finding]
    has_originals: bool = False
    num_nodes: int = 0
    num_edges: int = 0
    formats: Sequence[str] = ()


def align_types(schema: GraphSchema, parts: StoredPartitions) -> GraphSchema | None:
    """Return the input's types in the partitions' order, without what partitioning overwrites; None if they differ."""
    if not schema.is_heterogeneous and schema.etypes and (parts.ntypes, parts.etypes) == DGL_TYPES:
        return _without_trainers(schema)
    if sorted(schema.ntypes) != sorted(parts.ntypes) or sorted(schema.etypes) != sorted(parts.etypes):
        return None
    node_types = tuple(schema.node_type(name) for name in parts.ntypes)  # DGL orders types by name
    edge_types = tuple(schema.edge_type(name) for name in parts.etypes)
    return _without_trainers(replace(schema, node_types=node_types, edge_types=edge_types))


def _without_trainers(schema: GraphSchema) -> GraphSchema:
    data = {of.name: tuple(spec for spec in of.data if spec.name != TRAINERS) for of in schema.row_types}
    node_types = tuple(replace(of, data=data[of.name]) for of in schema.node_types)
    return replace(
        schema, node_types=node_types, edge_types=tuple(replace(of, data=data[of.name]) for of in schema.edge_types)
    )


def type_findings(schema: GraphSchema, parts: StoredPartitions) -> Iterator[Finding]:
    """Say which types differ."""
    expected, actual = (
        {"node types": ", ".join(sorted(of.ntypes)) or None, "edge types": ", ".join(sorted(of.etypes)) or None}
        for of in (schema, parts)
    )
    yield from differences("types", parts.config.name, expected, actual)


def config_findings(schema: GraphSchema, parts: StoredPartitions) -> Iterator[Finding]:
    """Compare the numbers in the config with the input."""
    config, book, file = parts.content, parts.book, parts.config.name
    names = ["num_nodes", "num_edges", *(f"ranges of {of_type.name} in all parts" for of_type in schema.row_types)]
    expected = [schema.num_nodes, schema.num_edges, *(of_type.num_rows for of_type in schema.row_types)]
    counts = np.concatenate([book.node_counts.sum(axis=0), book.edge_counts.sum(axis=0)])
    actual = [config.num_nodes, config.num_edges, *counts.tolist()]
    yield from differences("counts", file, *(dict(zip(names, of, strict=True)) for of in (expected, actual)))
    if config.halo_hops < 1:
        yield Finding("config", file, "halo_hops", expected="1 or more", found=str(config.halo_hops))


def verify_headers(numbers: tuple[int, ...], run: Run) -> list[PartHeaders]:
    """Check the headers of all files of some parts."""
    return [_headers_of(open_part(number, run), run) for number in numbers]


def _headers_of(part: StoredPart, run: Run) -> PartHeaders:
    findings = check_part(part, lambda part: _check_headers(part, run.schema))
    if any(finding.check != ORIGINALS for finding in findings):
        return PartHeaders(findings)
    has_originals = bool(part.node_rows.originals or part.edge_rows.originals)
    graph = part.graph
    return PartHeaders(findings, has_originals, graph.num_nodes, graph.num_edges, sorted(graph.formats))


def _check_headers(part: StoredPart, schema: GraphSchema) -> Iterator[Finding]:
    yield from _graph(part)
    yield from _of_kind(part.node_rows, schema.node_types)
    yield from _of_kind(part.edge_rows, schema.edge_types)
    for key, ids in part.split_regions.items():
        ntype, _, mask = key.rpartition("/")
        if mask not in part.node_rows.features.get(ntype, {}) or ids.dtype != np.int64 or len(ids.shape) != 1:
            what = f"{key}: not the IDs of a mask that the part has"
            yield Finding("split", "split_nids.dgl", what, ntype)


def _graph(part: StoredPart) -> Iterator[Finding]:
    graph, file = part.graph, "graph.dgl"
    has_types = len(part.book.ntypes) > 1 or len(part.book.etypes) > 1
    arrays = []
    for rows in (part.node_rows, part.edge_rows):
        kind = rows.ids.what
        arrays += [(f"{kind} data {name!r}", rows.arrays[name], DTYPES[name]) for name in rows.arrays if name in DTYPES]
        if has_types and "_TYPE" not in rows.arrays:
            yield Finding("arrays", file, f"{kind} data '_TYPE' is missing")
    for name, matrices in graph.formats.items():
        arrays += [(f"{name} matrix, {key!r}", region, ("int64",)) for key, region in matrices.items()]
        if not graph.may_make & FORMAT_BITS[name]:
            yield Finding("formats", file, f"{name} is stored, but DGL may not make it")
    for what, region, dtypes in arrays:
        if region.dtype.name not in dtypes or len(region.shape) != 1:
            says, actual = f"{' or '.join(dtypes)}, one axis", f"{region.dtype.name} {region.shape}"
            yield Finding("dtypes", file, what, expected=says, found=actual)


def _of_kind(rows: PartRows, types: Sequence[RowType]) -> Iterator[Finding]:
    """Compare dtypes and row shapes; DGL's pipeline writes placeholders of any dtype for parts without rows."""
    expected = {
        f"{name}/{spec.name}": f"{spec.stored_dtype.name} {spec.row_shape} per row"
        for name, of_type in zip(rows.ids.names, types, strict=True)
        for spec in of_type.data
    }
    actual = {
        key: f"{region.dtype.name} {region.shape[1:]} per row" if region.num_rows else expected.get(key, "no rows")
        for name, of_type in rows.features.items()
        for key, region in ((f"{name}/{feature}", region) for feature, region in of_type.items())
        if key in expected or not key.endswith(f"/{TRAINERS}")
    }
    yield from differences("features", rows.features_path.name, expected, actual)
    expected, actual = (
        {f"original IDs of {name}": "one per row" for name in names} for names in (rows.ids.names, rows.originals)
    )
    yield from differences(ORIGINALS, rows.originals_file, expected, actual)
