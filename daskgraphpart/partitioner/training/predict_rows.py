"""Passes `draw-seeds` and `predict-rows`: count, by sampled batches, which rows parts would fetch from each other.

As `report` does for finished parts, but from the in-edges of the graph and the part of each node. The picks at a node
depend on the batch and the node alone, so that candidates are compared by nearly the same batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.kernels.hashing import stream_key, stream_key_of, uniform_ints
from daskgraphpart.kernels.sample import number_nodes, table_of
from daskgraphpart.partitioner.owner_parts import ROWS_PER_UNIT
from daskgraphpart.public import Public
from daskgraphpart.quality import imbalance
from daskgraphpart.storage.region import Region, npy_region, save_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.partitioner.training.in_edges import InEdges
    from daskgraphpart.partitioner.training.training import Training

BATCHES = 4
"""Batches that are sampled of each part, on average; if an epoch has fewer, of several epochs."""
CHANCE, MORE_BATCHES = 0.01, 64
"""By how much chance may change what is told, and the batches that are sampled where it would change it by more."""
ALWAYS = 1 << 32  # of random numbers of 32 bits


@dataclass(frozen=True, slots=True)
class PredictedRows(Public):
    """What an epoch of training is predicted to sample, by part."""

    seeds: tuple[int, ...]
    inputs: tuple[int, ...]  # rows that batches need
    fetched: tuple[int, ...]  # those of them that other parts own
    work: tuple[int, ...]  # in-edges sampled
    nbytes: tuple[int, ...]  # of features of the fetched rows

    @property
    def num_fetched(self) -> int:
        """Rows that all parts fetch from others."""
        return sum(self.fetched)

    @property
    def share(self) -> float:
        """Rows that are fetched from other parts, of all."""
        return sum(self.fetched) / max(sum(self.inputs), 1)

    @property
    def busiest(self) -> float:
        """Work of the part with the most over the average."""
        return 1 + imbalance(self.work)


class DrawConfig(NamedTuple):
    """Who is a seed, who of them is drawn (random numbers below a bound), and where drawn ones go."""

    marks: Region
    bound: int
    key: np.uint64
    directory: str


@dataclass(frozen=True, slots=True)
class DrawnSeeds:
    """Some seeds, in files, the share that they are of all, and for how many batches of each part."""

    files: tuple[Region, ...]
    share: float
    num_batches: int

    def read(self) -> np.ndarray:
        """Read them all, int64 (seeds,)."""
        return np.concatenate([file.read() for file in self.files] or [np.empty(0, np.int64)])


def draw_seeds(
    marks: Region,
    num_seeds: int,
    training: Training,
    num_parts: int,
    directory: Path,
    runner: Runner,
    num_batches: int = BATCHES,
) -> DrawnSeeds:
    """Draw enough seeds for the batches of all parts."""
    share = min(1.0, num_batches * training.batch_size * num_parts / num_seeds)
    config = DrawConfig(marks, round(share * ALWAYS), stream_key(0, "draw-seeds"), str(directory))
    spans = [
        range(start, min(start + ROWS_PER_UNIT, marks.num_rows)) for start in range(0, marks.num_rows, ROWS_PER_UNIT)
    ]
    units = [Unit(span, len(span)) for span in spans]
    counts = runner.run(Pass("draw-seeds", draw, units, config))
    files = tuple(
        npy_region(_drawn_path(config, span), np.int64, (count,)) for span, count in zip(spans, counts, strict=True)
    )
    return DrawnSeeds(files, share, num_batches)


def _drawn_path(config: DrawConfig, span: range) -> str:
    return f"{config.directory}/drawn-seeds-{span.start}.npy"


def draw(span: range, config: DrawConfig) -> int:
    """Write the drawn seeds among some nodes; return how many."""
    numbers = np.empty(len(span), np.int64)
    uniform_ints(config.key, span.start, ALWAYS, numbers)
    drawn = span.start + np.flatnonzero((numbers < config.bound) & (config.marks.read(span.start, span.stop) != 0))
    save_npy(_drawn_path(config, span), drawn)
    return int(drawn.size)


class PredictConfig(NamedTuple):
    """The graph, how it is sampled, and the part of each node."""

    in_edges: InEdges
    training: Training
    seeds: DrawnSeeds
    parts: Region


def predict_rows(
    in_edges: InEdges, training: Training, seeds: DrawnSeeds, parts: Region, num_parts: int, runner: Runner
) -> PredictedRows:
    """Sample batches of every part."""
    config = PredictConfig(in_edges, training, seeds, parts)
    each = -(-num_parts // (4 * runner.resources.workers))
    units = [Unit(range(first, min(first + each, num_parts)), 1) for first in range(0, num_parts, each)]
    counted = [row for rows in runner.run(Pass("predict-rows", sample_parts, units, config)) for row in rows]
    return PredictedRows(*(tuple(map(round, column)) for column in zip(*counted, strict=True)))


def sample_parts(parts: range, config: PredictConfig) -> list[tuple[float, ...]]:
    """Sample batches of some parts; return the numbers of `PredictedRows` of each."""
    owners = config.parts.memmap()
    seeds = config.seeds.read()
    owners_of_seeds = owners[seeds]
    return [_sample_part(part, seeds[owners_of_seeds == part], owners, config) for part in parts]


def _sample_part(part: int, seeds: np.ndarray, owners: np.ndarray, config: PredictConfig) -> tuple[float, ...]:
    training, size = config.training, config.training.batch_size
    total = seeds.size / config.seeds.share
    # whole batches only, unless these are all seeds, or too few
    stop = seeds.size if config.seeds.share == 1 or seeds.size < size else seeds.size - seeds.size % size
    epochs = -(-config.seeds.num_batches * size // max(stop, size))
    numbers, order_key = np.empty(seeds.size, np.int64), stream_key(part, "order-seeds")
    inputs = fetched = work = nbytes = 0
    for epoch in range(epochs):
        uniform_ints(stream_key_of(order_key, epoch), 0, ALWAYS, numbers)
        shuffled = seeds[np.argsort(numbers, kind="stable")[:stop]]
        key = stream_key(epoch, "predict-rows")
        for first in range(0, stop, size):
            batch, of_batch = shuffled[first : first + size], stream_key_of(key, first)
            nodes, picks = sample_batch(batch, config.in_edges, training.fanouts, of_batch)
            foreign = nodes[owners[nodes] != part]
            inputs, fetched, work = inputs + nodes.size, fetched + foreign.size, work + picks
            nbytes += int(training.row_nbytes[training.types_of(foreign)].sum())
    scale = total / max(epochs * stop, 1)
    return total, inputs * scale, fetched * scale, work * scale, nbytes * scale


def sample_batch(seeds: np.ndarray, in_edges: InEdges, fanouts: np.ndarray, key: np.uint64) -> tuple[np.ndarray, int]:
    """Sample around seeds; return all nodes, and the number of in-edges picked."""
    nodes, picks = seeds, 0
    for hop, of_hop in enumerate(fanouts):
        picked = in_edges.pick(nodes, of_hop, stream_key_of(key, hop))
        picks += picked.size
        table = table_of(nodes, nodes.size + picked.size)
        grown = np.concatenate([nodes, np.empty_like(picked)])
        nodes = grown[: number_nodes(picked, table, grown, nodes.size, np.empty_like(picked))].copy()
    return nodes, picks
