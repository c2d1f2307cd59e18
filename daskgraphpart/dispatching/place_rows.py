"""Pass `place-rows`: write rows of features to their final places in the parts' files, or in staged zarr arrays.

Each partition is read once, in order; its rows are grouped by owner, and each group is one write at an offset known
since `count-owners`. HALO nodes never carry features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.dispatching.targets import write_groups
from daskgraphpart.engine.plan import Pass
from daskgraphpart.kernels.owner_sort import group_by_owner

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.partitions import RowRange
    from daskgraphpart.dispatching.targets import RowTarget
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True, eq=False)
class RowUnit:
    """One partition of a feature: array it belongs to, owners of all rows of the type, rows of each part before it."""

    rows: RowRange
    spec: DataSpec
    owners: Region
    array: str
    before: np.ndarray


@dataclass(frozen=True, slots=True)
class PlaceConfig:
    """Where all arrays go, and the number of parts."""

    targets: Mapping[str, Sequence[RowTarget]]
    num_parts: int


def place_rows_pass(
    units: Sequence[RowUnit], partitions: Sequence[Any], config: PlaceConfig
) -> Pass[RowUnit, PlaceConfig, None]:
    """Plan the pass."""
    sizes = [2 * unit.rows.num_rows * unit.spec.row_nbytes for unit in units]
    types = [unit.rows.name for unit in units]
    return Pass("place-rows", place_rows, units, config, sizes, partitions=partitions, unit_types=types)


def place_rows(values: np.ndarray, unit: RowUnit, config: PlaceConfig) -> None:
    """Move the rows of one partition to their owners."""
    grouped, counts = group_rows(values, unit.rows, unit.spec, unit.owners, config.num_parts)
    write_groups(grouped, counts, config.targets[unit.array], unit.before)


def group_rows(
    values: np.ndarray, rows: RowRange, spec: DataSpec, owner_region: Region, num_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Group the rows of a partition of a feature by owner.

    Arrays: returns `grouped` (rows, ...), `counts` int64 (parts,).
    """
    rows.check(values.shape[0])
    owners = owner_region.read(rows.first_row, rows.first_row + rows.num_rows)
    positions, counts = group_by_owner(owners, num_parts)
    stored = values.view(spec.stored_dtype)
    grouped = np.empty_like(stored)
    # with `out` and a mode that needs no second look, numpy copies row by row at the speed of memory, without the GIL
    np.take(stored, positions, axis=0, out=grouped, mode="clip")
    return grouped, counts
