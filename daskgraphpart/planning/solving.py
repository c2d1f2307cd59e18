"""The passes by which partitioners find parts, rehearsed: they change files in place, so they cannot be called.

How often graphs are swept over and how fast they shrink depends on the data; `assumptions` has typical values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.adjacency.export import ParhipFile
from daskgraphpart.assignment.choose import BYTES_PER_BLOCK_ARC, KAMINPAR_PER_ARC, KAMINPAR_PER_NODE, choose
from daskgraphpart.assignment.coarsened import CYCLES
from daskgraphpart.assignment.coarsened import SWEEPS as COARSENED_SWEEPS
from daskgraphpart.assignment.methods.streaming import DEFAULT_PASSES
from daskgraphpart.assignment.multilevel.in_memory import BYTES_PER_ARC, BYTES_PER_NODE
from daskgraphpart.assignment.multilevel.initial import MANY_ARCS
from daskgraphpart.assignment.multilevel.vcycle import MOST_ARCS_IN_MEMORY
from daskgraphpart.assignment.pipeline import MULTILEVEL_CYCLES, REFINE_CYCLES
from daskgraphpart.planning.assumptions import LEVEL_ARCS, LEVEL_NODES, RELIEFS, SWEEPS
from daskgraphpart.planning.traffic import IN_PLACE, Traffic

if TYPE_CHECKING:
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.assignment.choose import Choice
    from daskgraphpart.assignment.pipeline import Task
    from daskgraphpart.planning.rehearsal import Rehearsal

CLUSTER_SWEEPS = 4
MULTILEVEL_SWEEPS = 2
MOST_LEVELS = 6
LIBRARY_START = 110_000_000  # bytes of the process that runs a library, before it has read anything
WEIGHT_PER_ARC = 8  # bytes that arc weights take in KaMinPar
REFINING = 2.5  # times the time of a library, with the refinement of what it gives
SOLVING = "solving"
LIBRARY = "library"
ARCS = "arcs"
SMALL_TASK = 16 << 20  # bytes of a task that goes through all nodes piece by piece


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one level: nodes, arcs, bytes and blocks of its files, and constraints."""

    nodes: int
    arcs: int
    nbytes: int
    blocks: int
    constraints: int
    isolated: int

    def coarser(self) -> Sizes:
        """Sizes of the next level."""
        nodes, arcs = int((self.nodes - self.isolated) * LEVEL_NODES), int(self.arcs * LEVEL_ARCS)
        blocks = max(1, min(self.blocks, -(-arcs // (1 << 16))))
        return Sizes(nodes, arcs, 8 * nodes + 12 * arcs, blocks, self.constraints, 0)

    @property
    def below(self) -> str:
        """Directory of the next level."""
        return f"below {self.nodes} nodes"

    @property
    def weights_nbytes(self) -> int:
        """Bytes of the weights of all nodes."""
        return 8 * self.constraints * self.nodes

    @property
    def block_memory(self) -> int:
        """Bytes of one block in memory, with what is proposed for its nodes."""
        return 3 * self.nbytes // max(1, self.blocks) + 60 * self.nodes // max(1, self.blocks)


def bytes_of(read: int, written: int, memory: int = SMALL_TASK, place: str = IN_PLACE) -> Traffic:
    """Traffic of a pass that writes to one place."""
    return Traffic(read, {place: written}, memory)


def sizes_of(task: Task) -> Sizes:
    """Sizes of the graph that is partitioned."""
    graph = task.level.adjacency
    weights = len(task.level.weights)
    return Sizes(graph.num_nodes, graph.num_arcs, graph.nbytes, len(graph.blocks), weights, graph.num_isolated)


def rehearse_solving(task: Task, given: Assignment | None, runner: Rehearsal) -> tuple[str, str, int]:
    """Note the passes that fill in the part of every node.

    Returns
    -------
    tuple of (str, str, int)
        The method, why it is taken, and the bytes it needs.
    """
    adjacency, options, level = task.level.adjacency, task.options, sizes_of(task)
    solver = Solver(runner, options.method != "metis")
    runner.disk.write({SOLVING: 20 * level.nodes})  # parts, proposals, scores
    how = ("given", "asked for", 0)
    if task.num_parts == 1 or adjacency.num_arcs == 0:
        solver.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        solver.balance(level)
        how = (options.method, "there is nothing to cut: nodes are dealt out to balance", 0)
    elif given is not None:
        solver.one("read-owners", 4 * level.nodes, bytes_of(level.nodes, 4 * level.nodes))
        how = (given.method, "asked for", 0)
    else:
        choice = choose(task.level, task.num_parts, options, runner.resources)
        solver.run(choice, level, options.passes or DEFAULT_PASSES.get(choice.method, 1))
        how = (choice.method, choice.why, choice.need)
    if options.refine:
        solver.improve(level, REFINE_CYCLES)
    elif given is not None and options.balance is not None:
        solver.balance(level)
    return how


@dataclass(frozen=True, slots=True)
class Solver:
    """Notes the passes of solving, each as its pass file has them."""

    runner: Rehearsal
    refines_constraints: bool

    def one(self, name: str, moved: int, traffic: Traffic, units: int = 1, slower: float = 1.0) -> None:
        """Note a pass."""
        self.runner.note_pass(name, (units, moved), traffic, slower)

    def run(self, choice: Choice, level: Sizes, passes: int) -> None:
        """Note what a choice does."""
        if choice.method == "multilevel":
            self.multilevel(level, choice)
            for _ in range(MULTILEVEL_CYCLES):
                self.improve(level, 1)
        elif choice.candidates:
            if choice.method == "coarsened":
                self.coarsened(level, choice)
            else:
                self.libraries(level, choice)
            self.weigh(level)
            if level.constraints > 1 and self.refines_constraints:
                self.refine_blocks(level)
            self.balance(level)
        else:
            self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
            self.weigh(level, deals_out=False)
            for number in range(passes):
                nbytes, read = level.nbytes, level.nbytes + level.weights_nbytes
                name = f"stream {number + 1} of {passes}"
                self.one(name, nbytes, bytes_of(read, 0, level.block_memory), level.blocks)
            self.one("deal-out", 4 * level.nodes, bytes_of(level.weights_nbytes, 0))

    def coarsened(self, level: Sizes, choice: Choice) -> None:
        """Note that a graph is coarsened on disk, and what is left given to a library."""
        coarse = self.coarsen(level, COARSENED_SWEEPS)
        self.libraries(coarse, choice)
        self.improve(coarse, CYCLES)
        self.one("measure-cut", coarse.nbytes, bytes_of(coarse.nbytes, 0, coarse.block_memory), coarse.blocks)
        self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.one("project-parts", 8 * level.nodes, bytes_of(8 * level.nodes, 4 * level.nodes))
        self.runner.disk.remove(level.below)
        if level.constraints == 1:
            self.refine_blocks(level, MULTILEVEL_SWEEPS, 0)

    def libraries(self, level: Sizes, choice: Choice) -> None:
        """Note the export and the calls of libraries."""
        kept = level.nodes - level.isolated
        numbers = 4 * level.nodes if level.isolated else 0
        if level.isolated:
            self.one("number-nodes", numbers, bytes_of(8 * level.nodes, numbers))
        for_metis = any(c.library == "metis" for c in choice.candidates)
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
        calls, threads = len(choice.candidates), choice.candidates[0].threads
        read = 4 * kept * calls + weights * sum(c.library == "metis" for c in choice.candidates)
        read += (level.nbytes + level.weights_nbytes) * calls if choice.cycles else 0
        memory, written = self._library_memory(level, choice, weighted), 4 * (kept + level.nodes) * calls
        slower = REFINING if choice.cycles else 1.0 / threads
        self.one("partition-graph", file.nbytes * calls, bytes_of(read, written, memory, LIBRARY), calls, slower)
        self.one("take-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.runner.disk.remove(LIBRARY)

    def _library_memory(self, level: Sizes, choice: Choice, weighted: bool) -> int:
        """Bytes of one call: what the choice says it needs, and KaMinPar's figures where several calls are made."""
        per_call = choice.need
        if choice.cycles or choice.method == "coarsened":
            per_call = level.arcs * KAMINPAR_PER_ARC + level.nodes * KAMINPAR_PER_NODE
        return LIBRARY_START + per_call + WEIGHT_PER_ARC * level.arcs * weighted

    def weigh(self, level: Sizes, deals_out: bool = True) -> None:
        """Note that parts are weighed, and nodes of no part dealt out."""
        self.one("weigh-parts", 8 * level.nodes, bytes_of(4 * level.nodes + level.weights_nbytes, 0))
        if deals_out:
            self.one("deal-out", 4 * level.nodes, bytes_of(level.weights_nbytes, 0))

    def balance(self, level: Sizes) -> None:
        """Note that balance is restored, if need be."""
        self.weigh(level)

    def refine_blocks(self, level: Sizes, sweeps: int = SWEEPS, reliefs: int = RELIEFS) -> None:
        """Note the refinement of a level on disk."""
        self.weigh(level)
        for _ in range(sweeps):
            read = level.nbytes + 2 * level.weights_nbytes + 4 * level.nodes
            self.one("refine-cut", level.nbytes, bytes_of(read, 4 * level.nodes, level.block_memory), level.blocks + 8)
        for _ in range(reliefs):
            traffic = bytes_of(level.nbytes + level.weights_nbytes, 12 * level.nodes, level.block_memory)
            self.one("restore-balance", level.nbytes, traffic, level.blocks + 1)

    def improve(self, level: Sizes, cycles: int) -> None:
        """Note a V-cycle."""
        if level.arcs <= MOST_ARCS_IN_MEMORY or level.nodes < 100:
            memory = level.arcs * BYTES_PER_ARC + level.nodes * BYTES_PER_NODE
            traffic = bytes_of(level.nbytes + level.weights_nbytes, 0, memory)
            self.one("refine-in-memory", level.nbytes, traffic, 1, float(cycles))
            return
        self.weigh(level)
        coarse = self.coarsen(level)
        self.one("restrict-parts", 4 * level.nodes, bytes_of(8 * level.nodes, 0))
        self.improve(coarse, cycles)
        self.one("project-parts", 8 * level.nodes, bytes_of(8 * level.nodes, 4 * level.nodes))
        self.runner.disk.remove(level.below)
        self.refine_blocks(level, MULTILEVEL_SWEEPS, 0)

    def multilevel(self, level: Sizes, choice: Choice, depth: int = 0) -> None:
        """Note the first cycle of the multilevel method."""
        if level.arcs <= MOST_ARCS_IN_MEMORY or depth == MOST_LEVELS:
            self.libraries(level, choice)
            return
        coarse = self.coarsen(level)
        self.multilevel(coarse, choice, depth + 1)
        self.one("clear-parts", 4 * level.nodes, bytes_of(0, 4 * level.nodes))
        self.one("project-parts", 8 * level.nodes, bytes_of(8 * level.nodes, 4 * level.nodes))
        self.runner.disk.remove(level.below)
        self.refine_blocks(level, MULTILEVEL_SWEEPS, 0)

    def coarsen(self, level: Sizes, sweeps: int = CLUSTER_SWEEPS) -> Sizes:
        """Note one step of coarsening; return the sizes of the coarser graph."""
        nodes, weights = level.nodes, level.weights_nbytes
        self.runner.disk.write({level.below: 12 * nodes + weights})  # labels, proposals, favorites, loads
        self.one("cluster-nodes", weights, bytes_of(weights, 4 * nodes + weights))
        for _ in range(sweeps):
            read = level.nbytes + 2 * weights + 4 * nodes
            self.one("cluster-nodes", level.nbytes, bytes_of(read, 8 * nodes, level.block_memory), level.blocks + 8)
        self.one("number-clusters", 4 * nodes, bytes_of(12 * nodes + weights, 0, 12 * nodes + (16 << 20)))
        coarse = level.coarser()
        arcs = int(level.arcs * 0.9)  # without those inside clusters
        memory = 2 * level.block_memory
        self.one("contract", level.nbytes, bytes_of(level.nbytes, 16 * arcs, memory, ARCS), level.blocks)
        memory = BYTES_PER_BLOCK_ARC * arcs // max(1, level.blocks)
        self.one("merge-arcs", 32 * arcs, bytes_of(16 * arcs, coarse.nbytes, memory, level.below), coarse.blocks)
        self.runner.disk.remove(ARCS)
        self.one("weigh-clusters", 8 * nodes, bytes_of(level.constraints * 12 * nodes, coarse.weights_nbytes))
        return coarse

    def measure(self, level: Sizes, num_reported: int) -> None:
        """Note that the result is measured."""
        self.one("weigh-parts", 8 * level.nodes, bytes_of((4 + 8 * num_reported) * level.nodes, 0))
        self.one("measure-cut", level.nbytes, bytes_of(level.nbytes, 0, level.block_memory), level.blocks)
