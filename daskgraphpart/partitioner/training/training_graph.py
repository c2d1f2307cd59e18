"""The graph as sampled training sees it: in-edges, seeds, what is expected of them, and the rows that parts fetch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass
from daskgraphpart.partitioner.training.expect_samples import (
    Expected,
    Seeds,
    Work,
    expect_samples,
    expect_work,
    mark_seeds,
    weigh_samples,
)
from daskgraphpart.partitioner.training.in_edges import InEdges, sort_in_edges
from daskgraphpart.partitioner.training.predict_rows import DrawnSeeds, PredictedRows, draw_seeds, predict_rows
from daskgraphpart.partitioner.training.training import Training, read_training
from daskgraphpart.partitioner.weigh_nodes import WeightColumn
from daskgraphpart.storage.files import make_directory

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.training.expect_samples import Weights
    from daskgraphpart.partitioner.training.in_edges import Columns
    from daskgraphpart.storage.region import Region

WORK_BITS = 11
"""Of a node's average work, as whole numbers."""


@dataclass(frozen=True, slots=True)
class TrainingGraph:
    """What is known before there are parts, and the training it is for."""

    training: Training
    in_edges: InEdges
    seeds: Seeds
    drawn: DrawnSeeds
    expected: Expected
    work: Work | None
    num_parts: int

    @property
    def has_masks(self) -> bool:
        """Whether only some nodes are seeds."""
        return self.seeds.count < self.in_edges.num_nodes

    @property
    def columns(self) -> dict[str, WeightColumn]:
        """What can be balanced: seeds, and work."""
        columns = {"seeds": WeightColumn("seeds", 0.0, rows=(self.seeds.marks, 0))}
        if self.work is not None:
            mean = self.work.at_nodes / max(1, self.in_edges.num_nodes)
            half = math.ldexp(0.5, WORK_BITS - math.frexp(mean)[1])
            scales = half, half * self.work.at_nodes / (self.work.below_seeds or 1.0)
            columns["work"] = WeightColumn("work", 0.0, rows=(self.work.region, 0), scales=scales)
        return columns

    def weigh(self, weights: Weights, directory: Path, runner: Runner) -> Adjacency:
        """Build the adjacency with these weights of edges."""
        return weigh_samples(self.expected, weights, directory, runner)

    def predict(self, parts: Region, runner: Runner) -> PredictedRows:
        """Predict what parts fetch in an epoch."""
        return predict_rows(self.in_edges, self.training, self.drawn, parts, self.num_parts, runner)

    def count_cut_edges(self, parts: Region, runner: Runner) -> int:
        """Count the cut edges."""
        config = CutConfig(self.in_edges, parts)
        return sum(runner.run(Pass("count-cut-edges", count_cut, self.in_edges.units(4), config)))


def read_training_graph(
    graph: Graph, num_parts: int, options: AssignOptions, directory: Path, runner: Runner
) -> TrainingGraph:
    """Read all edges, and expect what batches sample if the options make use of it."""
    training = read_training(options, graph.schema)
    make_directory(directory)
    seeds = mark_seeds(graph, training, num_parts, directory, runner)
    drawn = draw_seeds(seeds.marks, seeds.count, training, num_parts, directory, runner)
    in_edges = sort_in_edges(graph, directory, runner)
    expected, work = Expected(in_edges, seeds, training.fanouts, (), ()), None
    if options.objtype == "fetch" or any(item.name == "work" for item in options.constraints):
        expected = expect_samples(in_edges, seeds, training, directory, runner)
        work = expect_work(expected, directory, runner)
    return TrainingGraph(training, in_edges, seeds, drawn, expected, work, num_parts)


class CutConfig(NamedTuple):
    """The graph, and the part of each node."""

    in_edges: InEdges
    parts: Region


def count_cut(span: Columns, config: CutConfig) -> int:
    """Count the cut edges to some nodes."""
    indptr, sources, _ = config.in_edges.read(span)
    mine = np.repeat(config.parts.read(span.start, span.stop), np.diff(indptr))
    return int(np.count_nonzero(config.parts.memmap()[sources] != mine))
