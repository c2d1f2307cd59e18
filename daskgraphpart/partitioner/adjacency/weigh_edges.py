"""Passes `weigh-edges`, which checks edge weights and writes them in edge order, and `count-cut-edges`.

Partitioners take integers. A weight becomes a number of *units*, a power of two: the largest that divides all weights,
so that integers and fractions such as 0.25 stay exact, but at least the largest weight over 2 ** 20. Other weights are
rounded, to at least one unit. Edges of types without weights weigh 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.dask_partitions import list_edge_blocks, list_row_blocks
from daskgraphpart.partitioner.assign_options import check_weights
from daskgraphpart.schema import EDGE_WEIGHT
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.source import Block, Edges

BITS = 20  # of the largest weight, in units
MANTISSA_BITS = 53
ROWS_PER_UNIT = EDGES_PER_UNIT = 1 << 19


@dataclass(frozen=True, slots=True)
class EdgeWeights:
    """Weight file of each edge type, as in the input, none if all are 1; and the exponent of a unit."""

    files: Mapping[str, Region]
    exponent: int


@dataclass(frozen=True, slots=True)
class WeighUnit:
    """One block of weights, the output, and the user's file, if any, with the first row."""

    block: Block[np.ndarray]
    target: Region
    source: str | None
    first_row: int


def weigh_edges(graph: Graph, names: Sequence[str], directory: Path, runner: Runner) -> EdgeWeights | None:
    """Run the pass over these features; None if there are none."""
    specs, is_named = check_weights(graph, names), bool(graph.directory)  # others may lie in files of the job
    if not specs:
        return None
    counts = {edge_type.name: edge_type.num_edges for edge_type in graph.schema.edge_types}
    files = {
        etype: npy_region(directory / f"edge-weights-{i}.npy", spec.dtype, (counts[etype],))
        for i, (etype, spec) in enumerate(specs.items())
    }
    runner.step("create-edge-weights", lambda: create_files(files.values()))
    units = []
    for etype, spec in specs.items():
        for block in list_row_blocks(graph, etype, spec, ROWS_PER_UNIT):
            work = (
                WeighUnit(block, files[etype], block.file, block.row_in_file)
                if is_named
                else WeighUnit(block, files[etype], None, block.first_row)
            )
            units.append(Unit(work, 2 * block.num_rows * spec.row_nbytes, key=etype))
    ranges = runner.run(Pass("weigh-edges", weigh, units, None))
    if len(specs) < len(counts):
        ranges.append(_exponents(np.ones(1)))
    if not ranges:
        return None
    return EdgeWeights(files, max(min(low for low, _ in ranges), max(high for _, high in ranges) - BITS))


def weigh(unit: WeighUnit, _: None) -> tuple[int, int]:
    """Write one block of weights; return exponents of powers of two below and above all."""
    rows = unit.block.read().reshape(-1)
    bad = np.flatnonzero(~((rows > 0) & np.isfinite(rows)))
    if bad.size:
        raise InputFileError(
            f"invalid edge weight: {unit.block.name}",
            file=unit.source,
            place=f"row {unit.first_row + bad[0]:,}",
            expected=EDGE_WEIGHT,
            found=rows[bad[0]],
        )
    unit.target.write(rows, unit.block.first_row)
    return _exponents(rows.astype(np.float64))


def _exponents(weights: np.ndarray) -> tuple[int, int]:
    """Exponents of the largest power of two that divides all weights, and of one above all."""
    mantissas, exponents = np.frexp(weights)
    digits = np.ldexp(mantissas, MANTISSA_BITS).astype(np.int64)
    _, lowest = np.frexp((digits & -digits).astype(np.float64))
    return int((exponents - MANTISSA_BITS + lowest - 1).min()), int(exponents.max())


def count_units(weights: np.ndarray, exponent: int) -> np.ndarray:
    """Return weights in units, int32."""
    units: np.ndarray = np.maximum(np.rint(np.ldexp(weights.astype(np.float64), -exponent)), 1).astype(np.int32)
    return units


def count_cut_edges(graph: Graph, parts: Region, runner: Runner) -> int:
    """Count the input's cut edges; with weights, the adjacency only knows their weight."""
    firsts = dict(zip(graph.schema.ntypes, graph.schema.homo_starts, strict=False))
    units = [
        Unit(CutUnit(block, firsts[etype.src], firsts[etype.dst]), 16 * block.num_rows, key=etype.name)
        for etype, block in list_edge_blocks(graph, EDGES_PER_UNIT, 8 * EDGES_PER_UNIT, runner)
    ]
    return sum(runner.run(Pass("count-cut-edges", count_cut, units, parts)))


@dataclass(frozen=True, slots=True)
class CutUnit:
    """One block of edges, and the first homogeneous IDs of the node types at their ends."""

    block: Block[Edges]
    first_src: int
    first_dst: int


def count_cut(unit: CutUnit, parts: Region) -> int:
    """Count the cut edges of one block."""
    (src, dst), owners = unit.block.read(), parts.memmap()
    return int(np.count_nonzero(owners[src + unit.first_src] != owners[dst + unit.first_dst]))
