"""Write arrays in memory to files, where tasks in other processes read them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.graph.companion_files import copy_companions
from daskgraphpart.graph.rows import ArrayRows, MadeRows
from daskgraphpart.graph.stored_sources import replace_stored_sources, stored_sources
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import make_directory, store_of, workspace_store
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.source import FilePath, Source

BYTES_PER_PIECE = 4 << 20


def share_arrays(graph: Graph, directory: Path, resources: Resources) -> Graph:
    """Return a graph that tasks can read: if they run in other processes, its arrays in files of a new directory."""
    return graph if resources.cluster in ("threads", "sync") else store_arrays(graph, directory)


def store_arrays(graph: Graph, directory: Path) -> Graph:
    """Return a graph whose arrays in memory, and rows that are made, lie in files of a new directory.

    In a store, so do all rows that lie on this machine's disk, and the files beside the graph.
    """
    stored: dict[Source, Source] = {}
    is_shared = workspace_store(directory).is_on_disk
    for leaf in (leaf for source in graph.sources for leaf in stored_sources(source)):
        is_made = isinstance(leaf, (ArrayRows, MadeRows))
        if leaf not in stored and (is_made or not (is_shared or all(map(_is_in_store, leaf.paths)))):
            make_directory(directory)
            stored[leaf] = write_rows(leaf, directory / f"rows-{len(stored)}.npy")
    companions = graph.companions if is_shared else copy_companions(graph.companions, directory / "beside")
    return replace(replace_stored_sources(graph, stored), companions=companions)


def share_rows(name: str, rows: Region, path: Path, runner: Runner) -> Region:
    """Return rows that all tasks can read: on a disk those given, in a store a copy, made as a step of that name."""
    return rows if runner.store.is_on_disk else runner.step(name, lambda: write_rows(rows, path), (Region,))


def is_seen_everywhere(graph: Graph) -> bool:
    """Whether machines that share nothing but a store can read all rows: no array in memory, no local file."""
    leaves = [leaf for source in graph.sources for leaf in stored_sources(source)]
    return all(not isinstance(leaf, ArrayRows) and all(map(_is_in_store, leaf.paths)) for leaf in leaves)


def _is_in_store(path: FilePath) -> bool:
    return not store_of(path).is_on_disk


def write_rows(rows: Source, path: Path) -> Region:
    """Write rows into an npy file."""
    with whole_file(path) as temporary:
        region = create_npy(temporary, rows.dtype, rows.shape)
        step = max(1, BYTES_PER_PIECE // max(1, region.row_nbytes))
        for start in range(0, region.num_rows, step):
            region.write(rows.read(start, min(start + step, region.num_rows)), start)
    return region.moved(path)
