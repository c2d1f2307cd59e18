"""What all passes of one run share: the partitions, opened once in each process, and the names of temporary files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.partitioned.graph import PartitionedGraph, open_partitions
from daskgraphpart.storage.runs import id_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class Opening:
    """A partition config, opened by one run: a token tells runs apart, between which files may change."""

    config_path: str
    token: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of `verify`; the types are those of the partitions, in their order.

    Parameters
    ----------
    opening : Opening
        The partitions.
    scratch : str
        Directory for temporary files, which no other run has.
    num_nodes, num_edges : tuple of int
        Of each type.
    piece_rows : int
        Rows of a part that a task reads at one time.
    """

    opening: Opening
    scratch: str
    num_nodes: tuple[int, ...]
    num_edges: tuple[int, ...]
    piece_rows: int

    @property
    def nid_dtype(self) -> np.dtype:
        """Dtype of node IDs in temporary files, which may be one more than the number of nodes."""
        return id_dtype(sum(self.num_nodes) + 1)

    @property
    def eid_dtype(self) -> np.dtype:
        """Dtype of edge IDs in temporary files."""
        return id_dtype(max(sum(self.num_edges), sum(self.num_nodes)) + 1)

    @property
    def first_nodes(self) -> np.ndarray:
        """First original homogeneous ID of each node type, then their number."""
        return np.concatenate([[0], np.cumsum(self.num_nodes, dtype=np.int64)]).astype(np.int64)

    @property
    def first_edges(self) -> np.ndarray:
        """First original homogeneous ID of each edge type, then their number."""
        return np.concatenate([[0], np.cumsum(self.num_edges, dtype=np.int64)]).astype(np.int64)

    @property
    def runs(self) -> str:
        """Directory of the traced edges, which are not needed for long."""
        return f"{self.scratch}/runs"

    @property
    def originals(self) -> str:
        """Original homogeneous ID of every new node ID."""
        return f"{self.scratch}/originals.npy"

    def places(self, ntype_id: int) -> str:
        """One more than the new ID of every node of a type, by original ID; 0 where there is none."""
        return f"{self.scratch}/places-{ntype_id}.npy"

    def local(self, part: int) -> str:
        """Original homogeneous ID of every local node of a part."""
        return f"{self.scratch}/local-{part}.npy"

    def halo(self, part: int, stripe: int) -> str:
        """Bitmap of the HALO nodes in which edges of a stripe end."""
        return f"{self.scratch}/halo-{part}-{stripe}.npy"

    def traced(self, part: int, stripe: int, piece: int, kind: str) -> str:
        """Edges by original IDs, grouped by block of the input."""
        return f"{self.runs}/{kind}-{part}-{stripe}-{piece}.npy"

    def new_eids(self, etype_id: int) -> str:
        """New ID of every edge of a type, by original ID."""
        return f"{self.scratch}/new-eids-{etype_id}.npy"


@lru_cache(maxsize=1)
def opened(opening: Opening) -> PartitionedGraph:
    """Return the partitions of a run: the config of a thousand parts is long."""
    return open_partitions(opening.config_path)


def read_pieces(region: Region, first: int, stop: int, rows: int) -> Iterator[tuple[int, np.ndarray]]:
    """Read rows ``[first, stop)`` of a region piece by piece: first row and rows."""
    for start in range(first, stop, rows):
        yield start, region.read(start, min(start + rows, stop))


def type_slices(ends: np.ndarray, first: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Cut local rows ``[first, stop)`` by type, given where each type ends: type, first row and stop row."""
    for type_id, end in enumerate(ends.tolist()):
        begin = int(ends[type_id - 1]) if type_id else 0
        low, high = max(first, begin), min(stop, end)
        if low < high:
            yield type_id, low, high
