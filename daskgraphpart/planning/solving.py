"""The passes by which partitioners find parts, rehearsed: they change files in place, so they cannot be called.

How often graphs are swept over and how fast they shrink depends on the data; `assumptions` has typical values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.adjacency.export import ParhipFile
from daskgraphpart.assignment.choose import choose
from daskgraphpart.assignment.methods.streaming import DEFAULT_PASSES
from daskgraphpart.assignment.multilevel.in_memory import BYTES_PER_ARC, BYTES_PER_NODE
from daskgraphpart.assignment.multilevel.initial import MANY_ARCS
from daskgraphpart.assignment.multilevel.vcycle import MOST_ARCS_IN_MEMORY
from daskgraphpart.assignment.pipeline import MULTILEVEL_CYCLES, REFINE_CYCLES
from daskgraphpart.planning.assumptions import RELIEFS, SWEEPS
from daskgraphpart.planning.traffic import Traffic

if TYPE_CHECKING:
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.assignment.choose import Choice
    from daskgraphpart.assignment.pipeline import Task
    from daskgraphpart.planning.rehearsal import Rehearsal

CLUSTER_SWEEPS = 3
NODES_LEFT, ARCS_LEFT = 0.15, 0.75  # of one level, on the next
MOST_LEVELS = 6
LIBRARY_START = 110_000_000  # bytes of the process that runs a library, before it has read anything
WEIGHT_PER_ARC = 8  # bytes that arc weights take in KaMinPar
SCRATCH = "solving"


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
        nodes, arcs = int((self.nodes - self.isolated) * NODES_LEFT), int(self.arcs * ARCS_LEFT)
        blocks = max(1, min(self.blocks, -(-arcs // (1 << 16))))
        return Sizes(nodes, arcs, 8 * nodes + 12 * arcs, blocks, self.constraints, 0)

    @property
    def weights_nbytes(self) -> int:
        """Bytes of the weights of all nodes."""
        return 8 * self.constraints * self.nodes

    @property
    def block_memory(self) -> int:
        """Bytes of one block in memory, with what is proposed for its nodes."""
        return 3 * self.nbytes // max(1, self.blocks) + 60 * self.nodes // max(1, self.blocks)


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
    how = ("given", "asked for", 0)
    if task.num_parts == 1 or adjacency.num_arcs == 0:
        solver.one("clear-parts", 4 * level.nodes, 0, 4 * level.nodes)
        solver.balance(level)
        how = (options.method, "there is nothing to cut: nodes are dealt out to balance", 0)
    elif given is not None:
        solver.one("read-owners", 4 * level.nodes, level.nodes, 4 * level.nodes)
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

    def one(self, name: str, moved: int, read: int, written: int, memory: int = 16 << 20, units: int = 1) -> None:
        """Note a pass of few units."""
        self.runner.note_pass(name, (units, moved), Traffic(read, {SCRATCH: written} if written else {}, memory))

    def run(self, choice: Choice, level: Sizes, passes: int) -> None:
        """Note what a choice does."""
        if choice.method == "multilevel":
            self.multilevel(level, choice)
            for _ in range(MULTILEVEL_CYCLES):
                self.improve(level, 1)
        elif choice.candidates:
            self.libraries(level, choice)
            self.weigh(level)
            if level.constraints > 1 and self.refines_constraints:
                self.refine_blocks(level)
            self.balance(level)
        else:
            self.one("clear-parts", 4 * level.nodes, 0, 4 * level.nodes)
            self.weigh(level, deals_out=False)
            for number in range(passes):
                nbytes, read = level.nbytes, level.nbytes + level.weights_nbytes
                name = f"stream {number + 1} of {passes}"
                self.one(name, nbytes, read, 0, level.block_memory, level.blocks)
            self.one("deal-out", 4 * level.nodes, level.weights_nbytes, 0)

    def libraries(self, level: Sizes, choice: Choice) -> None:
        """Note the export and the calls of libraries."""
        kept = level.nodes - level.isolated
        numbers = 4 * level.nodes if level.isolated else 0
        if level.isolated:
            self.one("number-nodes", numbers, 8 * level.nodes, numbers)
        weighted = level.arcs <= MANY_ARCS or any(c.library == "metis" for c in choice.candidates)
        file = ParhipFile("", kept, level.arcs, level.constraints > 1, weighted)
        self.one(
            "export-graph",
            8 * (1 + weighted) * level.arcs,
            level.nbytes + numbers,
            file.nbytes - 8 * kept,
            3 * level.nbytes // max(1, level.blocks),
            level.blocks,
        )
        weights = 8 * level.constraints * kept
        self.one("export-weights", weights, level.weights_nbytes + numbers, weights + 8 * kept)
        for candidate in choice.candidates:
            # the file is mapped by both libraries, not read
            read = 4 * kept + (weights if candidate.library == "metis" else 0)
            read += level.nbytes + level.weights_nbytes if choice.cycles else 0
            memory = self._library_memory(level, choice, weighted)
            self.one("partition-graph", file.nbytes, read, 4 * kept + 4 * level.nodes, memory)
        self.one("take-parts", 4 * level.nodes, 0, 4 * level.nodes)
        self.runner.disk.remove(SCRATCH)

    def _library_memory(self, level: Sizes, choice: Choice, weighted: bool) -> int:
        """Bytes of one call: what the choice says it needs (on small coarse graphs what refinement does)."""
        refinement = level.arcs * BYTES_PER_ARC + level.nodes * BYTES_PER_NODE
        per_call = refinement if choice.cycles else choice.need
        return LIBRARY_START + per_call + WEIGHT_PER_ARC * level.arcs * weighted

    def weigh(self, level: Sizes, deals_out: bool = True) -> None:
        """Note that parts are weighed, and nodes of no part dealt out."""
        self.one("weigh-parts", 8 * level.nodes, 4 * level.nodes + level.weights_nbytes, 0)
        if deals_out:
            self.one("deal-out", 4 * level.nodes, level.weights_nbytes, 0)

    def balance(self, level: Sizes) -> None:
        """Note that balance is restored, if need be."""
        self.weigh(level)

    def refine_blocks(self, level: Sizes) -> None:
        """Note the refinement of a level on disk."""
        self.weigh(level)
        for _ in range(SWEEPS):
            read = level.nbytes + 2 * level.weights_nbytes + 4 * level.nodes
            self.one("refine-cut", level.nbytes, read, 4 * level.nodes, level.block_memory, level.blocks + 8)
        for _ in range(RELIEFS):
            read = level.nbytes + level.weights_nbytes
            self.one("restore-balance", level.nbytes, read, 12 * level.nodes, level.block_memory, level.blocks + 1)

    def improve(self, level: Sizes, cycles: int) -> None:
        """Note a V-cycle."""
        if level.arcs <= MOST_ARCS_IN_MEMORY or level.nodes < 100:
            memory = level.arcs * BYTES_PER_ARC + level.nodes * BYTES_PER_NODE
            self.one("refine-in-memory", level.nbytes * cycles, level.nbytes + level.weights_nbytes, 0, memory)
            return
        self.weigh(level)
        coarse = self.coarsen(level)
        self.one("restrict-parts", 4 * level.nodes, 8 * level.nodes, 0)
        self.improve(coarse, cycles)
        self.one("project-parts", 8 * level.nodes, 8 * level.nodes, 4 * level.nodes)
        self.refine_blocks(level)

    def multilevel(self, level: Sizes, choice: Choice, depth: int = 0) -> None:
        """Note the first cycle of the multilevel method."""
        if level.arcs <= MOST_ARCS_IN_MEMORY or depth == MOST_LEVELS:
            self.libraries(level, choice)
            return
        coarse = self.coarsen(level)
        self.multilevel(coarse, choice, depth + 1)
        self.one("clear-parts", 4 * level.nodes, 0, 4 * level.nodes)
        self.one("project-parts", 8 * level.nodes, 8 * level.nodes, 4 * level.nodes)
        self.refine_blocks(level)

    def coarsen(self, level: Sizes) -> Sizes:
        """Note one step of coarsening; return the sizes of the coarser graph."""
        nodes, weights = level.nodes, level.weights_nbytes
        self.one("cluster-nodes", weights, weights, 4 * nodes + weights)
        for _ in range(CLUSTER_SWEEPS):
            read = level.nbytes + 2 * weights + 4 * nodes
            self.one("cluster-nodes", level.nbytes, read, 8 * nodes, level.block_memory, level.blocks + 8)
        self.one("number-clusters", 4 * nodes, 12 * nodes + weights, 0, 12 * nodes + (16 << 20))
        coarse = level.coarser()
        arcs = int(level.arcs * 0.9)  # without those inside clusters
        self.one("contract", level.nbytes, level.nbytes, 16 * arcs, 2 * level.block_memory, level.blocks)
        self.one("merge-arcs", 32 * arcs, 16 * arcs, coarse.nbytes, 40 * arcs // max(1, level.blocks), coarse.blocks)
        self.one("weigh-clusters", 8 * nodes, level.constraints * 12 * nodes, coarse.weights_nbytes)
        return coarse

    def measure(self, level: Sizes, num_reported: int) -> None:
        """Note that the result is measured."""
        self.one("weigh-parts", 8 * level.nodes, (4 + 8 * num_reported) * level.nodes, 0)
        self.one("measure-cut", level.nbytes, level.nbytes, 0, level.block_memory, level.blocks)
