"""Estimate what training fetches: sample some batches of each part, and see who owns their input nodes.

Batches are those of DGL's distributed training: a trainer has its part's training nodes, each hop starts from all nodes
so far, and the features of all are fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.kernels.sample import shuffled
from daskgraphpart.sampling.columns import map_columns
from daskgraphpart.sampling.sampler import Sampler, stream_key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.book import PartitionBook
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.storage.region import Region

MAX_BATCHES = 20
"""Batches that are sampled of each part; with as many or fewer in an epoch, all of them."""
ROWS_PER_READ = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Fetching:
    """What trainers fetch, by sampling; arrays are by part."""

    fanouts: tuple[int, ...]
    batch_size: int
    seeds: np.ndarray  # int64 (parts,): training nodes; all nodes without a mask
    num_batches: np.ndarray  # int64 (parts,): sampled batches
    input_nodes: np.ndarray  # int64 (parts,): distinct input nodes of each batch, summed up
    remote_nodes: np.ndarray  # int64 (parts,): those that other parts own
    remote_nbytes: np.ndarray  # int64 (parts,): bytes of their features, without masks and labels
    has_masks: bool

    @property
    def batches_per_epoch(self) -> np.ndarray:
        """Batches per epoch, int64 (parts,)."""
        return -(-self.seeds // self.batch_size)

    @property
    def inputs_per_batch(self) -> np.ndarray:
        """Average number of distinct input nodes per batch, float64 (parts,)."""
        average: np.ndarray = self.input_nodes / np.maximum(self.num_batches, 1)
        return average

    @property
    def shares(self) -> np.ndarray:
        """Share of input nodes that other parts own, float64 (parts,)."""
        shares: np.ndarray = self.remote_nodes / np.maximum(self.input_nodes, 1)
        return shares

    @property
    def epoch_nbytes(self) -> np.ndarray:
        """Bytes fetched from other parts per epoch, int64 (parts,)."""
        sampled = np.minimum(self.num_batches * self.batch_size, self.seeds)
        scale = self.seeds / np.maximum(sampled, 1)
        nbytes: np.ndarray = np.rint(self.remote_nbytes * scale).astype(np.int64)
        return nbytes

    @property
    def share(self) -> float:
        """Share of all trainers' input nodes that other parts own."""
        epochs = self.seeds / np.maximum(np.minimum(self.num_batches * self.batch_size, self.seeds), 1)
        total = float((self.input_nodes * epochs).sum())
        return float((self.remote_nodes * epochs).sum()) / total if total else 0.0

    @property
    def worst_part(self) -> int:
        """Part whose trainer fetches the largest share."""
        return int(self.shares.argmax())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        return {
            "fanouts": list(self.fanouts),
            "batch_size": self.batch_size,
            "training_nodes": "masks" if self.has_masks else "all nodes",
            "remote_share": self.share,
            "worst_part": self.worst_part,
            "bytes_per_epoch": int(self.epoch_nbytes.sum()),
            "training_nodes_by_part": self.seeds.tolist(),
            "batches_by_part": self.batches_per_epoch.tolist(),
            "sampled_batches_by_part": self.num_batches.tolist(),
            "input_nodes_by_part": self.inputs_per_batch.tolist(),
            "remote_share_by_part": self.shares.tolist(),
            "bytes_per_epoch_by_part": self.epoch_nbytes.tolist(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class EstimateConfig:
    """Shared by tasks: the graphs of all parts, their CSC, and how to sample."""

    book: PartitionBook
    graphs: Sequence[GraphFile]
    matrices: Sequence[Mapping[str, Region]]
    masks: Sequence[Mapping[str, Region]]  # by part and node type: the column that marks training nodes
    row_nbytes: np.ndarray  # int64 (node types,): feature bytes per node
    fanouts: np.ndarray  # int64 (hops, edge types)
    batch_size: int
    has_masks: bool


def sample_parts(parts: range, config: EstimateConfig) -> list[tuple[int, int, int, int, int]]:
    """Sample batches of consecutive parts; return each part's seeds, batches, input nodes, remote ones and their bytes.

    Memory: a batch with its edges, some 100 bytes each, and `MAX_BATCHES` batches of seeds; files are mapped.
    """
    columns = [
        map_columns(graph, config.book, part, matrix)
        for part, (graph, matrix) in enumerate(zip(config.graphs, config.matrices, strict=True))
    ]
    sampler = Sampler(config.book, columns, config.fanouts, from_all=True)
    return [_sample_part(part, sampler, config) for part in parts]


def _sample_part(part: int, sampler: Sampler, config: EstimateConfig) -> tuple[int, int, int, int, int]:
    key = stream_key(part, "estimate")
    num_seeds, seeds = _choose_seeds(part, config, key)
    inputs = remote = nbytes = 0
    batches = [seeds[first : first + config.batch_size] for first in range(0, seeds.size, config.batch_size)]
    for number, batch in enumerate(batches):
        found = sampler.nodes(sampler.sample(batch, stream_key_of(key, number)).nodes)
        foreign = found.owners != part
        inputs, remote = inputs + foreign.size, remote + int(foreign.sum())
        nbytes += int(config.row_nbytes[found.types[foreign]].sum())
    return num_seeds, len(batches), inputs, remote, nbytes


def _choose_seeds(part: int, config: EstimateConfig, key: np.uint64) -> tuple[int, np.ndarray]:
    """Number of a part's training nodes, and new homogeneous IDs of some in random order."""
    book, first = config.book, config.book.node_ranges[part, 0, 0]
    if not config.has_masks:
        total = int(book.node_counts[part].sum())
        return total, first + _some(total, config, key)
    total = sum(marked.size for marked, _ in _marked(part, config))
    wanted, done = _some(total, config, key), 0
    order, chosen = np.argsort(wanted), np.empty(wanted.size, np.int64)
    for marked, start in _marked(part, config):
        low, high = np.searchsorted(wanted[order], (done, done + marked.size))
        chosen[order[low:high]] = start + marked[wanted[order[low:high]] - done]
        done += marked.size
    return total, chosen


def _some(total: int, config: EstimateConfig, key: np.uint64) -> np.ndarray:
    """First positions of a random order: whole batches, or everything."""
    places = np.empty(min(total, MAX_BATCHES * config.batch_size), np.int64)
    shuffled(key, 0, total, places)
    return places


def _marked(part: int, config: EstimateConfig) -> Iterator[tuple[np.ndarray, int]]:
    """Marked rows of a part's columns, by block, and the new homogeneous ID of each block's row 0."""
    for ntype, region in config.masks[part].items():
        start = int(config.book.node_ranges[part, config.book.ntypes.index(ntype), 0])
        for low in range(0, region.num_rows, ROWS_PER_READ):
            rows = region.read(low, min(low + ROWS_PER_READ, region.num_rows))
            yield np.flatnonzero(rows), start + low
