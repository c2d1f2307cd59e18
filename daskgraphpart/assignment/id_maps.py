"""Say, beside owners and partitions, where the maps of a graph's IDs are, with checksums: pass `hash-id-maps`.

A path alone would not do: another graph may be written where the graph was.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.layouts.id_maps import IdMaps
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.paths import is_remote, to_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from daskgraphpart.storage.paths import Location


def describe_id_maps(id_maps: Mapping[str, Location], out: Path, runner: Runner) -> IdMaps | None:
    """Describe the maps of IDs, as seen from an output directory; None if there are none on this machine."""
    maps = {ntype: path for ntype, path in id_maps.items() if not is_remote(path)}
    if not maps:
        return None
    directory = next(iter(maps.values())).parent
    return IdMaps(os.path.relpath(directory, out), dict(zip(maps, hash_id_maps(maps.values(), runner), strict=True)))


def hash_id_maps(paths: Iterable[Location], runner: Runner) -> list[str]:
    """Read maps of IDs and return their checksums."""
    units = [Unit(to_key(path), file_size(path)) for path in paths]
    found = runner.run(Pass("hash-id-maps", hash_file, units, None, (FileChecksum,)))
    return [checksum.digest for checksum in found]
