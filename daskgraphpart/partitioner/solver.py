"""Find the part of every node by our methods: libraries for small graphs, coarsening for larger ones, streaming.

Memory and workers say how many threads run, and nothing else.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.partitioner import choose
from daskgraphpart.partitioner.choose import LARGE_ARCS, SHARED_ARCS, needs
from daskgraphpart.partitioner.libraries.call import call_libraries
from daskgraphpart.partitioner.multilevel.coarsen import cluster, contract
from daskgraphpart.partitioner.multilevel.cycle import CLUSTER_NODES, LEAST_SHRINKAGE, largest_clusters, v_cycle
from daskgraphpart.partitioner.multilevel.extend import extend
from daskgraphpart.partitioner.multilevel.refine import Limits, assign_rest, rebalance, refine
from daskgraphpart.partitioner.multilevel.side_by_side import by_threads
from daskgraphpart.partitioner.multilevel.stream import FENNEL_PASSES, stream
from daskgraphpart.partitioner.multilevel.weighted_graph import WeightedGraph, hold, project
from daskgraphpart.partitioner.solution import LOW, Solution, Tuning, value_of
from daskgraphpart.storage.files import delete_tree, directory_on_disk, make_directory

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from daskgraphpart.method import MethodJob
    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.partitioner.choose import Call, Choice
    from daskgraphpart.partitioner.multilevel.side_by_side import Map
    from daskgraphpart.storage.region import Region

COARSE_NODES_PER_PART = 128  # a graph with fewer is coarse, even if it has more arcs
MOST_STREAMED = 256  # parts; streaming looks at all of them for each node
WHOLE = "whole graph"
Start = tuple[np.ndarray, str]  # parts, int32 (nodes,), and their method


@dataclass(frozen=True, slots=True, eq=False)
class Solver:
    """What stays the same while partitioning a graph."""

    options: AssignOptions
    limits: Limits
    directory: Path  # temporary files
    each: Map  # runs calls side by side
    memory: int
    num_isolated: int
    is_impossible: bool
    planned_arcs: int
    choice: Choice | None = None  # of a method

    @property
    def tuning(self) -> Tuning:
        """How hard to work."""
        return LOW if self.options.effort == "low" else Tuning()

    @classmethod
    def of(cls, options: AssignOptions, job: MethodJob, pool: ThreadPoolExecutor) -> Solver:
        """Make the solver for a job, with the threads of a pool."""
        assert job.directory is not None, "it reads edges"
        each = by_threads(pool, job.threads)
        limits = Limits(job.num_parts, job.limits)
        planned = 2 * job.schema.num_edges
        return cls(options, limits, job.directory, each, job.memory, job.num_isolated, job.is_impossible, planned)

    def change(self, graph: WeightedGraph, start: Region | None) -> tuple[np.ndarray, str]:
        """Extend, balance or refine given parts; without any, balance from none."""
        options = self.options
        if start is None:
            return self.fennel(graph, 0)
        if options.extend is None:
            return self.improve(graph, start.read()), "given"
        may_move = float(options.may_move)
        return extend(graph, start.read(), self.limits, may_move, options.seed, self.directory, self.each)

    def solve(self, graph: object) -> tuple[np.ndarray, str]:
        """Partition by the method that is chosen."""
        assert isinstance(graph, WeightedGraph), "jobs have no other"
        num_nodes = graph.num_nodes - self.num_isolated
        size = num_nodes, graph.num_arcs, len(graph.columns)
        choice = choose.choose(*size, self.options, self.planned_arcs)
        if choice.method == "fennel":
            return self.fennel(graph, self.options.passes or FENNEL_PASSES)
        return replace(self, choice=choice)._solve(graph, choice)

    def fennel(self, graph: WeightedGraph, passes: int) -> tuple[np.ndarray, str]:
        """Stream the graph so many times; 0 only balances."""
        return self.improve(graph, self._stream(graph, passes)), f"fennel ({passes} pass{'es' * (passes > 1)})"

    def improve(self, graph: WeightedGraph, given: np.ndarray) -> np.ndarray:
        """Balance given parts and, if wanted, refine them by V-cycles while they gain."""
        if not self.options.refine:
            rebalance(graph, given, self.limits, self.each)
            return given

        def cycle(parts: np.ndarray, number: int) -> Solution:
            return self._measure(graph, *self._multilevel(graph, parts, (), self.options.seed + number)[0])

        # of a small graph, one call runs all cycles
        times = self.tuning.cycles if graph.num_arcs > choose.COARSE_ARCS else 1
        return self._while_better(graph, self._measure(graph, given, "given"), cycle, times).parts

    def _solve(self, graph: WeightedGraph, choice: Choice) -> Start:
        """Find parts by libraries, of the graph or of a coarser one; by streaming where that cuts less."""
        promised = None  # cut of one pass of streaming
        whole, coarse = choice.whole, choice.coarse
        streams = bool(coarse) and self._may_stream
        if streams and self.options.method == "auto":
            parts = stream(graph, self.limits, 1, self.each, self.num_isolated)
            promised = graph.cut(parts, self.each)
            hopeless = self.tuning.hopeless * (1 - 1 / self.limits.num_parts) * graph.total_weight / 2
            if promised > hopeless and len(graph.columns) > 1:  # one constraint lets hubs gather
                parts = stream(graph, self.limits, FENNEL_PASSES, self.each, self.num_isolated, parts, done=1)
                # users and items cluster, and further passes gain much by it; a history clusters, too, and they do not
                gains_little = graph.cut(parts, self.each) > self.tuning.hopeless * promised
                if gains_little and not self._shrinks(graph):
                    assign_rest(graph, parts, self.limits, self.each)
                    rebalance(graph, parts, self.limits, self.each)
                    return parts, "fennel, because nothing clusters"
            del parts
        if whole:
            start = self._whole(graph, whole, coarse)
        else:
            parts, method = self._multilevel(graph, None, coarse, self.options.seed)[0]
            start = parts, f"multilevel, {'' if method.startswith(WHOLE) else 'coarsest graph by '}{method}"
        return self._stream_if_better(graph, start, promised) if streams else start

    def _whole(self, graph: WeightedGraph, whole: tuple[Call, ...], coarse: tuple[Call, ...]) -> Start:
        """Partition a graph in memory; parts of a coarser one compete if it is small, or limits cannot be kept."""
        starts = self._call_libraries(graph, whole)
        held, kept = hold(graph, self.each)
        given = self._within_limits(held, starts)
        if coarse and (choose.starts_compete(graph.num_arcs) or min(given, key=value_of).overload > 0):
            del held
            more = self._multilevel(graph, None, coarse, self.options.seed)
            held, _ = hold(graph, self.each)
            given += self._within_limits(held, [(parts[kept], method) for parts, method in more])
        return self._in_memory(graph, held, kept, given, 1)[0]

    def _in_memory(
        self, graph: WeightedGraph, held: WeightedGraph, kept: np.ndarray, given: list[Solution], most: int
    ) -> list[Start]:
        """Partition a graph that is held without its isolated nodes; return so many starts, the best first."""
        best = self._partition_held(held, given)[:most]
        return [(self._add_isolated(graph, kept, one.parts), one.method) for one in best]

    def _shrinks(self, graph: WeightedGraph) -> bool:
        """Whether few arcs of some blocks are left between clusters: 0.1 to 0.4 in histories, 0.9 in R-MAT."""
        some = replace(graph, blocks=graph.blocks[:: self.tuning.sampled]).cut_up(self.each)
        directory = self.directory / f"level-0-{self.each.number}"
        make_directory(directory)
        clusters = cluster(some, largest_clusters(graph, self.limits), None, self.options.seed, self.each, 1)
        num_arcs = contract(some, *clusters, self.each, directory).num_arcs
        delete_tree(directory)
        return num_arcs < some.num_arcs / 2

    def _stream(self, graph: WeightedGraph, passes: int) -> np.ndarray:
        """Stream the graph so many times, and place what is left."""
        parts = stream(graph, self.limits, passes, self.each, self.num_isolated)
        assign_rest(graph, parts, self.limits, self.each)
        return parts

    def _multilevel(
        self,
        graph: WeightedGraph,
        given: np.ndarray | None,
        calls: tuple[Call, ...],
        seed: int,
        depth: int = 0,
    ) -> list[Start]:
        """Partition a small graph in memory, from given parts or those of `calls`; coarsen a larger one.

        Returns the best parts; of a small, coarse graph, also another start's, which may cut less when refined.
        """
        tuning = self.tuning
        if self.each.is_shared and graph.num_arcs <= max(choose.COARSE_ARCS, SHARED_ARCS):
            return self._alone(graph, given, calls, seed, depth)
        if graph.num_arcs <= choose.COARSE_ARCS or self._is_coarse(graph):
            if graph.num_arcs > choose.COARSE_ARCS:  # dense: METIS would take more memory
                calls = tuple(call for call in calls if call.library == "kaminpar") or calls
            starts = self._call_libraries(graph, calls) if given is None else []
            held, kept = hold(graph, self.each)
            if given is not None:
                starts = [(given[kept], "given")]
            few = tuning.competing if depth else 1
            return self._in_memory(graph, held, kept, self._within_limits(held, starts), few)
        # the further a graph is from fitting, the larger its clusters: a dense one would take many levels, each with
        # passes over nearly all arcs; a sparse one gets ragged borders from large clusters
        growth, degree = graph.num_arcs / max(1, choose.COARSE_ARCS), graph.num_arcs / graph.num_nodes
        largest = min(max(CLUSTER_NODES, tuning.cluster_growth * growth), max(tuning.least_cluster, degree**2 / 3))
        most = largest_clusters(graph, self.limits, largest)
        clusters, count = cluster(graph, most, given, seed + depth, self.each, tuning.cluster_sweeps)
        if count > LEAST_SHRINKAGE * graph.num_nodes:
            parts = given.copy() if given is not None else stream(graph, self.limits, FENNEL_PASSES, self.each)
            starts = [(parts, "fennel")]
        else:
            directory = self.directory / f"level-{depth + 1}-{self.each.number}"
            make_directory(directory)
            coarse_given = None
            if given is not None:
                coarse_given = np.empty(count, np.int32)
                coarse_given[clusters] = given
            coarse = contract(graph, clusters, count, self.each, directory)
            whole = None if self.choice is None or depth else self.choice.unclustered
            if whole and coarse.num_arcs > graph.num_arcs / 2 and (starts := self._refine_whole(graph, whole)):
                delete_tree(directory)
                return starts
            competing = self._multilevel(coarse, coarse_given, calls, seed, depth + 1)
            few = tuning.competing if depth and choose.starts_compete(graph.num_arcs) else 1
            starts = [(self._uncoarsen(graph, clusters, coarse, parts), method) for parts, method in competing[:few]]
            delete_tree(directory)
        for parts, _ in starts:
            refine(graph, parts, self.limits, self.each, tuning.refine_sweeps)
        # a large graph is not read to measure what nothing competes with
        return starts if len(starts) == 1 else sorted(starts, key=lambda one: self._measure(graph, *one).value)

    def _refine_whole(self, graph: WeightedGraph, call: Call) -> list[Start]:
        """Refine the parts that a library gives the whole graph; return none if they cannot keep the limits."""
        ((parts, method),) = self._call_libraries(graph, (call,))
        held, kept = hold(graph, self.each)
        for factor in (1, *self.tuning.tighter):
            refine(held, parts, self.limits.times(factor), self.each)
            if (refined := self._measure(held, parts)).overload == 0:
                best = self._finish(held, refined).parts
                return [(self._add_isolated(graph, kept, best), f"{WHOLE} by {method}")]
        return []

    def _add_isolated(self, graph: WeightedGraph, kept: np.ndarray, of_kept: np.ndarray) -> np.ndarray:
        """Return the parts of all nodes: those of the nodes with neighbours, and others where there is room."""
        parts = np.full(graph.num_nodes, -1, np.int32)
        parts[kept] = of_kept
        assign_rest(graph, parts, self.limits, self.each)
        rebalance(graph, parts, self.limits, self.each)
        return parts

    def _uncoarsen(
        self, graph: WeightedGraph, clusters: np.ndarray, coarse: WeightedGraph, parts: np.ndarray
    ) -> np.ndarray:
        """Return each node's part, that of its cluster or, if that cuts less, by a pass of streaming from there."""
        mine = project(parts, clusters, self.each)
        if not self._may_stream or graph.num_arcs > LARGE_ARCS:
            return mine
        streamed = stream(graph, self.limits, 1, self.each, given=mine)
        # clusters weigh what their nodes do, and so do edges between them
        return streamed if self._measure(graph, streamed).value < self._measure(coarse, parts).value else mine

    def _alone(self, graph: WeightedGraph, *args: Any) -> list[Start]:
        """Partition a graph that fits one worker there."""

        def solve(each: Map) -> tuple[Start, ...]:
            with directory_on_disk(self.directory) as directory:
                scratch = Path(tempfile.mkdtemp(prefix="partition-", dir=directory))
                alone = replace(self, each=each, directory=scratch)
                solved = alone._multilevel(graph.on_disk().cut_up(each), *args)
                shutil.rmtree(scratch, ignore_errors=True)
            return tuple(solved)

        return [*self.each.alone(solve)]

    def _is_coarse(self, graph: WeightedGraph) -> bool:
        """Whether a graph has few nodes per part, and not too many arcs."""
        few = graph.num_nodes <= COARSE_NODES_PER_PART * self.limits.num_parts
        return few and graph.num_arcs <= choose.DENSE * choose.COARSE_ARCS

    def _stream_if_better(self, graph: WeightedGraph, start: Start, promised: int | None) -> Start:
        """Stream the graph as well if one pass promises a smaller cut; return the better parts.

        Where hubs have most edges, and limits allow it, they belong together, but coarsening mixes them with others.
        """
        limits, tuning, solution = self.limits, self.tuning, self._measure(graph, *start)
        if graph.num_arcs > LARGE_ARCS and solution.cut <= tuning.well_cut * graph.total_weight / 2:
            return start
        # several constraints, such as nodes and edges, keep most hubs apart
        most = solution.cut * (tuning.near if len(graph.columns) == 1 else 1)
        if promised is None:
            promised = graph.cut(self._stream(graph, 1), self.each)
        if promised >= most:
            return start
        streamed = stream(graph, limits, tuning.hub_passes, self.each)
        if limits.value(graph, streamed, self.each) >= solution.value:
            return start
        refine(graph, streamed, limits, self.each)
        return streamed, "fennel, refined"

    def _within_limits(self, graph: WeightedGraph, starts: list[Start]) -> list[Solution]:
        """Bring the parts of a graph in memory within the limits, if it is tried.

        Libraries miss limits, or know only one: parts are ranked when all that can be are within them.
        """
        given = [self._measure(graph, *start) for start in starts]
        return [self._keep_limits(graph, one) for one in given] if self._runs_cycles(graph) else given

    def _partition_held(self, graph: WeightedGraph, given: list[Solution]) -> list[Solution]:
        """Partition a graph in memory, beginning with given parts, or those of libraries; best first."""
        candidates, best = given.copy(), min(given, key=value_of)
        combines = self.choice is not None and self.choice.method in ("auto", "multilevel")
        if self._runs_cycles(graph):
            if combines and (len(given) > 1 or not best.is_cycled):
                parts = v_cycle(graph, [one.parts for one in given], self.limits, self.options.seed, self.each)
                candidates.append(self._measure(graph, parts))
        elif combines or best.overload > 0:
            parts = best.parts.copy()
            refine(graph, parts, self.limits, self.each)
            candidates.append(self._measure(graph, parts))
        best = min(candidates, key=value_of)
        nearest = max(range(len(given)), key=lambda i: np.count_nonzero(given[i].parts == best.parts))
        # others by their cut, since clusters miss limits that their nodes keep
        order = sorted(range(len(given)), key=lambda i: (i != nearest, given[i].cut))
        candidates[nearest] = self._finish(graph, best)
        return [candidates[i]._replace(method=given[i].method) for i in order]

    def _runs_cycles(self, graph: WeightedGraph) -> bool:
        """Whether V-cycles of a graph in memory are worth their time."""
        effort = self.options.effort
        return effort == "high" or (graph.num_arcs <= LARGE_ARCS and effort != "low")

    def _keep_limits(self, graph: WeightedGraph, given: Solution) -> Solution:
        """Bring parts within the limits, with a V-cycle and without: moving heavy clusters first can cut more."""
        if given.overload == 0:
            return given
        refined = given.parts.copy()
        refine(graph, refined, self.limits, self.each)
        cycled = v_cycle(graph, [given.parts], self.limits, self.options.seed, self.each)
        best = min(given, self._measure(graph, refined), self._measure(graph, cycled), key=value_of)
        return best._replace(method=given.method, is_cycled=True)

    def _call_libraries(self, graph: WeightedGraph, calls: tuple[Call, ...]) -> list[Start]:
        """Return the parts of nodes with neighbours that each call gives, and the call."""
        need = needs(graph.num_nodes, graph.num_arcs, len(graph.columns), self.options)
        at_once = 2 if 2 * need["metis"] <= self.memory else 1
        return call_libraries(graph, calls, self.limits, self.directory, self.each, at_once)

    def _finish(self, graph: WeightedGraph, best: Solution) -> Solution:
        """Run further V-cycles: the requested ones while they gain, and with tighter limits if need be."""
        seed = self.options.seed + 2

        def cycle(parts: np.ndarray, number: int) -> Solution:
            return self._measure(graph, v_cycle(graph, [parts], self.limits, seed + number, self.each))

        best = self._while_better(graph, best, cycle, self.tuning.cycles if self.options.runs_cycles else 0)
        is_hopeless = graph.num_arcs > LARGE_ARCS or self.is_impossible
        for factor in () if is_hopeless else self.tuning.tighter:
            if best.overload == 0:
                break
            parts = v_cycle(graph, [best.parts], self.limits.times(factor), seed, self.each)
            rebalance(graph, parts, self.limits, self.each)
            if (further := self._measure(graph, parts)).value >= best.value:
                break
            best = further
        return best

    def _while_better(
        self, graph: WeightedGraph, best: Solution, cycle: Callable[[np.ndarray, int], Solution], times: int
    ) -> Solution:
        """Run so many cycles, until one gains little."""
        for number in range(times):
            further = cycle(best.parts, number)
            if further.value >= best.value:
                break
            gain, best = best.cut - further.cut, further
            if gain < self.tuning.least_gain * best.cut:
                break
        return best

    def _measure(self, graph: WeightedGraph, parts: np.ndarray, method: str = "") -> Solution:
        """Measure what parts exceed and cut."""
        return Solution(parts, *self.limits.value(graph, parts, self.each), method)

    @property
    def _may_stream(self) -> bool:
        return self.tuning.streams and self.limits.num_parts <= MOST_STREAMED
