"""Pass `relabel-nodes`: new IDs in the order (part, node type, original ID).

Reads owners; writes the map from original to new IDs into the workspace, and the way back, `orig_nids.dgl`, to each
part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.place_rows import write_groups
from daskgraphpart.dispatching.workspace import ORIG_NIDS
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_positions, group_starts, rank_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RelabelUnit:
    """Consecutive nodes of one type, with what each part owns before them.

    Parameters
    ----------
    ntype : str
    start, stop : int
        Original type-wise IDs.
    first_new_nids : int64 array (parts,)
        New ID of each part's first node here.
    byte_offsets : int64 array (parts,)
        Where each part's first original ID goes in its file.
    """

    ntype: str
    start: int
    stop: int
    first_new_nids: np.ndarray
    byte_offsets: np.ndarray


@dataclass(frozen=True, slots=True)
class RelabelConfig:
    """Owner file and map file of each node type, and the output directory."""

    owners: Mapping[str, Region]
    maps: Mapping[str, Region]
    out: str


def relabel_nodes_pass(
    config: RelabelConfig,
    offsets: Mapping[str, RowOffsets],
    book: PartitionBook,
    orig_nids: Sequence[Mapping[str, Region]],
) -> Pass[RelabelUnit, RelabelConfig, None]:
    """Plan the pass.

    Parameters
    ----------
    config : RelabelConfig
        Files.
    offsets : mapping of str to RowOffsets
        Counts of each node type.
    book : PartitionBook
        New ID ranges.
    orig_nids : sequence of mapping of str to Region
        For each part and node type, where original IDs go.
    """
    units = []
    for type_id, ntype in enumerate(book.ntypes):
        rows = offsets[ntype]
        first_bytes = np.array([regions[ntype].offset for regions in orig_nids], np.int64)
        stops = np.append(rows.bounds, config.owners[ntype].num_rows)[1:]
        for start, stop, before in zip(rows.bounds, stops, rows.before, strict=True):
            first_new = book.node_ranges[:, type_id, 0] + before
            units.append(RelabelUnit(ntype, int(start), int(stop), first_new, first_bytes + before * 8))
    sizes = [(unit.stop - unit.start) * (config.maps[unit.ntype].dtype.itemsize + 9) for unit in units]
    return Pass("relabel-nodes", relabel_nodes, units, config, sizes)


def relabel_nodes(unit: RelabelUnit, config: RelabelConfig) -> None:
    """Number the nodes of one interval, and tell each part which it owns."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    target = config.maps[unit.ntype]
    new_nids = np.empty(owners.size, target.dtype)
    cursors = unit.first_new_nids.copy()
    rank_rows(owners, cursors, new_nids)
    target.write(new_nids, unit.start)
    counts = cursors - unit.first_new_nids
    orig_nids = np.empty(owners.size, np.int64)
    group_positions(owners, group_starts(counts)[:-1], orig_nids)
    orig_nids += unit.start
    write_groups(orig_nids, counts, config.out, ORIG_NIDS, unit.byte_offsets)
