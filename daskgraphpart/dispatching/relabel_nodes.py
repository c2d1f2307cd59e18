"""Pass `relabel-nodes`: new IDs in the order (part, node type, original ID).

Reads owners; writes the map from original to new IDs into the workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import rank_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RelabelUnit:
    """Original IDs ``[start, stop)`` of one node type; new ID of each part's first node among them, int64 (parts,)."""

    ntype: str
    start: int
    stop: int
    first_new_nids: np.ndarray


@dataclass(frozen=True, slots=True)
class RelabelConfig:
    """Owner file and map file of each node type."""

    owners: Mapping[str, Region]
    maps: Mapping[str, Region]


def relabel_nodes_pass(
    config: RelabelConfig, offsets: Mapping[str, RowOffsets], book: PartitionBook
) -> Pass[RelabelUnit, RelabelConfig, None]:
    """Plan the pass, for the intervals that were counted."""
    units = [
        RelabelUnit(ntype, start, stop, book.node_ranges[:, type_id, 0] + before)
        for type_id, ntype in enumerate(book.ntypes)
        for start, stop, before in offsets[ntype].intervals()
    ]
    sizes = [(unit.stop - unit.start) * (config.maps[unit.ntype].dtype.itemsize + 1) for unit in units]
    return Pass("relabel-nodes", relabel_nodes, units, config, sizes)


def relabel_nodes(unit: RelabelUnit, config: RelabelConfig) -> None:
    """Number the nodes of one interval."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    target = config.maps[unit.ntype]
    new_nids = np.empty(owners.size, target.dtype)
    rank_rows(owners, unit.first_new_nids.copy(), new_nids)
    target.write(new_nids, unit.start)
