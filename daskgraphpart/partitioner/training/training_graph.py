"""The graph as sampled training sees it: in-edges, seeds, what is expected of them, and the rows that parts fetch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.engine.runner import Pass, Unit
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
from daskgraphpart.partitioner.training.predict_rows import (
    BATCHES,
    CHANCE,
    MORE_BATCHES,
    DrawnSeeds,
    PredictedRows,
    draw_seeds,
    predict_rows,
)
from daskgraphpart.partitioner.training.training import Training, read_training
from daskgraphpart.partitioner.weigh_nodes import ROWS_PER_UNIT, WeightColumn
from daskgraphpart.storage.files import make_directory

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.adjacency.csr_blocks import Adjacency
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.balance import BalanceConstraint
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

    def constraints(self, items: tuple[BalanceConstraint, ...]) -> tuple[BalanceConstraint, ...]:
        """Keep those of seeds if only some nodes are; of few seeds a part may have one more, for the sake of others."""
        count = self.seeds.count
        items = tuple(item for item in items if item.name != "seeds" or count < self.in_edges.num_nodes)
        room = (-(-count // self.num_parts) + 1.5) * self.num_parts / count - 1
        return tuple(replace(of, tolerance=max(of.tolerance, room)) if of.name == "seeds" else of for of in items)

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

    def predict_well(self, parts: Region, predicted: PredictedRows, directory: Path, runner: Runner) -> PredictedRows:
        """Predict it again, from more batches, where so few rows were sampled that chance counts."""
        count, size = self.seeds.count, self.training.batch_size
        num_epochs = BATCHES * size / max(size, count / self.num_parts)
        if CHANCE**2 * num_epochs * predicted.num_fetched >= 1:
            return predicted
        make_directory(directory)
        more = draw_seeds(self.seeds.marks, count, self.training, self.num_parts, directory, runner, MORE_BATCHES)
        return replace(self, drawn=more).predict(parts, runner)

    def weigh_sampled(self, parts: Region, rows: PredictedRows, runner: Runner) -> dict[str, WeightColumn]:
        """What can be balanced, with the work below seeds as heavy as it was sampled of each of these parts."""
        columns = self.columns
        if self.work is None:
            return columns
        config = LoadConfig(self.work.region, parts, self.num_parts)
        starts = range(0, parts.num_rows, ROWS_PER_UNIT)
        spans = [range(start, min(start + ROWS_PER_UNIT, parts.num_rows)) for start in starts]
        units = [Unit(span, self.work.region.row_nbytes * len(span)) for span in spans]
        expected = np.sum(runner.run(Pass("add-up-work", add_up_work, units, config)), axis=0)
        mean = 2**WORK_BITS * parts.num_rows / sum(rows.work)
        columns["work"] = WeightColumn(
            "work",
            0.0,
            rows=(self.work.region, 1),
            of_parts=(parts, mean * np.array(rows.work) / np.maximum(expected, 1e-9)),
        )
        return columns

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


class LoadConfig(NamedTuple):
    """Work of nodes, the part of each, and the number of parts."""

    work: Region
    parts: Region
    num_parts: int


def add_up_work(nodes: range, config: LoadConfig) -> np.ndarray:
    """Add up the work below seeds by part, float64 (parts,)."""
    parts, work = (region.read(nodes.start, nodes.stop) for region in (config.parts, config.work))
    return np.bincount(parts, work[:, 1], config.num_parts)


class CutConfig(NamedTuple):
    """The graph, and the part of each node."""

    in_edges: InEdges
    parts: Region


def count_cut(span: Columns, config: CutConfig) -> int:
    """Count the cut edges to some nodes."""
    indptr, sources, _ = config.in_edges.read(span)
    mine = np.repeat(config.parts.read(span.start, span.stop), np.diff(indptr))
    return int(np.count_nonzero(config.parts.memmap()[sources] != mine))
