"""Sample the neighbourhood of seeds, hop by hop: nodes in order of discovery, and the edges between them.

All IDs are new and homogeneous, for any types: the picks at a node depend on the key, the hop, the node and the edge
type. Seeds are listed, or a range; training nodes are found by the columns that mark them. Seeds are shuffled without
an array of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.hashing import stream_key_of
from daskgraphpart.kernels.sample import (
    count_picks,
    find_in_edges,
    find_ranges,
    number_nodes,
    pick_edges,
    shuffled,
    table_of,
)
from daskgraphpart.partitioned.sampling.sampled_rows import group_by_part
from daskgraphpart.partitioner.training.count_fetches import Fetches
from daskgraphpart.schema import canonical_tuple, marks_training

if TYPE_CHECKING:
    from daskgraphpart.ids.book import PartitionBook
    from daskgraphpart.ids.ranges import IdRanges
    from daskgraphpart.partitioned.sampling.part_columns import PartColumns
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Place of nodes or edges: `owners`, `types` and type-wise new IDs `ids`, int64 each."""

    owners: np.ndarray
    types: np.ndarray
    ids: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """A sampled neighbourhood."""

    nodes: np.ndarray  # new homogeneous IDs; seeds first, as given, then hop by hop
    rows: np.ndarray  # sources and destinations of edges, as positions among the nodes
    cols: np.ndarray
    eids: np.ndarray  # new homogeneous IDs of the edges
    node_ends: tuple[int, ...]  # numbers of nodes and edges after the seeds, and after each hop
    edge_ends: tuple[int, ...]


class Locator:
    """Look up owners and types of new homogeneous IDs of nodes or edges."""

    def __init__(self, ids: IdRanges) -> None:
        self.ends = np.ascontiguousarray(ids.ranges[:, :, 1].reshape(-1))
        self.num_types = len(ids.names)
        before = np.cumsum(ids.counts, axis=0) - ids.counts
        self.shifts = (before - ids.ranges[:, :, 0]).reshape(-1)

    def __call__(self, ids: np.ndarray) -> Located:
        """Look up IDs that are in range."""
        ranges = np.empty(ids.size, np.int64)
        find_ranges(ids, self.ends, ranges)
        owners, types = np.divmod(ranges, self.num_types)
        return Located(owners, types, ids + self.shifts[ranges])


@dataclass(frozen=True, eq=False)
class Sampler:
    """What to sample, and from where.

    `columns` are those of all parts, in order; or of one part, whose halo nodes then have only the in-edges in it.
    `fanouts`, int64 (hops, edge types), are in-edges to pick at each node, all if negative. With `from_all`, each hop
    starts from all nodes so far, as in DGL's samplers; otherwise from the newest, as in PyG's.
    """

    book: PartitionBook
    columns: Sequence[PartColumns]
    fanouts: np.ndarray
    replace: bool = False
    from_all: bool = False

    @cached_property
    def nodes(self) -> Locator:
        """Types and owners of nodes."""
        return Locator(self.book.nodes)

    @cached_property
    def slots(self) -> list[np.ndarray]:
        """For each hop, by node type, the types of in-edges to pick, then -1."""
        ntypes = self.book.ntypes
        ends = np.array([ntypes.index(canonical_tuple(etype)[2]) for etype in self.book.etypes], np.int64)
        by_type = []
        for fanouts in self.fanouts:
            of_types = [np.flatnonzero((ends == number) & (fanouts != 0)) for number in range(len(ntypes))]
            slots = np.full((len(ntypes), max(map(len, of_types), default=0)), -1, np.int64)
            for number, etypes in enumerate(of_types):
                slots[number, : etypes.size] = etypes
            by_type.append(slots)
        return by_type

    def fetches_of(self, part: int) -> Fetches:
        """What batches of a part fetch."""
        first, stop = self.book.nodes.part_range(part)

        def foreign_of(seeds: np.ndarray, key: np.uint64) -> np.ndarray:
            nodes = self.sample(seeds, key).nodes
            return nodes[(nodes < first) | (nodes >= stop)]

        last = int(self.book.node_ranges.max(initial=0))
        return Fetches(foreign_of, lambda ids: self.nodes(ids).types, last)

    def sample(self, seeds: np.ndarray, key: np.uint64) -> Sampled:
        """Sample around seeds, new homogeneous IDs, with a key's random numbers."""
        nodes, table = seeds.copy(), table_of(seeds, seeds.size)
        edges: list[tuple[np.ndarray, ...]] = []
        num_nodes, first, num_edges = seeds.size, 0, 0
        node_ends, edge_ends = [num_nodes], [0]
        for hop, (fanouts, slots) in enumerate(zip(self.fanouts, self.slots, strict=True)):
            sources, destinations, eids = self._pick(nodes[first:num_nodes], fanouts, slots, stream_key_of(key, hop))
            room = num_nodes + sources.size
            nodes = np.concatenate([nodes[:num_nodes], np.empty(sources.size, np.int64)])
            if 2 * room > table.size:
                table = table_of(nodes[:num_nodes], room)
            rows = np.empty(sources.size, np.int64)
            stop = number_nodes(sources, table, nodes, num_nodes, rows)
            edges.append((rows, destinations + first, eids))
            first, num_nodes, num_edges = 0 if self.from_all else num_nodes, stop, num_edges + rows.size
            node_ends.append(num_nodes)
            edge_ends.append(num_edges)
        rows, cols, eids = (np.concatenate(column) for column in zip(*edges, strict=True))
        return Sampled(nodes[:num_nodes].copy(), rows, cols, eids, tuple(node_ends), tuple(edge_ends))

    def _pick(
        self, nodes: np.ndarray, fanouts: np.ndarray, slots: np.ndarray, key: np.uint64
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pick in-edges of nodes: sources, destinations as positions among nodes, new edge IDs."""
        located, edge_ranges = self.nodes(nodes), self.book.edge_ranges
        starts, degrees = np.zeros((2, nodes.size, slots.shape[1]), np.int64)
        groups = [*self._by_part(nodes, located)]
        for part, places, columns in groups:
            csc = part.indptr, part.data, part.new_eids, part.first_eid, part.stop_eid - part.first_eid
            common = columns, places, located.owners, located.types, slots
            bad = find_in_edges(*common, csc, edge_ranges, starts, degrees)
            if bad >= 0:
                raise part.damaged(int(nodes[bad]))
        offsets = np.empty(degrees.size + 1, np.int64)
        count_picks(located.types, slots, fanouts, self.replace, degrees, offsets)
        sources, destinations, eids = picked = np.empty((3, int(offsets[-1])), np.int64)
        hop, rows = (nodes, located.owners, located.types, slots, fanouts), (starts, degrees, offsets)
        for part, places, _ in groups:
            num_owned = part.stop_eid - part.first_eid
            from_csc = part.indices, part.data, part.new_eids, part.first_eid, num_owned, self.replace
            ends = part.first_nid, part.num_inner
            bad = pick_edges(hop, places, key, rows, from_csc, part.new_nids, ends, edge_ranges, tuple(picked))
            if bad >= 0:
                raise part.damaged(int(nodes[bad]))
        return sources, destinations, eids

    def _by_part(self, nodes: np.ndarray, located: Located) -> Iterator[tuple[PartColumns, np.ndarray, np.ndarray]]:
        """Parts to ask for in-edges, positions of the nodes to ask them about, and local IDs of nodes."""
        if len(self.columns) < self.book.num_parts:  # one part, with its halo nodes
            (part,) = self.columns
            yield part, np.arange(nodes.size), part.local(nodes)
        elif len(self.columns) == 1:
            yield self.columns[0], np.arange(nodes.size), nodes
        else:
            local = nodes - self.book.node_ranges[:, 0, 0][located.owners]
            for number, places in group_by_part(located.owners):
                yield self.columns[number], places, local


ROWS_PER_READ = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Seeds of batches: type-wise IDs of nodes or edges, or a whole range.

    `ids` are None for all of ``[first, first + count)``. A seed's number, `input_id` in PyG, is its position in a list,
    or else its ID.
    """

    first: int
    count: int
    ids: np.ndarray | None = None
    is_listed: bool = False  # listed by a user, in a meaningful order

    def batch(self, number: int, size: int, key: np.uint64 | None) -> tuple[np.ndarray, np.ndarray]:
        """Positions and IDs of a batch's seeds; shuffled if there is a key."""
        start = number * size
        positions = np.arange(start, min(start + size, self.count))
        if key is not None:
            shuffled(key, start, self.count, positions)
        ids = self.first + positions if self.ids is None else np.asarray(self.ids[positions], np.int64)
        return positions, ids


def training_masks(regions: Mapping[str, Mapping[str, Region]], book: PartitionBook) -> dict[str, Region]:
    """A part's columns that mark training nodes, by node type."""
    return {
        ntype: region
        for ntype in book.ntypes
        for name, region in regions.get(ntype, {}).items()
        if marks_training(name) and region.num_rows and len(region.shape) == 1
    }


def training_seeds(masks: Mapping[str, Region] | None, book: PartitionBook, part: int) -> Seeds:
    """Training nodes of a part by new homogeneous ID, 8 bytes each: those that columns mark, or all without columns."""
    if masks is None:
        first, stop = book.nodes.part_range(part)
        return Seeds(first, stop - first)
    marked = [np.empty(0, np.int64)]
    for ntype, region in masks.items():
        start = int(book.node_ranges[part, book.ntypes.index(ntype), 0])
        marked += [start + low + np.flatnonzero(rows) for low, rows in region.pieces(ROWS_PER_READ)]
    ids = np.concatenate(marked)
    return Seeds(0, ids.size, ids)
