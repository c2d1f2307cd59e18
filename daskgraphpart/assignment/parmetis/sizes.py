"""How large a bite each task of the ParMETIS interchange takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources

# columns 32, once more without what is removed 32, text 80 and the same while its buffer grows; Arrow and the C library
# each keep what they have used, so half as much again
EDGE_NBYTES = 320
CSV_NBYTES = EDGE_NBYTES // 4  # per byte of text: an edge takes at least 4
PAIR_NBYTES = 48  # both ends 16 + 16 while they are joined, hash table 8 to 16
NODE_NBYTES = 32  # homogeneous ID 8, part 8, row 8, owners and counts 3
LINE_NBYTES = 24  # per byte of text: a line takes at least 4 and becomes columns 24, order 12, run 24


@dataclass(frozen=True, slots=True)
class ParmetisSizes:
    """Bites of the passes; none changes a byte of the output.

    Parameters
    ----------
    edge_block_rows, csv_block_bytes : int
        Edges, or bytes of text, of one block of the graph.
    bucket_pairs : int
        Pairs among which one task looks for repeats.
    interval_rows : int
        Nodes that one task writes, or gives owners.
    text_block_bytes : int
        Bytes of the output of ParMETIS that one task reads.
    """

    edge_block_rows: int
    csv_block_bytes: int
    bucket_pairs: int
    interval_rows: int
    text_block_bytes: int


def choose_sizes(resources: Resources, num_weights: int = 0) -> ParmetisSizes:
    """Choose the bites for a budget, and for the number of node weights."""
    memory = resources.task_memory
    return ParmetisSizes(
        edge_block_rows=min(memory // EDGE_NBYTES, 1 << 19),
        csv_block_bytes=min(memory // CSV_NBYTES, 8 << 20),
        bucket_pairs=min(memory // PAIR_NBYTES, 16 << 20),
        interval_rows=min(memory // (NODE_NBYTES * (2 + num_weights)), 1 << 20),
        text_block_bytes=min(memory // LINE_NBYTES, 8 << 20),
    )
