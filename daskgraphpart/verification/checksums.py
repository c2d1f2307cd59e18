"""Pass `verify-checksums`: sizes and checksums of files against the manifest, as after a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.manifest import find_manifest, read_manifest
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import file_size, is_directory, is_file
from daskgraphpart.storage.paths import to_key
from daskgraphpart.storage.stores import cached_listings
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.storage.paths import Location

QUICK_FILE_NBYTES = 1 << 20
"""Largest file whose checksum a quick check computes."""

QUICK_NBYTES = 256 << 20
"""Bytes that a quick check reads for checksums."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found, and in how many files checksums were compared."""

    findings: list[Finding]
    num_files: int


def manifest_of(config: Location, graph_name: str | None) -> Manifest | None:
    """Manifest beside a config (or in a directory, if the config is damaged); None where DGL wrote the partitions.

    Raises
    ------
    LayoutError
        If there is one that cannot be read.
    """
    path = find_manifest(config if is_directory(config) else config.parent, graph_name)
    return None if path is None else read_manifest(path)


def size_findings(manifest: Manifest) -> list[Finding]:
    """Files that are missing, or of another size than the manifest says."""
    with cached_listings(manifest.path):
        return _size_findings(manifest)


def _size_findings(manifest: Manifest) -> list[Finding]:
    findings = []
    for name, expected in (manifest.files or {}).items():
        path = manifest.path.parent / name
        if not is_file(path):
            findings.append(Finding("files", name, "file is missing", _part(name)))
        elif (size := file_size(path)) != expected.nbytes:
            findings.append(
                Finding(
                    "files",
                    name,
                    "size of the file",
                    _part(name),
                    expected=f"{expected.nbytes:,} bytes",
                    found=f"{size:,}",
                )
            )
    return findings


def checksum_findings(manifest: Manifest, runner: Runner, *, quick: bool = False) -> Checked:
    """Compare checksums of the files that are there and of the right size.

    Parameters
    ----------
    manifest : Manifest
        The manifest.
    runner : Runner
        Runs the pass `verify-checksums`.
    quick : bool
        Whether large files are left out.
    """
    names, left = [], QUICK_NBYTES
    sound = _sizes_agree(manifest)
    for name, expected in sorted((manifest.files or {}).items(), key=lambda item: item[1].nbytes):
        if name not in sound:
            continue
        if quick and (expected.nbytes > QUICK_FILE_NBYTES or expected.nbytes > left):
            break
        left -= expected.nbytes
        names.append(name)
    names.reverse()  # the largest first, so that no worker is left with one at the end
    assert manifest.files is not None or not names
    paths = [to_key(manifest.path.parent / name) for name in names]
    sizes = [manifest.files[name].nbytes for name in names] if manifest.files else []
    digests = runner.run(Pass("verify-checksums", hash_file, paths, None, sizes))
    findings = [
        Finding(
            "checksums", name, "checksum", _part(name), expected=manifest.files[name].digest, found=found.digest
        )
        for name, found in zip(names, digests, strict=True)
        if manifest.files and found.digest != manifest.files[name].digest
    ]  # fmt: skip
    return Checked(findings, len(names))


def _sizes_agree(manifest: Manifest) -> set[str]:
    """Files that are there and have the size they should have."""
    paths = {name: manifest.path.parent / name for name in manifest.files or {}}
    with cached_listings(manifest.path):
        there = {name: file_size(path) for name, path in paths.items() if is_file(path)}
    return {name for name, size in there.items() if manifest.files and size == manifest.files[name].nbytes}


def option_findings(manifest: Manifest, config_hops: int, num_halo: list[int]) -> list[Finding]:
    """Compare what the manifest says of the partitions with what they are."""
    findings = []
    for key, found in (("num_hops", config_hops), ("num_halo_nodes", num_halo)):
        expected = manifest.content.get(key)
        if expected is not None and expected != found:
            findings.append(
                Finding("manifest", manifest.path.name, key, expected=str(expected)[:80], found=str(found)[:80])
            )
    return findings


def require_checksums(manifest: Manifest | None, where: str) -> Manifest:
    """Return a manifest with checksums.

    Raises
    ------
    LayoutError
        If there is none.
    """
    if manifest is None or manifest.files is None:
        raise LayoutError(
            "these partitions have no checksums",
            file=where,
            expected="<graph>.manifest.json of version 2, which daskgraphpart writes",
            hint="compare them with their graph: daskgraphpart verify IN_DIR OUT_DIR",
        )
    return manifest


def _part(name: str) -> int | None:
    head = name.split("/")[0].removeprefix("part")
    return int(head) if head.isdigit() else None
