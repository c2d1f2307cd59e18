"""Pass `stage-collections`: compute collections of dask into npy files, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.graph.dask_partitions import count_lines
from daskgraphpart.graph.dask_sources import run_collections
from daskgraphpart.graph.rows import JoinedRows
from daskgraphpart.graph.stored_sources import replace_stored_sources, stored_sources
from daskgraphpart.source import Block, Source
from daskgraphpart.storage.region import Region, npy_region, save_npy

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph

ROWS_PER_UNIT = 1 << 18
BYTES_PER_BLOCK = 1 << 20
"""Bytes of text whose lines are counted at a time."""


@dataclass(frozen=True, slots=True)
class StageUnit:
    """A block of edges or of a feature, and its file."""

    block: Block[Any]
    path: str


def make_seekable(graph: Graph, directory: Path, runner: Runner) -> Graph:
    """Return a graph of which any range of rows can be read: lines are counted, collections computed."""
    return stage_collections(count_lines(graph, BYTES_PER_BLOCK, runner), directory, runner)


def stage_collections(graph: Graph, directory: Path, runner: Runner) -> Graph:
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
