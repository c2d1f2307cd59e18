"""Pass `keep-ids`: the deprecated layout of `reshuffle=False`, in which nodes and edges keep their original IDs.

Everything is laid out by new IDs as usual; at the end the IDs stored in the graphs are replaced, by way of the
workspace so that a run that is killed can do it again, and two files tell the owner of every node and edge:
`node_map.npy` and `edge_map.npy`, int64, as DGL 0.9 wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.workspace import EDGE_MAP, GRAPH, NODE_MAP, ORIG_EIDS, ORIG_NIDS, unfinished_part_file
from daskgraphpart.engine.plan import Pass
from daskgraphpart.layouts.dgl_graph_file import read_graph_file
from daskgraphpart.layouts.dgl_tensor_file import read_tensor_file
from daskgraphpart.storage.atomic import publish_once, temporary_path
from daskgraphpart.storage.region import Region, create_npy, open_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.dispatching.job import Job

ROWS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class KeepUnit:
    """Rows ``[start, stop)`` of one array that becomes another.

    Parameters
    ----------
    source, target : Region
        Where values are read, and where they go.
    originals : tuple of Region
        For new IDs the original IDs of every part; empty for what is only copied.
    starts : int64 array (parts,)
        First new ID of every part.
    start, stop : int
        Which rows.
    """

    source: Region
    target: Region
    originals: tuple[Region, ...]
    starts: np.ndarray
    start: int
    stop: int


def keep_ids(job: Job, book: PartitionBook, edge_owners: Mapping[str, Region]) -> tuple[str, str]:
    """Replace new IDs by original ones, and write the owners of all nodes and edges.

    Returns
    -------
    tuple of str
        Absolute paths of the node map and of the edge map, as DGL's config has them.
    """
    job.runner.step("keep-ids", lambda: _find_originals(job, book))
    job.runner.step("place-ids", lambda: _place_originals(job, edge_owners))
    paths = f"{job.out}/{NODE_MAP}", f"{job.out}/{EDGE_MAP}"
    for path in paths:
        publish_once(path)
    return paths


def _id_regions(job: Job) -> list[tuple[Region, Region]]:
    """For each part the regions of node IDs and of edge IDs in its graph."""
    graphs = [read_graph_file(unfinished_part_file(job.out, part, GRAPH)) for part in range(job.num_parts)]
    return [(graph.node_arrays["_ID"], graph.edge_arrays["_ID"]) for graph in graphs]


def _find_originals(job: Job, book: PartitionBook) -> None:
    """Write the original ID of every new ID in the graphs to the workspace."""
    units: list[KeepUnit] = []
    Path(job.work.kept(0, 0)).parent.mkdir(exist_ok=True)
    for kind, (name, ranges) in enumerate(((ORIG_NIDS, book.node_ranges), (ORIG_EIDS, book.edge_ranges))):
        files = [read_tensor_file(unfinished_part_file(job.out, part, name)) for part in range(job.num_parts)]
        originals = [next(iter(file.values())) for file in files]
        for part, regions in enumerate(_id_regions(job)):
            target = create_npy(job.work.kept(part, kind), np.dtype("<i8"), regions[kind].shape)
            units += _cut(regions[kind], target, originals, ranges[:, 0, 0])
    _run(job, "keep-ids", units)


def _place_originals(job: Job, edge_owners: Mapping[str, Region]) -> None:
    """Put original IDs into the graphs, and owners into their files."""
    units: list[KeepUnit] = []
    for part, regions in enumerate(_id_regions(job)):
        for kind, region in enumerate(regions):
            units += _cut(open_npy(job.work.kept(part, kind)), region, (), np.empty(0, np.int64))
    for name, owners in ((NODE_MAP, job.assignment.owners), (EDGE_MAP, edge_owners)):
        (owner,) = owners.values()
        target = create_npy(temporary_path(f"{job.out}/{name}"), np.dtype("<i8"), owner.shape)
        units += _cut(owner, target, (), np.empty(0, np.int64))
    _run(job, "place-ids", units)


def _run(job: Job, name: str, units: list[KeepUnit]) -> None:
    job.runner.run(Pass(name, keep_rows, units, None, [8 * (unit.stop - unit.start) for unit in units]))


def keep_rows(unit: KeepUnit, _: None) -> None:
    """Do one unit."""
    values = unit.source.read(unit.start, unit.stop)
    if unit.originals:
        part = np.searchsorted(unit.starts, values, side="right") - 1
        rows = values - unit.starts[part]
        values = np.empty(len(rows), np.int64)
        for number in np.unique(part).tolist():
            mine = part == number
            # a memory map: only pages that hold the rows are read
            values[mine] = np.asarray(unit.originals[number].memmap())[rows[mine]]
    unit.target.write(values.astype("<i8", copy=False), unit.start)


def _cut(source: Region, target: Region, originals: Sequence[Region], starts: np.ndarray) -> list[KeepUnit]:
    rows = range(0, source.num_rows, ROWS_AT_ONCE)
    return [
        KeepUnit(source, target, tuple(originals), starts, start, min(start + ROWS_AT_ONCE, source.num_rows))
        for start in rows
    ]
