"""Count the edges of CSV blocks: lines that are not blank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.kernels.parse_ints import count_lines

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block


def count_rows(block: Block) -> int:
    """Count the rows of a block: the non-blank lines that begin in its range of bytes."""
    return int(count_lines(read_lines(block.path, block.start, block.stop)))


def count_rows_before(block: Block) -> int:
    """Count the rows of the file that come before a block; holds as much of the file at a time as the block does."""
    step = max(1, block.stop - block.start)
    starts = range(0, block.start, step)
    return sum(count_rows(replace(block, start=start, stop=min(start + step, block.start))) for start in starts)
