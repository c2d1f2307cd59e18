"""Passes `keep-ids` and `place-ids`: nodes and edges keep their original IDs, as in DGL 0.9 (`reshuffle=False`).

Everything is laid out by new IDs as usual; at the end the IDs stored with the local graphs are replaced, by way of the
workspace so that a run that is killed can do it again, and the owners of all nodes and edges are written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from daskgraphpart.book import places_by_part
from daskgraphpart.dispatching.lay_out import graph_regions
from daskgraphpart.dispatching.targets import write_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.region import Region, create_npy, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.dispatching.targets import Target, Targets

ROWS_PER_TASK = 1 << 20
KINDS: tuple[Literal["nodes", "edges"], ...] = ("nodes", "edges")


@dataclass(frozen=True, slots=True, eq=False)
class CopyUnit:
    """Rows ``[start, stop)`` of one array that go to others; `kind` are the IDs that are replaced on the way."""

    source: Region
    targets: tuple[Region, ...]
    start: int
    stop: int
    kind: Literal["", "nodes", "edges"] = ""


@dataclass(frozen=True, slots=True, eq=False)
class KeepConfig:
    """For nodes and for edges: original IDs of every part by new ID, and every part's first new ID, int64 (parts,)."""

    originals: Mapping[str, Target]
    first_ids: Mapping[str, np.ndarray]


def keep_ids(job: Job, book: PartitionBook, targets: Targets, edge_owners: Mapping[str, Region]) -> None:
    """Replace new IDs by original ones, and write the owners of all nodes and edges."""
    job.runner.step("keep-ids", lambda: _find_originals(job, book, targets))
    job.runner.step("place-ids", lambda: _place_originals(job, targets, edge_owners))


def _find_originals(job: Job, book: PartitionBook, targets: Targets) -> None:
    """Write the original ID of every local node and edge to the workspace."""
    units: list[CopyUnit] = []
    Path(job.work.kept(0, 0)).parent.mkdir(exist_ok=True)
    for number, kind in enumerate(KINDS):
        for part in range(job.num_parts):
            source = targets[f"{kind}/id"][0].region(part)
            copy = create_npy(job.work.kept(part, number), np.dtype("<i8"), source.shape)
            units += _cut(source, (copy,), kind)
    originals = (targets[f"orig_nids/{book.ntypes[0]}"][0], targets[f"orig_eids/{book.etypes[0]}"][0])
    firsts = (book.node_ranges[:, 0, 0], book.edge_ranges[:, 0, 0])
    config = KeepConfig(dict(zip(KINDS, originals, strict=True)), dict(zip(KINDS, firsts, strict=True)))
    _run(job, "keep-ids", units, config)


def _place_originals(job: Job, targets: Targets, edge_owners: Mapping[str, Region]) -> None:
    """Put original IDs into the graphs, and owners into their files."""
    units: list[CopyUnit] = []
    for number, kind in enumerate(KINDS):
        for part in range(job.num_parts):
            regions = tuple(target.region(part) for target in targets[f"{kind}/id"])
            kept = npy_region(job.work.kept(part, number), np.dtype("<i8"), regions[0].shape)
            units += _cut(kept, regions)
    places = graph_regions(job)
    for name, owners in (("node_owners", job.assignment.owners), ("edge_owners", edge_owners)):
        for of_type, owner in owners.items():
            units += _cut(owner, places.get(f"{name}/{of_type}", ()))
    _run(job, "place-ids", units, None)


def _run(job: Job, name: str, units: list[CopyUnit], config: KeepConfig | None) -> None:
    job.runner.run(Pass(name, copy_rows, units, config, [8 * (unit.stop - unit.start) for unit in units]))


def copy_rows(unit: CopyUnit, config: KeepConfig | None) -> None:
    """Task of both passes: copy rows, and replace new IDs by original ones if there is a config."""
    values = unit.source.read(unit.start, unit.stop)
    if config is not None:
        first_ids = config.first_ids[unit.kind]
        part = np.searchsorted(first_ids, values, side="right") - 1
        rows = values - first_ids[part]
        values = np.empty(len(rows), np.int64)
        for number, places in places_by_part(part):
            values[places] = config.originals[unit.kind].region(number).take(rows[places])
    write_rows(unit.targets, values, unit.start)


def _cut(source: Region, targets: tuple[Region, ...], kind: Literal["", "nodes", "edges"] = "") -> list[CopyUnit]:
    rows = range(0, source.num_rows, ROWS_PER_TASK)
    return [CopyUnit(source, targets, start, min(start + ROWS_PER_TASK, source.num_rows), kind) for start in rows]
