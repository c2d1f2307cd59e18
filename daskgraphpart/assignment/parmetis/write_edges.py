"""Passes `measure-edges` and `write-edges`: edges as ParMETIS reads them, and those it cannot take.

Lines are counted in bytes before they are made, so that every block knows where its own belong and none waits for
another; text never lies on disk twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.format_lines import count_bytes, format_lines
from daskgraphpart.assignment.parmetis.repeated_edges import read_homogeneous_edges, removed_edges
from daskgraphpart.assignment.parmetis.text_file import create_text
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.assignment.parmetis.names import ParmetisFiles
    from daskgraphpart.assignment.parmetis.repeated_edges import EdgeUnit, RepeatConfig
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Edges that are kept, self-loops, and repeated edges."""

    num_kept: int
    num_self_loops: int
    num_repeats: int


@dataclass(frozen=True, slots=True)
class LineUnit:
    """One block of edges, and the bytes at which its lines begin in both files."""

    edges: EdgeUnit
    kept_offset: int
    removed_offset: int


@dataclass(frozen=True, slots=True)
class LineConfig:
    """What was found, and the files."""

    repeats: RepeatConfig
    kept: Region
    removed: Region


def write_edges(units: Sequence[EdgeUnit], repeats: RepeatConfig, files: ParmetisFiles, runner: Runner) -> EdgeCounts:
    """Write both files, under their temporary names."""
    nbytes = [unit.block.num_rows * 16 for unit in units]
    measured = runner.run(Pass("measure-edges", measure_edges, units, repeats, nbytes))
    counts, sizes = [found[0] for found in measured], [found[1] for found in measured]
    kept, kept_offsets = create_text(files.edges, [size[0] for size in sizes])
    removed, removed_offsets = create_text(files.removed_edges, [size[1] for size in sizes])
    lines = [LineUnit(*of_unit) for of_unit in zip(units, kept_offsets, removed_offsets, strict=True)]
    config = LineConfig(repeats, kept, removed)
    runner.run(Pass("write-edges", write_block, lines, config, [sum(size) for size in sizes]))
    return EdgeCounts(
        sum(c.num_kept for c in counts), sum(c.num_self_loops for c in counts), sum(c.num_repeats for c in counts)
    )


def measure_edges(unit: EdgeUnit, config: RepeatConfig) -> tuple[EdgeCounts, tuple[int, int]]:
    """Count the edges of a block, and the bytes of lines that are kept and removed."""
    columns, removed = _columns(unit, config)
    loops = int(np.count_nonzero(columns[0] == columns[1]))
    counts = EdgeCounts(int(np.count_nonzero(~removed)), loops, int(np.count_nonzero(removed)) - loops)
    of_all, of_removed = count_bytes(columns), count_bytes([column[removed] for column in columns])
    return counts, (of_all - of_removed, of_removed)


def write_block(unit: LineUnit, config: LineConfig) -> None:
    """Write the lines of a block into both files."""
    columns, removed = _columns(unit.edges, config.repeats)
    config.removed.write(format_lines([column[removed] for column in columns]), unit.removed_offset)
    if removed.any():
        columns = [column[~removed] for column in columns]
    config.kept.write(format_lines(columns), unit.kept_offset)


def _columns(unit: EdgeUnit, config: RepeatConfig) -> tuple[list[np.ndarray], np.ndarray]:
    src, dst = read_homogeneous_edges(unit, config.schema)
    first = unit.block.first_row
    columns = [src, dst, np.arange(first, first + src.size), np.full(src.size, unit.etype_id)]
    return columns, removed_edges(unit, config)
