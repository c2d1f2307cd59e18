"""Record, beside owners and partitions, the paths and checksums of ID maps: pass `hash-id-maps`.

The checksum tells if another graph has taken the place of the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.files import file_size
from daskgraphpart.storage.paths import Location, is_remote, to_key


def describe_id_maps(id_maps: Mapping[str, Location], out: Path, runner: Runner) -> IdMaps | None:
    """Describe ID maps relative to an output directory; None if this machine has none."""
    maps = {ntype: path for ntype, path in id_maps.items() if not is_remote(path)}
    if not maps:
        return None
    directory = next(iter(maps.values())).parent
    return IdMaps(os.path.relpath(directory, out), dict(zip(maps, hash_id_maps(maps.values(), runner), strict=True)))


def hash_id_maps(paths: Iterable[Location], runner: Runner) -> list[str]:
    """Return the checksums of ID maps."""
    units = [Unit(to_key(path), file_size(path)) for path in paths]
    hashed = runner.run(Pass("hash-id-maps", hash_file, units, None, (FileChecksum,)))
    return [checksum.digest for checksum in hashed]
