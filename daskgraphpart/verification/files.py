"""Compare a manifest with the partitions' files (pass `verify-checksums`), their config and the input."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.layouts.manifest import SUFFIX, Manifest, find_manifest, read_manifest, stated_data
from daskgraphpart.layouts.written_files import ASSIGNMENT, DIST_GRAPH, OWN_LAYOUTS, description_of
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import cached_listings, file_size, is_directory, is_file, list_directory, read_file
from daskgraphpart.storage.paths import Location, to_key
from daskgraphpart.verification.findings import Finding, differences
from daskgraphpart.verification.headers import TRAINERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.layouts.dgl_config import PartitionConfig
    from daskgraphpart.schema import GraphSchema

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
    for layout in OWN_LAYOUTS if manifest is None or manifest.files is not None else ():
        if is_file(description := directory / description_of(layout)):
            found = read_manifest(description)
            files = {f"{layout}/{name}": checksum for name, checksum in (found.files or {}).items()}
            manifest = manifest or Manifest(directory / description.name, found.content, {})
            changed = *manifest.changed, *(f"{layout}/{name}" for name in found.changed)
            manifest = replace(manifest, files={**(manifest.files or {}), **files}, changed=changed)
    return manifest


def missing_manifest(config: Location, graph_name: str) -> Iterator[Finding]:
    """Find that our partitions have lost their manifest: our config is one line, DGL's tools indent theirs."""
    if b"\n" not in read_file(config).strip():
        says = "the manifest that daskgraphpart writes beside its config"
        yield Finding("manifest", graph_name + SUFFIX, "file is missing", expected=says, found="none")


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
            what, found = "size of the file", f"{size:,}"
            findings.append(Finding("files", name, what, expected=says, found=found, part=part_of(name)))
    return findings, sound


def checksum_findings(
    manifest: Manifest, sound: list[str], runner: Runner, *, quick: bool = False
) -> tuple[list[Finding], int]:
    """Compare checksums of files of the right size, small ones only if `quick`; return their number, too."""
    files = manifest.files or {}
    names = sorted(sound, key=lambda name: files[name].nbytes)
    if quick:
        read = list(accumulate(files[name].nbytes for name in names))
        names = names[: bisect_right(read, QUICK_NBYTES)]
    names.reverse()  # largest first, so that no worker ends with a large one
    units = [Unit(to_key(manifest.path.parent / name), files[name].nbytes) for name in names]
    digests = runner.run(Pass("verify-checksums", hash_file, units, None))
    findings = [
        Finding("checksums", name, "checksum", None, None, files[name].digest, found.digest, part=part_of(name))
        for name, found in zip(names, digests, strict=True)
        if found.digest != files[name].digest
    ]
    return findings, len(names)


def unlisted_findings(config: Location, num_parts: int, manifest: Manifest | None) -> Iterator[Finding]:
    """Find directories of unknown parts, and files that the manifest does not list."""
    root = config.parent
    if not isinstance(root, Path):
        return  # a store may have other objects below the prefix
    listed = None if manifest is None or manifest.files is None else {*manifest.files, manifest.path.name}
    known = {*OWN_LAYOUTS, DIST_GRAPH, ASSIGNMENT, *(name.partition("/")[0] for name in listed or ())}
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
    found = {key: content.get(key) for key in expected}
    yield from differences("manifest", manifest.path.name, _flat(expected), _flat(found))
    if manifest.files is not None:
        needed = (name for part in config.parts for name in (part.part_graph, part.node_feats, part.edge_feats))
        for name in [name for name in needed if name not in manifest.files][:MAX_LISTED]:
            yield Finding("manifest", manifest.path.name, f"files: {name} is not listed", part=part_of(name))


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by path, as ``node_data.author.x.dtype``, without empty ones at the top."""
    found: dict[str, Any] = {}
    for key, value in content.items():
        if key == TRAINERS:
            continue  # a feature added by partitioning
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{prefix}{key}.")
        elif prefix or value not in (None, {}):
            found[prefix + key] = value
    return found
