"""A part's training nodes, by the columns that mark them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.schema import marks_training

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.storage.region import Region

ROWS_PER_READ = 1 << 20


def training_masks(regions: Mapping[str, Mapping[str, Region]], book: PartitionBook) -> dict[str, Region]:
    """A part's columns that mark training nodes, by node type."""
    return {
        ntype: region
        for ntype in book.ntypes
        for name, region in regions.get(ntype, {}).items()
        if marks_training(name) and region.num_rows and len(region.shape) == 1
    }


def marked_nodes(masks: Mapping[str, Region], book: PartitionBook, part: int) -> Iterator[tuple[np.ndarray, int]]:
    """Marked rows of a part's columns, by block, and the new homogeneous ID of each block's row 0."""
    for ntype, region in masks.items():
        start = int(book.node_ranges[part, book.ntypes.index(ntype), 0])
        for low, rows in region.pieces(ROWS_PER_READ):
            yield np.flatnonzero(rows), start + low
