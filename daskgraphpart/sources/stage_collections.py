"""Pass `stage-collections`: write a graph's dask collections to npy files, block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.count_nodes import run_collections
from daskgraphpart.chunked.partitions import RowBlock
from daskgraphpart.chunked.rows import JoinedRows
from daskgraphpart.chunked.sources import cut, is_rows
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.storage.region import Region, npy_region, save_npy

if TYPE_CHECKING:
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.chunked.sources import Source

ROWS_PER_UNIT = 1 << 18


@dataclass(frozen=True, slots=True)
class StageUnit:
    """A block of edges or of a feature, and its file."""

    block: RowBlock[Any]
    path: str


def stage_collections(graph: Graph, directory: Path, runner: Runner) -> Graph:
    """Return a graph that can read any range of rows; computes what must be computed as a whole."""
    sources = {**graph.edge_sources}
    sources |= {f"{of}/{name}": rows for of, data in graph.data_sources.items() for name, rows in data.items()}
    lazy = {name: source for name, source in sources.items() if not is_rows(source)}
    if not lazy:
        return graph
    named = enumerate(lazy.items())
    units = [unit for i, (name, source) in named for unit in _units(name, source, str(directory / f"lazy-{i}"))]
    regions = run_collections(runner, Pass("stage-collections", stage_block, units, None, (Region,)))
    staged: dict[str, list[Region]] = {}
    for unit, region in zip(units, regions, strict=True):
        staged.setdefault(unit.key, []).append(region)
    rows = {name: JoinedRows(tuple(staged[name])) if name in staged else source for name, source in sources.items()}
    data = {of: {name: rows[f"{of}/{name}"] for name in features} for of, features in graph.data_sources.items()}
    return replace(graph, edge_sources={etype: rows[etype] for etype in graph.edge_sources}, data_sources=data)


def _units(name: str, source: Source, path: str) -> list[Unit[StageUnit]]:
    blocks = [
        RowBlock(piece.read, piece.given, name=name, number=i, first_row=piece.first_row, num_rows=piece.num_rows)
        for i, piece in enumerate(cut(source, ROWS_PER_UNIT))
    ]
    return [Unit(StageUnit(block, f"{path}-{block.number}.npy"), 1, key=name) for block in blocks]


def stage_block(unit: StageUnit, _: None) -> Region:
    """Write a block: of edges, int64 (edges, 2)."""
    rows = unit.block.read()
    rows = np.stack(rows, axis=1) if isinstance(rows, tuple) else rows
    save_npy(unit.path, rows)
    return npy_region(unit.path, rows.dtype, rows.shape)
