"""Partition a graph: by libraries where it fits into memory, coarsened until it does where it does not."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.choose import LARGE_ARCS
from daskgraphpart.assignment.libraries.call import run_library
from daskgraphpart.assignment.libraries.export import export_graph
from daskgraphpart.assignment.multilevel.coarsen import cluster, contract
from daskgraphpart.assignment.multilevel.cycle import LEAST_SHRINKAGE, largest_clusters, v_cycle
from daskgraphpart.assignment.multilevel.graph import hold
from daskgraphpart.assignment.multilevel.refine import assign_rest, rebalance, refine
from daskgraphpart.assignment.multilevel.stream import FENNEL_PASSES, stream

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.assignment.libraries.call import Call
    from daskgraphpart.assignment.multilevel.graph import Graph, Map
    from daskgraphpart.assignment.multilevel.refine import Limits

TIGHTER = (0.995, 0.99, 0.98)  # times the limits: what attempts at balance aim at where the limits are not reached
LEAST_GAIN = 0.001  # of the cut, for a further V-cycle


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """What stays the same while a graph is partitioned."""

    limits: Limits  # most that a part may weigh
    calls: tuple[Call, ...]  # calls of libraries, of which the best is taken; none if parts are given
    refines: bool  # whether what a library gives is improved even if it is balanced
    cycles: int  # V-cycles at the end, while they gain
    most_arcs: int  # of a graph that is partitioned as it is; one of more is coarsened
    moves_nodes: bool  # whether single nodes are moved where a V-cycle is not needed for balance
    seed: int
    is_side_by_side: bool  # whether there is memory for calls of both libraries at one time
    directory: Path  # for temporary files
    each: Map  # what makes calls, side by side

    def partition(self, graph: Graph, given: np.ndarray | None = None, depth: int = 0) -> tuple[np.ndarray, str]:
        """Return the part of each node, int32 (nodes,), and what it comes from; given parts are improved."""
        if graph.num_arcs <= self.most_arcs:
            held, kept = hold(graph, self.each)
            parts = np.full(graph.num_nodes, -1, np.int32)
            parts[kept], taken = self._partition_held(held, None if given is None else given[kept])
            assign_rest(graph, parts, self.limits)
            rebalance(graph, parts, self.limits, self.each)
            return parts, taken
        clusters, count = cluster(graph, largest_clusters(graph, self.limits), given, self.seed + depth, self.each)
        if count > LEAST_SHRINKAGE * graph.num_nodes:
            parts = given.copy() if given is not None else stream(graph, self.limits, FENNEL_PASSES)
            taken = "fennel"
        else:
            directory = self.directory / f"level-{depth + 1}"
            directory.mkdir()
            coarse_given = None
            if given is not None:
                coarse_given = np.empty(count, np.int32)
                coarse_given[clusters] = given
            coarse = contract(graph, clusters, count, self.each, directory)
            coarse_parts, taken = self.partition(coarse, coarse_given, depth + 1)
            parts = coarse_parts[clusters]
            shutil.rmtree(directory)
        refine(graph, parts, self.limits, self.each)
        return parts, taken

    def _partition_held(self, graph: Graph, given: np.ndarray | None) -> tuple[np.ndarray, str]:
        """Partition a graph in memory."""
        starts = [(given, "given")] if given is not None else self._call_libraries(graph)
        parts, taken = starts[0]
        if self.refines or self._value(graph, parts)[0] > 0:
            if graph.num_arcs <= LARGE_ARCS and not self.moves_nodes:
                better = v_cycle(graph, [start for start, _ in starts], self.limits, self.seed, self.each)
            else:
                better = parts.copy()
                refine(graph, better, self.limits, self.each)
            parts = min([better, *(start for start, _ in starts)], key=lambda each: self._value(graph, each))
            taken = max(starts, key=lambda start: np.count_nonzero(start[0] == parts))[1]
        return self._finish(graph, parts), taken

    def _call_libraries(self, graph: Graph) -> list[tuple[np.ndarray, str]]:
        """Return the parts that each call gives, and the call; of several calls some may fail."""
        wide = any(call.library == "metis" for call in self.calls)
        exported = export_graph(graph, self.limits, self.directory, for_metis=wide)
        with ThreadPoolExecutor(1 + self.is_side_by_side) as pool:
            futures = [pool.submit(run_library, call, exported, self.directory) for call in self.calls]
        failed = [future.exception() for future in futures]
        if all(failed):
            raise next(filter(None, failed))
        return [(f.result(), str(call)) for f, call, e in zip(futures, self.calls, failed, strict=True) if e is None]

    def _finish(self, graph: Graph, parts: np.ndarray) -> np.ndarray:
        """Run further V-cycles: as many as were asked for while they gain, and within tighter limits if need be."""
        value = self._value(graph, parts)
        for cycle in range(self.cycles):
            further = v_cycle(graph, [parts], self.limits, self.seed + 2 + cycle, self.each)
            if (after := self._value(graph, further)) >= value:
                break
            gain, parts, value = value[1] - after[1], further, after
            if gain < LEAST_GAIN * value[1]:
                break
        for factor in TIGHTER if graph.num_arcs <= LARGE_ARCS else ():
            if value[0] == 0:
                break
            tighter = replace(self.limits, most=np.maximum((self.limits.most * factor).astype(np.int64), 1))
            further = v_cycle(graph, [parts], tighter, self.seed + 2, self.each)
            rebalance(graph, further, self.limits, self.each)
            if (after := self._value(graph, further)) >= value:
                break
            parts, value = further, after
        return parts

    def _value(self, graph: Graph, parts: np.ndarray) -> tuple[float, int]:
        return self.limits.value(graph, parts, self.each)
