"""Our methods: random owners, and those that partition a graph by libraries, clusters or streaming."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from daskgraphpart.kernels.hashing import stream_key, uniform_ints
from daskgraphpart.method import Method
from daskgraphpart.partitioner.assignment import owner_dtype
from daskgraphpart.partitioner.choose import choose

if TYPE_CHECKING:
    from daskgraphpart.method import MethodJob
    from daskgraphpart.partitioner.assign_options import AssignOptions


class RandomMethod(Method):
    """A random part for every node, as DGL's `random_partition.py` gives.

    It depends only on the seed, the name of the node's type and its ID. Part sizes differ by about the square root of
    their size.
    """

    reads_edges = False

    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        """Return nothing: tasks hold the owners of a piece, as all passes do."""
        return 0

    def owners(self, job: MethodJob) -> np.ndarray:
        owners, first = np.empty(len(job.nodes), owner_dtype(job.num_parts)), 0
        for ntype, ids in job.types():
            piece = owners[first : first + len(ids)]
            uniform_ints(stream_key(job.seed, f"owner of {ntype}"), ids.start, job.num_parts, piece)
            first += len(ids)
        return owners


@dataclass(frozen=True, slots=True)
class SolverMethod(Method):
    """Any of the methods between which `choose` decides; they share their code, and differ by an option."""

    options: AssignOptions

    @classmethod
    def of(cls, options: AssignOptions) -> Self:
        return cls(options)

    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        return choose(num_nodes, num_arcs, num_constraints, self.options).need

    def owners(self, job: MethodJob) -> np.ndarray:
        from daskgraphpart.partitioner.solver import Solver  # random owners need none of it

        with ThreadPoolExecutor(job.threads) as pool:
            parts, how = Solver.of(self.options, job, pool).solve(job.graph)
        job.tell(how)
        return parts
