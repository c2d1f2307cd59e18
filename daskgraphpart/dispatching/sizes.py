"""Choose how much each task takes at one time, from the memory it may use.

Bytes per row are upper bounds over all steps of a task. The caps keep arrays below 32 MiB, up to which the C library
takes them from memory it has used before; larger ones are new pages from the system each time, which was measured to
cost more than the work on them. So a large budget does not turn into a large footprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources

if TYPE_CHECKING:
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.schema import GraphSchema

EDGE_NBYTES = 80  # parquet or npy: decoded 16 + 16, owner 2, run 24, writing buffers
CSV_NBYTES = 20  # per byte of text, at its worst ("0 0" and a newline): 4 of text become 80 of arcs, or of runs
LOCAL_EDGE_NBYTES = 96  # run 24, local ends 16, edge IDs 16, types 4, keys by bucket 24
NODE_NBYTES = 32  # owner 2, new ID 8, position 8, original ID 8


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the units of passes, and limits of what their tasks hold."""

    edge_block_rows: int  # edges, or bytes of text, of one block of `bucket-edges`
    csv_block_bytes: int
    row_block_bytes: int  # bytes of features that one task moves
    interval_rows: int  # nodes whose owners one task counts or relabels
    segment_edges: int  # edges of one part that one task writes
    map_bytes: int  # bytes of node maps that may be looked up at random; the join is cut into ranges beyond
    range_nodes: int  # nodes whose new IDs one task of that partitioned join holds
    bitmap_bytes: int  # bytes of bitmaps that one task may hold


def choose_sizes(resources: Resources) -> Sizes:
    """Choose the sizes for a budget."""
    memory = resources.task_memory
    return Sizes(
        edge_block_rows=min(memory // EDGE_NBYTES, 1 << 20),
        csv_block_bytes=min(memory // CSV_NBYTES, 8 << 20),
        row_block_bytes=min(memory // 4, 8 << 20),
        interval_rows=min(memory // NODE_NBYTES, 2 << 20),
        segment_edges=min(memory // LOCAL_EDGE_NBYTES, 1 << 19),
        map_bytes=resources.memory // 2,
        range_nodes=memory // 24,
        bitmap_bytes=memory // 2,
    )


def smallest_task_memory(schema: GraphSchema, options: DispatchOptions) -> int:
    """Bytes without which a task of this job cannot run.

    The one thing that grows with the graph is the HALO bitmap of a part: N / 8 bytes, N / 8 more for the ranks, and
    another N / 8 where hops are followed.
    """
    bitmaps = (3 if options.num_hops > 1 else 2) * -(-schema.num_nodes // 8)
    widest = max((spec.row_nbytes for kind in schema.row_types for spec in kind.data), default=0)
    return max(SMALLEST_TASK_MEMORY + bitmaps, 8 * widest)
