"""Bytes on disk by kind of file and part."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from daskgraphpart.storage.files import file_size, file_sizes_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.storage.paths import Location

    class PartOnDisk(Protocol):
        """Where the files of a part are."""

        @property
        def graph_path(self) -> Location:
            """Graph file."""

        @property
        def node_feats_path(self) -> Location:
            """File of node data."""

        @property
        def edge_feats_path(self) -> Location:
            """File of edge data."""


def file_sizes(parts: Sequence[PartOnDisk]) -> Mapping[str, np.ndarray]:
    """Measure the files of all parts.

    Arrays: returns mapping of str to int64 (parts,).
    """
    shared = Counter(part.graph_path.parent for part in parts)
    found: dict[str, np.ndarray] = {}
    for number, part in enumerate(parts):
        named = [
            ("graph.dgl", part.graph_path),
            ("node_feat.dgl", part.node_feats_path),
            ("edge_feat.dgl", part.edge_feats_path),
        ]
        directory = part.graph_path.parent
        if shared[directory] == 1 and {path.parent for _, path in named} == {directory}:
            sizes = file_sizes_in(directory)
        else:
            sizes = {name: file_size(path) for name, path in named}
        for name, size in sizes.items():
            found.setdefault(name, np.zeros(len(parts), np.int64))[number] += size
    return dict(sorted(found.items()))
