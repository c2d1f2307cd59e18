"""Pass `place-rows`: rows of features go straight to their final places in the parts' files.

For an output that all workers see. Each block is read once, in order; its rows are grouped by owner, and each group is
one write at an offset known since `count-owners`. HALO nodes never carry features.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.dispatching.workspace import unfinished_part_file
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import count_owners, group_positions, group_starts
from daskgraphpart.storage.region import write_exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RowUnit:
    """One block of one feature.

    Parameters
    ----------
    block : Block
        The rows.
    spec : DataSpec
        The feature.
    owners : Region
        Owner of every row of the type.
    file_name : str
        Output file in each part's directory.
    byte_offsets : int64 array (parts,)
        Where each part's first row of this block goes.
    """

    block: Block
    spec: DataSpec
    owners: Region
    file_name: str
    byte_offsets: np.ndarray


@dataclass(frozen=True, slots=True)
class PlaceConfig:
    """Output directory, and number of parts."""

    out: str
    num_parts: int


def place_rows_pass(units: Sequence[RowUnit], out: str, num_parts: int) -> Pass[RowUnit, PlaceConfig, None]:
    """Plan the pass."""
    sizes = [2 * unit.block.num_rows * unit.spec.row_nbytes for unit in units]
    return Pass("place-rows", place_rows, units, PlaceConfig(out, num_parts), sizes)


def place_rows(unit: RowUnit, config: PlaceConfig) -> None:
    """Move the rows of one block to their owners."""
    rows, counts = read_grouped_rows(unit.block, unit.spec, unit.owners, config.num_parts)
    write_groups(rows, counts, config.out, unit.file_name, unit.byte_offsets)


def read_grouped_rows(
    block: Block, spec: DataSpec, owner_region: Region, num_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Read a block of features with its rows grouped by owner.

    Returns
    -------
    rows : array (rows, ...)
        In the dtype that is stored.
    counts : int64 array (parts,)
        Rows of each owner.
    """
    rows = read_rows(block, spec)
    owners = owner_region.read(block.first_row, block.first_row + block.num_rows)
    counts = np.zeros(num_parts, np.int64)
    count_owners(owners, num_parts, counts)
    positions = np.empty(owners.size, np.int64)
    group_positions(owners, group_starts(counts)[:-1], positions)
    stored = rows.view(spec.stored_dtype)
    grouped = np.empty_like(stored)
    # with `out` and a mode that needs no second look, numpy copies row by row at the speed of memory, without the GIL
    np.take(stored, positions, axis=0, out=grouped, mode="clip")
    return grouped, counts


def write_groups(rows: np.ndarray, counts: np.ndarray, out: str, file_name: str, byte_offsets: np.ndarray) -> None:
    """Write each part's group of rows at its offset.

    Parameters
    ----------
    rows : array (rows, ...)
        Grouped by part.
    counts : int64 array (parts,)
        Rows of each part.
    out : str
        Output directory.
    file_name : str
        File in each part's directory.
    byte_offsets : int64 array (parts,)
        Where each part's rows go.
    """
    if rows.size == 0:
        return
    content = memoryview(_as_bytes(rows).reshape(-1).data)
    ends = group_starts(counts) * (rows.nbytes // rows.shape[0])
    for part in np.flatnonzero(counts).tolist():
        path = unfinished_part_file(out, part, file_name)
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            write_exactly(fd, content[ends[part] : ends[part + 1]], int(byte_offsets[part]), path)
        finally:
            os.close(fd)


def _as_bytes(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8)
