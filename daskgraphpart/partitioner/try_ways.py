"""Try several ways to partition for training, even out the work of their parts, and choose by the rows they fetch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from daskgraphpart.partitioner.choose import MOST_TRIES, Way
from daskgraphpart.partitioner.find_parts import Solved, find_parts, weigh
from daskgraphpart.partitioner.training.predict_rows import CHANCE
from daskgraphpart.storage.files import make_directory
from daskgraphpart.storage.region import npy_region

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.balance import BalanceConstraint
    from daskgraphpart.partitioner.partition_pass import Problem
    from daskgraphpart.partitioner.training.predict_rows import PredictedRows
    from daskgraphpart.partitioner.training.training_graph import TrainingGraph

SAME = 0.02  # share of rows that makes no difference


class Tried(NamedTuple):
    """A way, and where it led: with the fan-outs of training, also to rows that are fetched."""

    way: Way
    problem: Problem
    solved: Solved
    rows: PredictedRows | None

    @property
    def num_fetched(self) -> int:
        """Rows that an epoch is predicted to fetch."""
        return 0 if self.rows is None else self.rows.num_fetched

    @property
    def busiest(self) -> float:
        """Work of the part with the most over the average."""
        return 1.0 if self.rows is None else self.rows.busiest

    @property
    def most_fetched(self) -> int:
        """As many rows, with room for chance."""
        return math.floor((1 + CHANCE) * self.num_fetched)

    @property
    def most_work(self) -> float:
        """The limit of `busiest`, with room for chance, if the options have one."""
        tolerances = [item.tolerance for item in self.way.options.constraints if item.name == "work"]
        return (1 + CHANCE) * (1 + min(tolerances, default=math.inf))


def even_out(graph: Graph, tried: Sequence[Tried], training: TrainingGraph, runner: Runner) -> list[Tried]:
    """Add parts with more even work to those that were tried, of which the first cuts the fewest edges."""
    known, limit = list(tried[:1]), tried[-1].most_work
    for one in sorted(tried[1:], key=lambda one: one.num_fetched):
        if all(other.busiest > limit or other.num_fetched > one.num_fetched for other in known):
            known += [one, *_more_even(graph, one, limit, training, runner)]
    if all(one.busiest > limit or one.num_fetched > tried[0].most_fetched for one in known):
        known += _as_even_as_can_be(graph, tried[0], tried[-1], training, runner)
    return known


def choose_tried(tried: Sequence[Tried]) -> tuple[Tried, str]:
    """Choose the fewest rows of parts with work within its limit that fetch no more than the cut's.

    If there are none, rows count times what work exceeds its limit by. The cut, which comes first, stays where it is
    as good.
    """
    cut, most_work = tried[0], tried[-1].most_work

    def cost(one: Tried) -> float:
        return (one.num_fetched + 1) * max(1.0, one.busiest / most_work)

    no_more = (one for one in tried if one.num_fetched <= cut.most_fetched)
    best = min(no_more, key=lambda one: (one.busiest > most_work, cost(one)))
    if cost(best) > (1 - SAME) * cost(cut):
        return cut, "edges are cut, because their weights in training would not save rows"
    saved = 1 - (best.num_fetched + 1) / (cut.num_fetched + 1)
    rows = f"{saved:.0%} fewer rows than" if saved > SAME else "as many rows as"
    why = f"edges weigh what training fetches: {rows} with the fewest cut edges"
    return best, f"{why}, and more even work" if cut.busiest > (1 + SAME) * best.busiest else why


def _more_even(graph: Graph, tried: Tried, limit: float, training: TrainingGraph, runner: Runner) -> Iterator[Tried]:
    """Balance work as it is sampled, until it keeps its limit: nobody expects what a batch meets twice."""
    base, items = tried.problem, tried.way.options.constraints
    for number in range(MOST_TRIES):
        if tried.busiest <= limit:
            break
        place = base.directory / f"sampled-{number}"
        yield (tried := _refine(graph, tried, items, place, training, runner))


def _as_even_as_can_be(
    graph: Graph, cut: Tried, last: Tried, training: TrainingGraph, runner: Runner
) -> Iterator[Tried]:
    """Halve what is between the work of the cut and its limit, until parts cannot be more even without more rows."""
    start = cut._replace(way=last.way, problem=last.problem)  # whose edges weigh what is fetched
    even, uneven = last.most_work, cut.busiest
    for number in range(MOST_TRIES):
        middle = (even + uneven) / 2
        items = tuple(
            replace(item, tolerance=middle - 1) if item.name == "work" else item
            for item in last.way.options.constraints
        )
        place = last.problem.directory / f"halved-{number}"
        yield (tried := _refine(graph, start, items, place, training, runner))
        if tried.num_fetched > cut.most_fetched:
            even = middle
        elif tried.busiest < uneven:
            start, uneven = tried, tried.busiest


def _refine(
    graph: Graph,
    start: Tried,
    items: tuple[BalanceConstraint, ...],
    directory: Path,
    training: TrainingGraph,
    runner: Runner,
) -> Tried:
    """Refine parts, with work balanced as it is sampled of them."""
    (way, base, solved, rows), begin = start, start.solved.parts
    assert rows is not None
    make_directory(directory)
    known = training.weigh_sampled(begin, rows, runner)
    problem = weigh(graph, base.num_parts, items, base.adjacency, training, known, directory, runner)
    parts = npy_region(directory / "parts.npy", np.int32, begin.shape)
    find_parts(graph.schema, problem, replace(way.options, refine=True), begin, parts, runner, asks=False)
    return Tried(way, problem, solved._replace(parts=parts), training.predict(parts, runner))
