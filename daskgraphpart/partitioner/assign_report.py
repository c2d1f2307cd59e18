"""Measure an assignment: cut, communication volume, balance of every constraint; pass `measure-cut`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.kernels.clusters import add_up
from daskgraphpart.kernels.move_nodes import cut_of_rows
from daskgraphpart.public import Public

if TYPE_CHECKING:
    from daskgraphpart.partitioner.adjacency.csr_blocks import CsrBlock
    from daskgraphpart.partitioner.partition_pass import Problem
    from daskgraphpart.partitioner.training.predict_rows import PredictedRows
    from daskgraphpart.storage.region import Region

EDGE_WARNING = 1.3
"""Edges of the largest part over the average beyond which training on the parts is badly balanced."""


@dataclass(frozen=True, slots=True)
class Balance:
    """How well a constraint is kept."""

    name: str  # of the constraint
    ratio: float  # heaviest part / average
    # most the ratio may be: 1 + tolerance, or more for a heavy node or rounding; None if only measured
    allowed: float | None
    impossible: str = ""  # why no assignment can keep the tolerance, if a node is too heavy

    @property
    def is_kept(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.allowed is None or self.ratio <= self.allowed + 1e-9


@dataclass(frozen=True, slots=True)
class WeightedCut:
    """Weight of cut edges and of all edges, by the input's weights (rounded to units)."""

    cut: float
    total: float

    @property
    def share(self) -> float:
        """Share of the weight that is cut."""
        return self.cut / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class AssignReport(Public):
    """Result of an assignment."""

    method: str  # what ran, such as ``"kaminpar (eco, 1 thread, seed 0)"``
    why: str  # what `auto` did, in words; empty for any other method
    num_parts: int  # number of parts
    num_cut_edges: int  # of the input's edges, those whose ends have different owners
    num_edges: int  # number of edges
    volume: int  # sum over nodes of the number of foreign parts among their neighbours
    num_nodes: int  # number of nodes
    balances: tuple[Balance, ...]  # of every constraint, then of nodes and edges unless they are constraints
    need: int  # bytes expected to be needed
    seconds: float  # of the assignment, with the adjacency
    weighted: WeightedCut | None = None  # if there are edge weights
    rows: PredictedRows | None = None  # if the fan-outs of training are known: what an epoch is predicted to fetch

    @property
    def summary(self) -> str:
        """What ran, in words."""
        return self.why or self.method

    @property
    def cut_share(self) -> float:
        """Share of edges that are cut."""
        return self.num_cut_edges / self.num_edges if self.num_edges else 0.0

    @property
    def replication_factor(self) -> float:
        """Nodes of all parts, with copies of foreign neighbours in either direction, per node."""
        return 1 + self.volume / self.num_nodes if self.num_nodes else 1.0

    def balance_of(self, name: str) -> Balance:
        """Balance of the named constraint."""
        return next(balance for balance in self.balances if balance.name == name)

    @property
    def constraints(self) -> tuple[str, ...]:
        """Each constraint with the ratio reached and allowed, as text."""
        return tuple(
            f"{b.name} {b.ratio:.3f} (at most {b.allowed:.3f})" for b in self.balances if b.allowed is not None
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the user should know."""
        lines = [b.impossible for b in self.balances if b.impossible]
        lines += [
            _excess(b.name, b.ratio, b.allowed)
            for b in self.balances
            if b.allowed is not None and not b.is_kept and not b.impossible
        ]
        edges = self.balance_of("edges")
        has_work = any(b.name == "work" for b in self.balances)
        if not has_work and edges.is_kept and not edges.impossible and edges.ratio > EDGE_WARNING:
            lines.append(
                f"a part has {edges.ratio:.2f} times its share of edges, so trainers will wait for each other; "
                "balance edges as well (nodes,edges)"
            )
        return tuple(lines)


def _excess(name: str, ratio: float, allowed: float) -> str:
    """Say that a part is above its limit, with as many digits as show it."""
    texts = ((f"{ratio:.{digits}f}", f"{allowed:.{digits}f}") for digits in range(2, 12))
    shown, limit = next(pair for pair in texts if pair[0] != pair[1])
    return f"{name}: a part has {shown} times its share, above the limit of {limit}"


def measure(problem: Problem, parts: Region, num_wanted: int, runner: Runner) -> tuple[int, int, tuple[Balance, ...]]:
    """Measure cut, volume, and the balance of all constraints; the first `num_wanted` have limits."""
    weights, num_parts = problem.weights, problem.num_parts
    config = MeasureConfig(parts, weights.columns, num_parts)
    units = [Unit(block, block.nbytes) for block in problem.adjacency.blocks]
    measured = runner.run(Pass("measure-cut", measure_block, units, config))
    loads = sum((loads for _, _, loads in measured), np.zeros((num_parts, len(weights.columns)), np.int64))
    balances = []
    for i, constraint in enumerate(weights.constraints):
        average = max(constraint.total / num_parts, 1e-9)
        allowed = constraint.limit(num_parts) / average if i < num_wanted else None
        impossible = constraint.warn_of_node(num_parts) if i < num_wanted else ""
        balances.append(Balance(constraint.name, float(loads[:, i].max()) / average, allowed, impossible))
    return sum(cut for cut, _, _ in measured) // 2, sum(volume for _, volume, _ in measured), tuple(balances)


@dataclass(frozen=True, slots=True)
class MeasureConfig:
    """Parts of all nodes, a column of weights per constraint, number of parts."""

    parts: Region
    columns: tuple[Region, ...]
    num_parts: int


def measure_block(block: CsrBlock, config: MeasureConfig) -> tuple[int, int, np.ndarray]:
    """Measure one block: cut weight (both directions), volume, and loads of parts, int64 (parts, constraints)."""
    everywhere = config.parts.memmap()
    cut, volume = cut_of_rows(*block.read(), block.start, everywhere, config.num_parts)
    weights = np.stack([column.read(block.start, block.stop) for column in config.columns], axis=1)
    loads = np.zeros((config.num_parts, len(config.columns)), np.int64)
    add_up(config.parts.read(block.start, block.stop), 0, weights, loads)
    return int(cut), int(volume), loads
