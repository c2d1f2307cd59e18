"""Pass `list-nodes`: the original IDs of the nodes that each part owns, in the order of their new IDs.

Reads owners. The numbers of the rows of an interval, grouped by owner, are the original IDs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.dispatching.targets import write_groups
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_by_owner

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from daskgraphpart.dispatching.offsets import RowOffsets
    from daskgraphpart.dispatching.targets import Targets
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class ListUnit:
    """Original IDs ``[start, stop)`` of one node type; nodes of each part before them, int64 (parts,)."""

    ntype: str
    start: int
    stop: int
    before: np.ndarray


@dataclass(frozen=True, slots=True)
class ListConfig:
    """Owner file of each node type, and where all arrays go."""

    owners: Mapping[str, Region]
    targets: Targets


def list_nodes_pass(config: ListConfig, offsets: Mapping[str, RowOffsets]) -> Pass[ListUnit, ListConfig, None]:
    """Plan the pass, for the intervals that were counted."""
    units = [
        ListUnit(ntype, start, stop, before)
        for ntype, rows in offsets.items()
        if f"orig_nids/{ntype}" in config.targets
        for start, stop, before in rows.intervals()
    ]
    return Pass("list-nodes", list_nodes, units, config, [9 * (unit.stop - unit.start) for unit in units])


def list_nodes(unit: ListUnit, config: ListConfig) -> None:
    """Tell each part which nodes of one interval it owns."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    rows, counts = group_by_owner(owners, unit.before.size)
    write_groups(rows + unit.start, counts, config.targets[f"orig_nids/{unit.ntype}"], unit.before)
