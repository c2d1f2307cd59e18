"""The passes by which partitioners find parts, rehearsed: they change files in place, so they cannot be called.

What depends on the data, such as how fast graphs shrink, has typical values in `assumptions`, and times in `work`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.adjacency.export import ParhipFile
from daskgraphpart.assignment.choose import (
    BYTES_PER_BLOCK_ARC,
    COMPRESSED_PER_ARC,
    KAMINPAR_PER_ARC,
    KAMINPAR_PER_NODE,
    METIS_PER_ARC,
    METIS_PER_NODE,
    choose,
)
from daskgraphpart.assignment.coarsened import CYCLES
from daskgraphpart.assignment.coarsened import SWEEPS as COARSENED_SWEEPS
from daskgraphpart.assignment.libraries.call import Candidate
from daskgraphpart.assignment.methods.streaming import DEFAULT_PASSES
from daskgraphpart.assignment.multilevel.cluster_nodes import SWEEPS as CLUSTER_SWEEPS
from daskgraphpart.assignment.multilevel.combine import BYTES_PER_ARC as COMBINING
from daskgraphpart.assignment.multilevel.combine import KEPT, TOLERANCES, rounds_from
from daskgraphpart.assignment.multilevel.initial import MANY_ARCS
from daskgraphpart.assignment.multilevel.move_nodes import SWEEPS as MOVE_SWEEPS
from daskgraphpart.assignment.pipeline import MULTILEVEL_CYCLES, REFINE_CYCLES
from daskgraphpart.planning import work
from daskgraphpart.planning.assumptions import COMBINED_ARCS, RELIEFS
from daskgraphpart.planning.levels import Sizes, sizes_of
from daskgraphpart.planning.traffic import IN_PLACE, Traffic

if TYPE_CHECKING:
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.assignment.choose import Choice
    from daskgraphpart.assignment.pipeline import Task
    from daskgraphpart.planning.rehearsal import Rehearsal

MOST_LEVELS = 6
LIBRARY_START = {"kaminpar": 30_000_000, "metis": 110_000_000}  # bytes of such a process before it has read anything
LIBRARY_READS = {"kaminpar": 900_000, "metis": 4_700_000}  # bytes that such a process reads before it begins
WEIGHT_PER_ARC = 8  # bytes that arc weights take in KaMinPar
SOLVING = "solving"
LIBRARY = "library"
ARCS = "arcs"
SMALL_TASK = 16 << 20  # bytes of a task that goes through all nodes piece by piece


def bytes_of(read: int, written: int, memory: int = SMALL_TASK, place: str = IN_PLACE) -> Traffic:
    """Traffic of a pass that writes to one place."""
    return Traffic(read, {place: written}, memory)


def rehearse_solving(task: Task, given: Assignment | None, runner: Rehearsal) -> tuple[str, str, int]:
    """Note the passes that fill in the part of every node.

    Returns
    -------
    tuple of (str, str, int)
        The method, why it is taken, and the bytes it needs.
    """
    adjacency, options, level = task.level.adjacency, task.options, sizes_of(task)
    solver = Solver(runner, task.num_parts)
    runner.disk.write({SOLVING: 20 * level.nodes})  # parts, proposals, scores
    how = ("given", "asked for", 0)
    if task.num_parts == 1 or adjacency.num_arcs == 0:
        solver.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        solver.weigh(level)
        how = (options.method, "there is nothing to cut: nodes are dealt out to balance", 0)
    elif given is not None:
        solver.one("read-owners", 4 * level.nodes, bytes_of(level.nodes, 4 * level.nodes))
        how = (given.method, "asked for", 0)
    else:
        choice = choose(task.level, task.num_parts, options, runner.resources)
        if choice.candidates:
            solver.partition(level, choice, options.method != "metis")
        else:
            solver.stream(level, options.passes or DEFAULT_PASSES.get(choice.method, 1))
        how = (choice.method, choice.why, choice.need)
    if options.refine:
        solver.improve(level, REFINE_CYCLES)
    elif given is not None and options.balance is not None:
        solver.weigh(level)
    return how


@dataclass(frozen=True, slots=True)
class Solver:
    """Notes the passes of solving, each as its pass file has them."""

    runner: Rehearsal
    num_parts: int

    @property
    def memory(self) -> int:
        """Bytes of the budget."""
        return self.runner.resources.memory

    def one(self, name: str, moved: int, traffic: Traffic, units: int = 1, seconds: float | None = None) -> None:
        """Note a pass."""
        self.runner.note_pass(name, (units, moved), traffic, seconds)

    def stream(self, level: Sizes, passes: int) -> None:
        """Note the passes of a streaming method."""
        self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.weigh(level, deals_out=False)
        for number in range(passes):
            nbytes, read = level.nbytes, level.nbytes + level.weights_nbytes
            self.one(f"stream {number + 1} of {passes}", nbytes, bytes_of(read, 0, level.block_memory), level.blocks)
        self.one("deal-out", 4 * level.nodes, bytes_of(level.weights_nbytes, 0))

    def partition(self, level: Sizes, choice: Choice, refines: bool) -> None:
        """Note what a choice does that calls libraries."""
        if choice.method == "multilevel":
            self.multilevel(level, choice)
            for _ in range(MULTILEVEL_CYCLES):
                self.improve(level, 1)
            return
        if choice.method == "skewed":
            quick, thorough = choice.candidates
            for call in (quick, thorough):
                self.libraries(level, (call,), 0)
            self.measure_cut(level)
        elif choice.method == "coarsened":
            self.coarsened(level, choice)
        else:
            combines = choice.method == "combined"
            self.libraries(level, choice.candidates, choice.cycles, takes=not combines)
            if combines:
                self.combine(level, KEPT if choice.cycles else len(choice.candidates))
        self.repair(level, refines)

    def coarsened(self, level: Sizes, choice: Choice) -> None:
        """Note that a graph is coarsened on disk, and what is left given to a library."""
        coarse = self.coarsen(level, COARSENED_SWEEPS)
        self.libraries(coarse, choice.candidates[:1], 0)
        self.improve(coarse, CYCLES)
        self.measure_cut(coarse)
        self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.one("project-parts", 8 * level.nodes, bytes_of(8 * level.nodes, 4 * level.nodes))
        self.runner.disk.remove(level.below)
        if level.constraints == 1:
            self.refine_blocks(level)

    def combine(self, level: Sizes, pool: int) -> None:
        """Note the rounds on coarse graphs, see `assignment.multilevel.combine`."""
        rounds, kept = rounds_from(pool)
        for _ in range(rounds):
            self.one("overlay-parts", 4 * level.nodes, bytes_of(4 * level.nodes * pool, 4 * level.nodes))
            coarse = self.coarsen(level, shrinks_to=COMBINED_ARCS)
            for _ in range(pool):
                self.one("restrict-parts", 4 * level.nodes, bytes_of(8 * level.nodes, 0))
            calls = tuple(Candidate("metis", tightness=tight) for _, tight in TOLERANCES)
            self.libraries(coarse, calls, 1, takes=False, starts=pool)
            pool = kept
            read = level.nbytes + level.weights_nbytes + 4 * level.nodes + coarse.nbytes + coarse.weights_nbytes
            traffic = bytes_of(pool * read, 0, COMBINING * level.arcs)
            self.one("refine-best", pool * level.nbytes, traffic, pool, work.of_cycles(level.arcs, 1))
            self.runner.disk.remove(level.below)

    def libraries(
        self, level: Sizes, calls: tuple[Candidate, ...], cycles: int, takes: bool = True, starts: int = 0
    ) -> None:
        """Note the export and the calls of libraries, and parts that are refined with what these give."""
        kept = level.nodes - level.isolated
        numbers = 4 * level.nodes if level.isolated else 0
        if level.isolated:
            self.one("number-nodes", numbers, bytes_of(8 * level.nodes, numbers))
        for_metis = any(call.library == "metis" for call in calls)
        weighted = level.arcs <= MANY_ARCS or for_metis
        file = ParhipFile("", kept, level.arcs, level.constraints > 1, weighted, for_metis)
        memory = 3 * level.nbytes // max(1, level.blocks)
        moved = (file.dtype.itemsize + 8 * weighted) * level.arcs
        read, written = level.nbytes + numbers, file.nbytes - 8 * kept
        self.one("export-graph", moved, bytes_of(read, written, memory, LIBRARY), level.blocks)
        weights = 8 * level.constraints * kept
        read, written = level.weights_nbytes + numbers, weights + 8 * kept
        self.one("export-weights", weights, bytes_of(read, written, place=LIBRARY))
        # the file is mapped by both libraries, not read
        count = len(calls) + starts
        read = sum(4 * kept + LIBRARY_READS[call.library] + weights * (call.library == "metis") for call in calls)
        read += 4 * kept * starts
        read += (level.nbytes + level.weights_nbytes) * count if cycles else 0
        # several calls differ: those that run side by side take as much as any on average
        memory = sum(LIBRARY_START[call.library] + _library_memory(level, call, weighted) for call in calls) // count
        traffic = bytes_of(read, 4 * (kept + level.nodes) * count, memory, LIBRARY)
        seconds = work.of_calls(calls, (level.arcs, level.constraints, cycles), self.runner.resources.workers)
        self.one("partition-graph", file.nbytes * count, traffic, count, seconds)
        if takes:
            self.one("take-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.runner.disk.remove(LIBRARY)

    def repair(self, level: Sizes, refines: bool) -> None:
        """Note that what a library gave is repaired, in memory if it fits; within one constraint it keeps the limit."""
        if level.constraints == 1:
            self.weigh(level)
            self.weigh(level)
            return
        if level.is_repaired_in_memory(self.memory):
            traffic = bytes_of(level.nbytes + level.weights_nbytes + 4 * level.nodes, 0, level.sweep_memory)
            self.one("repair-in-memory", level.nbytes, traffic, 1, work.REPAIR * level.arcs)
            self.weigh(level)
            return
        self.weigh(level)
        if refines:
            self.refine_blocks(level, RELIEFS)
        self.weigh(level)

    def weigh(self, level: Sizes, deals_out: bool = True) -> None:
        """Note that parts are weighed, and nodes of no part dealt out."""
        self.one("weigh-parts", 8 * level.nodes, bytes_of(4 * level.nodes + level.weights_nbytes, 0))
        if deals_out:
            self.one("deal-out", 4 * level.nodes, bytes_of(level.weights_nbytes, 0))

    def refine_blocks(self, level: Sizes, reliefs: int = 0) -> None:
        """Note the refinement of a level on disk."""
        self.weigh(level)
        for _ in range(MOVE_SWEEPS):
            read = level.nbytes + 2 * level.weights_nbytes + 4 * level.nodes
            self.one("refine-cut", level.nbytes, bytes_of(read, 4 * level.nodes, level.block_memory), level.blocks + 8)
        for _ in range(reliefs):
            traffic = bytes_of(level.nbytes + level.weights_nbytes, 12 * level.nodes, level.block_memory)
            self.one("restore-balance", level.nbytes, traffic, level.blocks + 1)

    def improve(self, level: Sizes, cycles: int) -> None:
        """Note a V-cycle."""
        if level.is_refined_in_memory(self.memory):
            memory = level.refinement_memory if level.is_coarse(self.memory) else level.cycle_memory
            traffic = bytes_of(level.nbytes + level.weights_nbytes + 4 * level.nodes, 0, memory)
            self.one("refine-in-memory", level.nbytes, traffic, 1, work.of_cycles(level.arcs, cycles))
            return
        self.weigh(level)
        coarse = self.coarsen(level)
        self.one("restrict-parts", 4 * level.nodes, bytes_of(8 * level.nodes, 0))
        self.improve(coarse, cycles)
        self.project(level)

    def multilevel(self, level: Sizes, choice: Choice, depth: int = 0) -> None:
        """Note the first cycle of the multilevel method."""
        if level.is_coarse(self.memory // 2) or depth == MOST_LEVELS:
            self.libraries(level, choice.candidates, choice.cycles)
            return
        coarse = self.coarsen(level)
        self.multilevel(coarse, choice, depth + 1)
        self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.project(level)

    def project(self, level: Sizes) -> None:
        """Note that parts of a coarser level are taken over, and refined."""
        self.one("project-parts", 8 * level.nodes, bytes_of(8 * level.nodes, 4 * level.nodes))
        self.runner.disk.remove(level.below)
        self.refine_blocks(level)

    def coarsen(self, level: Sizes, sweeps: int = CLUSTER_SWEEPS, shrinks_to: float = 1.0) -> Sizes:
        """Note one step of coarsening, to a share of the arcs at most; return the sizes of the coarser graph."""
        nodes, weights = level.nodes, level.weights_nbytes
        self.runner.disk.write({level.below: 12 * nodes + weights})  # labels, proposals, favorites, loads
        self.one("cluster-nodes", weights, bytes_of(weights, 4 * nodes + weights))
        for _ in range(sweeps):
            read = level.nbytes + 2 * weights + 4 * nodes
            self.one("cluster-nodes", level.nbytes, bytes_of(read, 8 * nodes, level.block_memory), level.blocks + 8)
        read = 4 * nodes + weights + 8 * nodes * (level.isolated > 0)
        self.one("number-clusters", 4 * nodes, bytes_of(read, 0, 12 * nodes + (16 << 20)))
        coarse, arcs, item = level.coarser(shrinks_to), level.arcs_between, 3 * level.weight_nbytes
        memory = 2 * level.block_memory
        self.one("contract", level.nbytes, bytes_of(level.nbytes, item * arcs, memory, ARCS), level.blocks)
        memory = BYTES_PER_BLOCK_ARC * arcs // max(1, coarse.blocks)
        traffic = bytes_of(item * arcs, coarse.nbytes, memory, level.below)
        self.one("merge-arcs", 2 * item * arcs, traffic, coarse.blocks)
        self.runner.disk.remove(ARCS)
        self.one("weigh-clusters", 8 * nodes, bytes_of(level.constraints * 12 * nodes, coarse.weights_nbytes))
        return coarse

    def measure(self, level: Sizes, num_reported: int) -> None:
        """Note that the result is measured."""
        self.one("weigh-parts", 8 * level.nodes, bytes_of((4 + 8 * num_reported) * level.nodes, 0))
        self.measure_cut(level)

    def measure_cut(self, level: Sizes) -> None:
        """Note that the cut is measured."""
        self.one("measure-cut", level.nbytes, bytes_of(level.nbytes, 0, level.block_memory), level.blocks)


def _library_memory(level: Sizes, call: Candidate, weighted: bool) -> int:
    """Bytes of one call beside its process."""
    weights = WEIGHT_PER_ARC * level.arcs * weighted
    if call.library == "metis":
        return level.arcs * METIS_PER_ARC + level.nodes * METIS_PER_NODE + level.weights_nbytes
    per_arc = COMPRESSED_PER_ARC if call.compress else KAMINPAR_PER_ARC
    return level.arcs * per_arc + level.nodes * KAMINPAR_PER_NODE + weights
