"""Partition by Mt-KaHyPar, https://github.com/kahypar/mt-kahypar, with the same parts in each run.

It balances one weight, so of several constraints the first counts; `--refine` restores the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.extension import Method, OptionError, option

if TYPE_CHECKING:
    from daskgraphpart.extension import MethodJob

BYTES_PER_ARC, BYTES_PER_NODE = 120, 200  # measured with 1 and 3 million edges
LARGEST = 1 << 30  # its weights and their sums have 32 bits


PRESETS = {"deterministic": "DETERMINISTIC", "quality": "DETERMINISTIC_QUALITY"}


@dataclass(frozen=True)
class MtKaHyParMethod(Method):
    """Calls the library in the process of the task."""

    preset: str = option("deterministic", "quality cuts less, in more time.", choices=tuple(PRESETS))

    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        """Estimate what it holds besides the graph; refuse the job if the library is not installed."""
        if find_spec("mtkahypar") is None:
            raise OptionError("mtkahypar is not installed", place="--method", hint="run pip install mtkahypar")
        return BYTES_PER_ARC * num_arcs + BYTES_PER_NODE * num_nodes

    def owners(self, job: MethodJob) -> np.ndarray:
        """Hand over each edge once, with weights that fit, and return the parts."""
        import mtkahypar  # where it is used: listing methods must not take long

        library = _started(job.threads)
        starts, ends, weights = job.csr()
        rows = np.repeat(np.arange(len(job.nodes), dtype=ends.dtype), np.diff(starts))
        once = rows < ends
        edges, heaviest = np.column_stack([rows[once], ends[once]]), int(weights.sum())
        edge_weights = np.maximum(weights[once] // (heaviest // LARGEST + 1), 1)
        nodes, unit = job.node_weights[:, 0], int(job.limits[0]) * job.num_parts // LARGEST + 1
        context = library.context_from_preset(getattr(mtkahypar.PresetType, PRESETS[self.preset]))
        context.set_partitioning_parameters(job.num_parts, 0.03, mtkahypar.Objective.CUT)
        context.set_individual_target_block_weights([int(job.limits[0]) // unit] * job.num_parts)
        context.logging = False
        mtkahypar.set_seed(job.seed)
        graph = library.create_graph(context, len(nodes), len(edges), edges, nodes // unit, edge_weights)
        job.tell(f"mtkahypar ({self.preset}, seed {job.seed})")
        return np.array(graph.partition(context).get_partition())


@cache
def _started(threads: int) -> Any:
    """Start the library's threads, once per process; their number changes no result."""
    import mtkahypar

    return mtkahypar.initialize(threads)
