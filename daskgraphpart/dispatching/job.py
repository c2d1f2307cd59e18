"""What all passes of one dispatch share: the job, and how much each task takes at a time, from its memory.

Bytes per row are upper bounds over a task's steps. Caps keep arrays below 32 MiB, up to which the C library reuses
memory; beyond, new pages from the system cost more than the work on them (measured). A large budget therefore does not
make a large footprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources

if TYPE_CHECKING:
    from daskgraphpart.dispatching.destination import Destination
    from daskgraphpart.dispatching.dispatch_options import DispatchOptions
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.layout import Layout
    from daskgraphpart.partitioner.assignment import Owners
    from daskgraphpart.schema import GraphSchema


@dataclass(frozen=True, slots=True)
class Job:
    """One dispatch."""

    graph: Graph
    assignment: Owners
    out: str  # local directory for the files
    options: DispatchOptions
    sizes: Sizes
    work: Workspace
    runner: Runner
    layouts: tuple[Layout, ...]
    destination: Destination | None = None  # where files go if not to `out`

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return self.assignment.num_parts

    @property
    def is_staged(self) -> bool:
        """Whether features are staged; in a workspace in a store, files are in pieces already."""
        is_streamed = self.destination is not None or self.runner.resources.staging == "zarr"
        return is_streamed and self.runner.store.is_on_disk


EDGE_NBYTES = 80  # parquet or npy: decoded 16 + 16, owner 2, run 24, writing buffers
CSV_NBYTES = 20  # per byte of text; at worst ("0 0" and a newline) 4 bytes become 80 of arcs or runs
LOCAL_EDGE_NBYTES = 96  # run 24, local ends 16, edge IDs 16, types 4, keys by bucket 24
NODE_NBYTES = 32  # owner 2, new ID 8, position 8, original ID 8


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of units, and limits of what tasks hold."""

    edge_block_rows: int  # edges, or bytes of text, per block of `bucket-edges`
    csv_block_bytes: int
    row_block_bytes: int  # feature bytes that a task moves
    interval_rows: int  # nodes whose owners a task counts or relabels
    segment_edges: int  # edges of one part that a task writes
    map_bytes: int  # node maps for random lookups; beyond that, the join goes by ranges
    range_nodes: int  # nodes whose new IDs a task of that join holds
    bitmap_bytes: int  # bitmaps that a task may hold


def choose_sizes(resources: Resources) -> Sizes:
    """Choose the sizes for a budget."""
    memory = resources.task_memory
    return Sizes(
        edge_block_rows=min(memory // EDGE_NBYTES, 1 << 20),
        csv_block_bytes=min(memory // CSV_NBYTES, 8 << 20),
        row_block_bytes=min(memory // 4, 8 << 20),
        interval_rows=min(memory // NODE_NBYTES, 1 << 20),
        segment_edges=min(memory // LOCAL_EDGE_NBYTES, 1 << 19),
        map_bytes=resources.memory // 2,
        range_nodes=memory // 24,
        bitmap_bytes=memory // 2,
    )


def smallest_task_memory(schema: GraphSchema, options: DispatchOptions) -> int:
    """Bytes that a task of this job needs at least.

    Only a part's halo bitmap grows with the graph: N / 8 bytes, N / 8 for the ranks, and N / 8 to follow hops.
    """
    bitmaps = (3 if options.num_hops > 1 else 2) * -(-schema.num_nodes // 8)
    widest = max((spec.row_nbytes for kind in schema.row_types for spec in kind.data), default=0)
    return max(SMALLEST_TASK_MEMORY + bitmaps, 8 * widest)
