"""Write arrays in memory to files, where tasks in other processes read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.chunked.leaves import leaves_of, replace_leaves
from daskgraphpart.chunked.rows import ArrayRows, MadeRows
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.source import Source

BYTES_PER_PIECE = 4 << 20


def share_arrays(graph: Graph, directory: Path, resources: Resources) -> Graph:
    """Return a graph that tasks can read: if they run in other processes, its arrays in files of a new directory."""
    return graph if resources.cluster in ("threads", "sync") else store_arrays(graph, directory)


def store_arrays(graph: Graph, directory: Path) -> Graph:
    """Return a graph whose arrays in memory, and rows that are made, lie in files of a new directory."""
    stored: dict[Source, Source] = {}
    for leaf in (leaf for source in graph.sources for leaf in leaves_of(source)):
        if isinstance(leaf, (ArrayRows, MadeRows)) and leaf not in stored:
            directory.mkdir(parents=True, exist_ok=True)
            stored[leaf] = write_rows(leaf, directory / f"rows-{len(stored)}.npy")
    return replace_leaves(graph, stored)


def write_rows(rows: Source, path: Path) -> Region:
    """Write rows into an npy file."""
    region = create_npy(path, rows.dtype, rows.shape)
    step = max(1, BYTES_PER_PIECE // max(1, region.row_nbytes))
    for start in range(0, region.num_rows, step):
        region.write(rows.read(start, min(start + step, region.num_rows)), start)
    return region
