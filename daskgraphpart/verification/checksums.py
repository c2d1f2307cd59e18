"""Pass `verify-checksums`: sizes and checksums of files against the manifest, as after a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import LayoutError
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import file_size, is_file
from daskgraphpart.storage.paths import to_key
from daskgraphpart.storage.stores import cached_listings
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest

QUICK_FILE_NBYTES = 1 << 20
"""Largest file whose checksum a quick check computes."""

QUICK_NBYTES = 256 << 20
"""Bytes that a quick check reads for checksums."""


def size_findings(manifest: Manifest) -> tuple[list[Finding], list[str]]:
    """Find files that are missing or of another size than the manifest says; return the names of the others as well."""
    findings, sound = [], []
    paths = {name: manifest.path.parent / name for name in manifest.files or {}}
    with cached_listings(manifest.path):
        sizes = {name: file_size(path) if is_file(path) else None for name, path in paths.items()}
    for name, expected in (manifest.files or {}).items():
        size = sizes[name]
        if size == expected.nbytes:
            sound.append(name)
        elif size is None:
            findings.append(Finding("files", name, "file is missing", part_of(name)))
        else:
            says = f"{expected.nbytes:,} bytes"
            findings.append(Finding("files", name, "size of the file", part_of(name), expected=says, found=f"{size:,}"))
    return findings, sound


def checksum_findings(
    manifest: Manifest, sound: list[str], runner: Runner, *, quick: bool = False
) -> tuple[list[Finding], int]:
    """Compare checksums of files of the right size, small ones only if `quick`; return how many were compared, too."""
    files = manifest.files or {}
    names, left = [], QUICK_NBYTES
    for name in sorted(sound, key=lambda name: files[name].nbytes):
        nbytes = files[name].nbytes
        if quick and (nbytes > QUICK_FILE_NBYTES or nbytes > left):
            break
        left -= nbytes
        names.append(name)
    names.reverse()  # the largest first, so that no worker is left with one at the end
    paths = [to_key(manifest.path.parent / name) for name in names]
    digests = runner.run(Pass("verify-checksums", hash_file, paths, None, [files[name].nbytes for name in names]))
    findings = [
        Finding("checksums", name, "checksum", part_of(name), expected=files[name].digest, found=found.digest)
        for name, found in zip(names, digests, strict=True)
        if found.digest != files[name].digest
    ]
    return findings, len(names)


def require_checksums(manifest: Manifest | None, where: str) -> Manifest:
    """Return a manifest with checksums."""
    if manifest is None or manifest.files is None:
        raise LayoutError(
            "these partitions have no checksums",
            file=where,
            expected="<graph>.manifest.json of version 2, which daskgraphpart writes",
            hint="compare them with their graph: daskgraphpart verify IN_DIR OUT_DIR",
        )
    return manifest


def part_of(name: str) -> int | None:
    """Part in whose directory a file lies, by its path relative to the config."""
    head = name.split("/")[0].removeprefix("part")
    return int(head) if head.isdigit() else None
