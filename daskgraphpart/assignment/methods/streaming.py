"""Streaming partitioners over the adjacency, with restreaming: memory for the parts of the nodes and one block.

LDG: Stanton and Kliot, "Streaming graph partitioning for large distributed graphs" (KDD 2012). Fennel: Tsourakakis,
Gkantsidis, Radunovic and Vojnovic, "FENNEL" (WSDM 2014), with gamma = 1.5. Restreaming: Nishimura and Ugander,
"Restreaming graph partitioning" (KDD 2013). Several constraints count as the fullest of a part's limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.multilevel.level import Level, writable
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.streaming import stream_nodes

if TYPE_CHECKING:
    from daskgraphpart.adjacency.csr_blocks import CsrBlock
    from daskgraphpart.assignment.multilevel.move_nodes import MoveConfig
    from daskgraphpart.engine.runner import Runner


# a full price would scatter the first nodes, when parts are empty; later passes press harder, as Nishimura and Ugander
# advise
FIRST_PRICE, PRICE_GROWTH = 0.2, 2.0
# full parts take none of the nodes that are bound to them: all passes but the last may exceed limits, the first by this
# share
FIRST_ROOM = 0.02
DEFAULT_PASSES = {"ldg": 1, "fennel": 3}


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """State of the stream, in files, the limits of a pass, and the price of fullness; negative for LDG."""

    state: MoveConfig
    limits: tuple[int, ...]
    alpha: float


def stream_level(state: MoveConfig, method: str, passes: int, runner: Runner) -> None:
    """Assign all nodes, in the order of their IDs, once or several times.

    Parameters
    ----------
    state : MoveConfig
        The graph, its parts (-1 at first) and their loads.
    method : str
        ``"ldg"`` or ``"fennel"``.
    passes : int
        How often the graph is streamed.
    runner : Runner
        What does the work.
    """
    level, num_parts = state.level, state.loads.num_rows
    alpha = fennel_alpha(level, num_parts) if method == "fennel" else -1.0
    for number in range(passes):
        room = FIRST_ROOM * (passes - 1 - number) / max(1, passes - 1)
        limits = tuple(int(limit * (1 + room)) for limit in state.limits)
        config = StreamConfig(state, limits, alpha * FIRST_PRICE * PRICE_GROWTH**number)
        steps = [
            Pass("stream-nodes", stream_block, [b], config, [b.nbytes], is_repeatable=False)
            for b in level.adjacency.blocks
        ]
        runner.run_in_turn(f"stream {number + 1} of {passes}", steps)


def fennel_alpha(level: Level, num_parts: int) -> float:
    """Fennel's alpha, m sqrt(k) / n^1.5, times the square root of the size n / k of a full part: edges per node."""
    num_nodes = max(1, level.num_nodes - level.adjacency.num_isolated)
    edges = level.adjacency.total_weight / 2
    return edges / num_nodes  # m sqrt(k) / n^1.5 times sqrt(n / k)


def stream_block(block: CsrBlock, config: StreamConfig) -> None:
    """Assign the nodes of one block."""
    state = config.state
    parts, loads = writable(state.parts), writable(state.loads)
    node_weights, limits = state.level.read_weights(block.start, block.stop), np.array(config.limits, np.int64)
    stream_nodes(*block.read(), block.start, parts, node_weights, loads, limits, config.alpha)
