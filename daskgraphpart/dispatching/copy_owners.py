"""Pass `copy-owners`: the owners of all nodes and edges by original ID, for layouts that keep IDs or list owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.make_files import write_rows
from daskgraphpart.engine.runner import Pass, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.source import Block
    from daskgraphpart.storage.region import Region


def copy_owners(job: Job, edge_owners: Mapping[str, Region], whole: Mapping[str, tuple[Region, ...]]) -> None:
    """Write the owners of all nodes and edges, for layouts that want them."""
    works = [
        CopyUnit(block, whole[f"{name}/{of_type}"])
        for name, owners in (("node_owners", job.assignment.files), ("edge_owners", edge_owners))
        for of_type, region in owners.items()
        if f"{name}/{of_type}" in whole
        for block in region.blocks(job.sizes.interval_rows)
    ]
    units = [Unit(work, 8 * work.rows.num_rows) for work in works]
    job.runner.run(Pass("copy-owners", copy_interval, units, None))


@dataclass(frozen=True, slots=True)
class CopyUnit:
    """Consecutive rows of one type, and the output of their owners."""

    rows: Block[Any]
    targets: tuple[Region, ...]


def copy_interval(unit: CopyUnit, _: None) -> None:
    """Copy the owners of some rows."""
    write_rows(unit.targets, unit.rows.read(), unit.rows.first_row)
