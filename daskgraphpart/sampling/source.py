"""What loaders read: in-edges, features and masks of the parts; checks that files have not changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.sampling.columns import PartColumns
    from daskgraphpart.sampling.rows import FeatureRows

FileState: TypeAlias = tuple[int, int, int] | None
"""Size, time of the last change and number of a file; None if there is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Partitions to sample: all parts, or one with its HALO nodes."""

    book: PartitionBook
    part_id: int | None  # the part, or None for all
    graphs: Sequence[GraphFile]  # of the parts to sample
    columns: Sequence[PartColumns]
    features: Sequence[FeatureRows]  # of nodes and edges, over all parts
    files: Mapping[str, FileState]  # as of opening

    @property
    def is_homogeneous(self) -> bool:
        """Whether there is one node type and one edge type, which PyG then has no names for."""
        return len(self.book.ntypes) == len(self.book.etypes) == 1

    def id_range(self, kind: str) -> tuple[int, int]:
        """Type-wise IDs of the nodes or edges that may be seeds."""
        first, _ = self.book.part_range(self.part_id or 0, kind)
        _, stop = self.book.part_range(self.book.num_parts - 1 if self.part_id is None else self.part_id, kind)
        return first, stop

    def check_unchanged(self) -> None:
        """Refuse files that have changed."""
        for path, state in self.files.items():
            if file_state(path) != state:
                raise LayoutError(
                    "the file has changed since it was opened" if os.path.exists(path) else "the file is gone",
                    file=path,
                    hint="open the partitions again, and make a new loader",
                )


def file_states(paths: Iterable[str]) -> dict[str, FileState]:
    """States of files."""
    return {path: file_state(path) for path in paths}


def file_state(path: str) -> FileState:
    """State of a file, to detect changes."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
