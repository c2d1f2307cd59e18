"""Describe one part's graph to the tasks that write it; passes `mark-halo`, foreign nodes, and `write-nodes`.

Local node IDs: own nodes by new ID, then halo nodes by new ID. Which foreign nodes a part holds is a bitmap over the
new ID space, N / 8 bytes: membership without sorting or hashing. Those of all parts lie in one file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.dispatching.edge_runs import DESTINATION, EXTRA_DTYPE, SOURCE, Slices, read_columns, reads_of
from daskgraphpart.dispatching.make_files import Target, write_rows
from daskgraphpart.ids.ranges import places_by_part
from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, list_members, local_ids, rank_words
from daskgraphpart.storage.region import Region, id_dtype

if TYPE_CHECKING:
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.ids.book import PartitionBook

NODES_PER_WRITE = 1 << 18
NODE_NBYTES = 13


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """What passes over graphs share."""

    work: Workspace
    num_nodes: int  # in the whole graph
    num_edges: int
    run_dtype: np.dtype
    max_edges: int  # that fit into the memory of a task
    halo: Region  # bitmaps of the halo nodes of all parts, uint64 (parts, words)


@dataclass(frozen=True, slots=True, eq=False)
class HaloUnit:
    """One part: its range of new node IDs, the edges it owns, and its extra edges."""

    part: int
    low: int
    high: int
    owned: Slices
    extra: Slices


def mark_halo(unit: HaloUnit, config: GraphConfig) -> tuple[int, int]:
    """Write the bitmap of one part's halo nodes; return how many there are, and the cut edges the part owns."""
    words = empty_bitmap(config.num_nodes)
    num_cut_edges = 0
    for run, run_rows, start, count in reads_of(unit.owned):
        for (src,) in read_columns(config.work.file("runs", run), config.run_dtype, run_rows, (SOURCE,), start, count):
            num_cut_edges += add_foreign(src, unit.low, unit.high, words)
    for run, run_rows, start, count in reads_of(unit.extra):
        for ends in read_columns(
            config.work.file("extra", run), EXTRA_DTYPE, run_rows, (SOURCE, DESTINATION), start, count
        ):
            for ids in ends:
                add_foreign(ids, unit.low, unit.high, words)
    config.halo.row(unit.part).write(words, 0)
    return ranks_of(words, config.num_nodes)[1], int(num_cut_edges)


@dataclass(frozen=True, slots=True, eq=False)
class PartGraph:
    """One part, once its sizes are known."""

    part: int
    low: int  # range of its own nodes' new IDs
    high: int
    num_halo_nodes: int
    num_owned_edges: int
    num_extra_edges: int
    first_new_eid: int  # new ID of its first edge
    arrays: Mapping[str, tuple[Region, ...]]  # where its arrays go, by name

    @property
    def num_nodes(self) -> int:
        """Own and halo nodes."""
        return self.high - self.low + self.num_halo_nodes

    @property
    def num_edges(self) -> int:
        """Edges in the part."""
        return self.num_owned_edges + self.num_extra_edges


@dataclass(frozen=True, slots=True, eq=False)
class NewIds:
    """Ends of the ranges of new node or edge IDs, int64 (parts, types), and original IDs if kept."""

    ends: np.ndarray
    originals: Target | None  # original IDs by part and new ID, of the only type

    def start(self, part: int, type_id: int) -> int:
        """First ID of a part and type."""
        index = part * self.ends.shape[1] + type_id
        return int(self.ends.flat[index - 1]) if index else 0

    def types_of(self, new_ids: np.ndarray) -> np.ndarray:
        """Look up the type of each."""
        types: np.ndarray = np.searchsorted(self.ends.reshape(-1), new_ids, side="right") % self.ends.shape[1]
        return types

    def parts_of(self, new_ids: np.ndarray) -> np.ndarray:
        """Look up the owner of each."""
        return np.searchsorted(self.ends[:, -1], new_ids, side="right")

    def stored(self, new_ids: np.ndarray) -> np.ndarray:
        """IDs that graphs store: new, or original if kept."""
        if self.originals is None:
            return new_ids
        owned = np.empty(new_ids.size, np.int64)
        for part, places in places_by_part(np.searchsorted(self.ends[:, 0], new_ids, side="right")):
            owned[places] = self.originals.region(part).take(new_ids[places] - self.start(part, 0))
        return owned


@dataclass(frozen=True, slots=True, eq=False)
class BuildConfig:
    """Partition book, and new IDs of nodes and edges."""

    graph: GraphConfig
    book: PartitionBook
    new_nids: NewIds
    new_eids: NewIds


def write_nodes(graph: PartGraph, config: BuildConfig) -> None:
    """Write the IDs of a part's nodes, whether they are inner, and their types."""
    ids, arrays, local = config.new_nids, graph.arrays, 0
    for new_nids, inner in _nodes(graph, config.graph.halo):
        write_rows(arrays.get("nodes/id", ()), ids.stored(new_nids), local)
        if "nodes/inner" in arrays:
            write_rows(arrays["nodes/inner"], np.full(new_nids.size, inner, np.uint8), local)
        if "nodes/type" in arrays:
            write_rows(arrays["nodes/type"], ids.types_of(new_nids), local)
        if "nodes/part" in arrays:
            write_rows(arrays["nodes/part"], ids.parts_of(new_nids), local)
        local += new_nids.size
    assert local == graph.num_nodes, f"part {graph.part}: {local} nodes written, {graph.num_nodes} counted"


def _nodes(graph: PartGraph, halo: Region) -> Iterator[tuple[np.ndarray, bool]]:
    for first in range(graph.low, graph.high, NODES_PER_WRITE):
        yield np.arange(first, min(first + NODES_PER_WRITE, graph.high)), True
    if not graph.num_halo_nodes:
        return
    words = halo.row(graph.part)
    per_read = NODES_PER_WRITE // 64
    members = np.empty(NODES_PER_WRITE, np.int64)
    for first in range(0, words.num_rows, per_read):
        count = list_members(words.read(first, min(first + per_read, words.num_rows)), first, members)
        yield members[:count], False


def local_ids_of(graph: PartGraph, config: GraphConfig, *columns: np.ndarray) -> list[np.ndarray]:
    """Turn arrays of new node IDs into local IDs of one part, int64; holds the part's bitmap and ranks."""
    if not graph.num_halo_nodes:
        return [np.subtract(new_nids, graph.low, dtype=np.int64) for new_nids in columns]
    words = config.halo.row(graph.part).read()
    ranks, _ = ranks_of(words, config.num_nodes)
    local = [np.empty(new_nids.size, np.int64) for new_nids in columns]
    for new_nids, out in zip(columns, local, strict=True):
        local_ids(new_nids, graph.low, graph.high, words, ranks, out)
    return local


def ranks_of(words: np.ndarray, num_nodes: int) -> tuple[np.ndarray, int]:
    """Return the rank of each bitmap word, and the number of set bits."""
    ranks = np.empty(words.size, id_dtype(num_nodes))
    return ranks, int(rank_words(words, ranks))
