"""A text file that many tasks write at once, each where its lines belong."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.atomic import temporary_path
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.region import Region

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def create_text(path: Path, nbytes: Sequence[int]) -> tuple[Region, list[int]]:
    """Create the unfinished file of `path`.

    Parameters
    ----------
    path : Path
        Its final name.
    nbytes : sequence of int
        Bytes that each unit will write.

    Returns
    -------
    region : Region
        Its bytes.
    offsets : list of int
        Byte at which each unit begins.
    """
    *offsets, total = accumulate(nbytes, initial=0)
    unfinished = temporary_path(path)
    with attach_path_to_error(unfinished), open(unfinished, "wb") as file:
        file.truncate(total)
    return Region(unfinished, 0, np.dtype(np.uint8), (total,)), offsets
