"""Count the edges of CSV blocks: lines that are not blank."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daskgraphpart.chunked.read_csv import read_lines
from daskgraphpart.kernels.parse_ints import count_lines

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block


def count_rows(block: Block) -> int:
    """Count the rows of a block: the non-blank lines that begin in its range of bytes."""
    return int(count_lines(read_lines(block.path, block.start, block.stop, os.stat(block.path).st_size)))
