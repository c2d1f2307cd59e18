"""Partition configs of DGL 0.9, with bare relations for edge types, made canonical in place.

Does what `tools/change_etype_to_canonical_etype.py` of DGL 1.0 does to the config, and what it leaves undone: keys in
the files of edge features. Every file is replaced whole, the config last; before and after, the partitions can be
opened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.layouts.dgl_config import find_config, read_config
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file, tensor_file_layout
from daskgraphpart.layouts.file_layout import ArraySpec, create_file
from daskgraphpart.remote.url import local_path
from daskgraphpart.storage.atomic import environment_faults, naming, publish, write_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

BYTES_AT_ONCE = 16 << 20
BACKUP_SUFFIX = ".before-migration"


def migrate_config(path: str | os.PathLike[str]) -> Path | None:
    """Give a partition config canonical edge types.

    Parameters
    ----------
    path : path
        Partition config, or the directory it is in.

    Returns
    -------
    Path or None
        Where the old config is kept; None if edge types were canonical.

    Raises
    ------
    LayoutError
        If the config is wrong, a file is missing, or a relation has no edge that tells which node types it joins.
    """
    config_path = local_path(find_config(path), "a config that is changed in place")
    with environment_faults(), naming(config_path):
        content: dict[str, Any] = json.loads(config_path.read_text(encoding="utf-8"))
    config = read_config(config_path)
    old = sorted(content.get("etypes", {}), key=content.get("etypes", {}).__getitem__)
    renamed = _Renamed(dict(zip(old, config.book.etypes, strict=False)))
    if all(name == new for name, new in renamed.names.items()):
        return None
    with environment_faults():
        for part in config.parts:
            _rename_keys(config_path.parent / part.edge_feats, renamed)
        kept = config_path.with_name(config_path.name + BACKUP_SUFFIX)
        write_bytes(kept, config_path.read_bytes())
        for key in ("etypes", "edge_map"):
            content[key] = {renamed.names.get(name, name): value for name, value in content[key].items()}
        write_bytes(config_path, (json.dumps(content) + "\n").encode())
    return kept


@dataclass(frozen=True, slots=True)
class _Renamed:
    names: Mapping[str, str]

    def key(self, key: str) -> str:
        kind, slash, name = key.rpartition("/")
        return f"{self.names.get(kind, kind)}/{name}" if slash else key


def _rename_keys(path: Path, renamed: _Renamed) -> None:
    """Write a tensor file again with other keys."""
    regions = read_tensor_file(path)
    if all(renamed.key(key) == key for key in regions):
        return
    specs = [ArraySpec(renamed.key(key), region.dtype, region.shape) for key, region in regions.items()]
    targets = create_file(path, tensor_file_layout(specs))
    for key, region in regions.items():
        at_once = max(1, BYTES_AT_ONCE // max(1, region.row_nbytes))
        for start in range(0, region.num_rows, at_once):
            rows = region.read(start, min(start + at_once, region.num_rows))
            targets[renamed.key(key)].write(rows, start)
    publish(path)
