"""Pass `verify-checksums`: files against the manifest: which there are, their sizes and checksums."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.checksums import hash_file
from daskgraphpart.storage.files import cached_listings, file_size, is_file
from daskgraphpart.storage.paths import to_key
from daskgraphpart.verification.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.manifest import Manifest
    from daskgraphpart.storage.paths import Location

QUICK_FILE_NBYTES = 1 << 20
"""Largest file whose checksum a quick check computes."""

QUICK_NBYTES = 256 << 20
"""Bytes that a quick check reads for checksums."""

_PART = re.compile(r"part(\d+)")


def size_findings(manifest: Manifest) -> tuple[list[Finding], list[str]]:
    """Find files that are missing or of another size than the manifest says; return the names of the others as well."""
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
    """Compare checksums of files of the right size, small ones only if `quick`; return how many were compared, too."""
    files, names, total = manifest.files or {}, [], 0
    for name in sorted(sound, key=lambda name: files[name].nbytes):
        total += files[name].nbytes
        if quick and (files[name].nbytes > QUICK_FILE_NBYTES or total > QUICK_NBYTES):
            break
        names.append(name)
    names.reverse()  # the largest first, so that no worker is left with one at the end
    paths = [to_key(manifest.path.parent / name) for name in names]
    digests = runner.run(Pass("verify-checksums", hash_file, paths, None, [files[name].nbytes for name in names]))
    findings = [
        Finding("checksums", name, "checksum", None, None, files[name].digest, found.digest, part=part_of(name))
        for name, found in zip(names, digests, strict=True)
        if found.digest != files[name].digest
    ]
    return findings, len(names)


def unlisted_findings(config: Location, num_parts: int, manifest: Manifest | None) -> Iterator[Finding]:
    """Find directories of parts that do not exist, and files that the manifest does not list."""
    root = config.parent
    if not isinstance(root, Path):
        return  # a store has other objects below the same prefix
    listed = None if manifest is None or manifest.files is None else {*manifest.files, manifest.path.name}
    for entry in sorted(root.iterdir()):
        number = part_of(entry.name) if entry.is_dir() else None
        if number is not None and (number >= num_parts or entry.name != f"part{number}"):
            what = "directory of a part that the config does not have"
            yield Finding("files", entry.name, what, expected=f"{num_parts:,} parts")
        elif listed is not None and not entry.name.startswith("."):
            found = [entry] if number is None else sorted(entry.iterdir())
            names = (path.relative_to(root).as_posix() for path in found)
            for name in names:
                if name not in listed:
                    yield Finding("files", name, "not in the manifest", expected="no such file", part=part_of(name))


def part_of(name: str) -> int | None:
    """Part in whose directory a file lies, by its path relative to the config."""
    match = _PART.fullmatch(name.split("/")[0])
    return int(match[1]) if match else None
