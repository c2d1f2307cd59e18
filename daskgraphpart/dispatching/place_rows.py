"""Pass `place-rows`: write rows of features to their final places in the parts' files, or in staged zarr arrays.

Each block is read once, in order; its rows are grouped by owner, and each group is
one write at an offset known since `count-owners`. HALO nodes never carry features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.dispatching.targets import write_groups
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import count_owners, group_positions, group_starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.dispatching.targets import RowTarget
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RowUnit:
    """One block of one feature: array it belongs to, owners of all rows of the type, rows of each part before it."""

    block: Block
    spec: DataSpec
    owners: Region
    array: str
    before: np.ndarray


@dataclass(frozen=True, slots=True)
class PlaceConfig:
    """Where all arrays go, and the number of parts."""

    targets: Mapping[str, Sequence[RowTarget]]
    num_parts: int


def place_rows_pass(units: Sequence[RowUnit], config: PlaceConfig) -> Pass[RowUnit, PlaceConfig, None]:
    """Plan the pass."""
    sizes = [2 * unit.block.num_rows * unit.spec.row_nbytes for unit in units]
    return Pass("place-rows", place_rows, units, config, sizes)


def place_rows(unit: RowUnit, config: PlaceConfig) -> None:
    """Move the rows of one block to their owners."""
    rows, counts = read_grouped_rows(unit.block, unit.spec, unit.owners, config.num_parts)
    write_groups(rows, counts, config.targets[unit.array], unit.before)


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
