"""Put rows into files, where tasks in other processes read them: arrays in memory, and collections of dask.

The pass `stage-collections` computes collections into npy files, block by block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.graph.companion_files import copy_companions
from daskgraphpart.graph.dask_partitions import count_lines, replace_stored_sources
from daskgraphpart.graph.dask_sources import run_collections
from daskgraphpart.graph.rows import ArrayRows, JoinedRows, MadeRows
from daskgraphpart.source import Block, FilePath, Source, stored_sources
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import make_directory, store_of, workspace_store
from daskgraphpart.storage.region import Region, create_npy, npy_region, save_npy

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.graph_sources import GraphSources, SourcesT


BYTES_PER_PIECE = 4 << 20
ROWS_PER_UNIT = 1 << 18
BYTES_PER_BLOCK = 1 << 20
"""Bytes of text whose lines are counted at a time."""


def share_arrays(graph: SourcesT, directory: Path, resources: Resources) -> SourcesT:
    """Return a graph that tasks can read: if they run in other processes, its arrays in files of a new directory."""
    return graph if resources.cluster in ("threads", "sync") else store_arrays(graph, directory)


def store_arrays(graph: SourcesT, directory: Path) -> SourcesT:
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


def is_seen_everywhere(graph: GraphSources) -> bool:
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


@dataclass(frozen=True, slots=True)
class StageUnit:
    """A block of edges or of a feature, and its file."""

    block: Block[Any]
    path: str


def make_seekable(graph: SourcesT, directory: Path, runner: Runner) -> SourcesT:
    """Return a graph of which any range of rows can be read: lines are counted, collections computed."""
    return stage_collections(count_lines(graph, BYTES_PER_BLOCK, runner), directory, runner)


def stage_collections(graph: SourcesT, directory: Path, runner: Runner) -> SourcesT:
    """Return a graph whose collections, which a task has to compute as a whole, lie in files."""
    named = {**graph.edge_sources}
    named |= {f"{of}/{name}": rows for of, data in graph.data_sources.items() for name, rows in data.items()}
    lazy: dict[Source, str] = {}
    for name, source in named.items():
        for leaf in stored_sources(source):
            if not leaf.can_seek:
                lazy.setdefault(leaf, name)
    units, owners = list[Unit[StageUnit]](), list[Source]()
    for i, (source, name) in enumerate(lazy.items()):
        of_source = _units(name, source, str(directory / f"lazy-{i}"))
        units += of_source
        owners += [source] * len(of_source)
    regions = run_collections(runner, Pass("stage-collections", stage_block, units, None, (Region,))) if units else []
    staged: dict[Source, list[Region]] = {source: [] for source in lazy}
    for source, region in zip(owners, regions, strict=True):
        staged[source].append(region)
    return replace_stored_sources(graph, {source: JoinedRows(tuple(of)) for source, of in staged.items() if of})


def _units(name: str, source: Source, path: str) -> list[Unit[StageUnit]]:
    blocks = [replace(block, name=name, number=i) for i, block in enumerate(source.blocks(ROWS_PER_UNIT))]
    return [Unit(StageUnit(block, f"{path}-{block.number}.npy"), 1, key=name) for block in blocks]


def stage_block(unit: StageUnit, _: None) -> Region:
    """Write a block: of edges, int64 (edges, 2)."""
    rows = unit.block.read()
    rows = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    save_npy(unit.path, rows)
    return npy_region(unit.path, rows.dtype, rows.shape)
