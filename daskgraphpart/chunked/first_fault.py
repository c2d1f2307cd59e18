"""Of several faults in the input report the first, whichever of the tasks that run side by side met its fault first."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.engine.runner import Runner

MOST_BLOCKS = 256


@contextmanager
def first_fault(blocks: Sequence[Block], read: Callable[[int], object], runner: Runner) -> Iterator[None]:
    """Replace a fault of one block by that of an earlier block, if that has one.

    Tasks start in the order of their blocks, so that of the blocks before a faulty one only those can be unread that
    were in work at the same time. They are read again, one after another.

    Parameters
    ----------
    blocks : sequence of Block
        What the pass inside reads, in its order.
    read : callable
        Reads and checks the block of that index as the task does.
    runner : Runner
        What runs the pass.

    Raises
    ------
    InputFileError
        The first fault.
    """
    try:
        yield
    except InputFileError as fault:
        last = _last_block(blocks, fault)
        at_once = min(MOST_BLOCKS, runner.units_at_once)
        for index in range(max(0, last - at_once), last):
            try:
                read(index)
            except InputFileError as earlier:
                raise earlier from None
        raise


def _last_block(blocks: Sequence[Block], fault: InputFileError) -> int:
    """Index of the last block that can have the fault."""
    row = re.match(r"row ([\d,]+)", fault.place or "")
    number = int(row[1].replace(",", "")) if row else None
    found = [
        index
        for index, block in enumerate(blocks)
        if block.path == fault.file and (number is None or block.row_in_file <= number)
    ]
    return max(found, default=0)
