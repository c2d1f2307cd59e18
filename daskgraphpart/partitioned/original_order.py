"""The map between new and original IDs of one type, block by block of original IDs.

Inside a part original IDs usually ascend (we write them so): then the rows of a block of original IDs are one run of
every part. Where they do not (DGL's own tools leave them in any order) the inverse of the map is written to a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import LayoutError
from daskgraphpart.storage.region import create_mapped_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

IDS_AT_ONCE = 1 << 20
BLOCK_NBYTES = 16 << 20


@dataclass(frozen=True, slots=True, eq=False)
class OriginalOrder:
    """The map of one type.

    Parameters
    ----------
    originals : tuple of Region
        Original IDs of each part, by new ID.
    block_rows : int
        Original IDs in a block.
    bounds : int64 array (parts, blocks + 1)
        Rows of each part whose original IDs are below each block's first; of no use if there is an inverse.
    inverse : Region or None
        New IDs by original ID; None if original IDs ascend within every part.
    """

    originals: tuple[Region, ...]
    block_rows: int
    bounds: np.ndarray
    inverse: Region | None

    @property
    def num_rows(self) -> int:
        """Number of nodes or edges."""
        return sum(region.num_rows for region in self.originals)

    @property
    def num_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.num_rows // self.block_rows)

    @property
    def firsts(self) -> list[int]:
        """First new ID of each part."""
        return list(accumulate((region.num_rows for region in self.originals[:-1]), initial=0))

    def block(self, number: int) -> tuple[int, int]:
        """Original IDs of a block, half-open."""
        return number * self.block_rows, min((number + 1) * self.block_rows, self.num_rows)

    def runs(self, number: int) -> list[tuple[int, int]]:
        """New IDs of a block as half-open runs, one of each part that has any; only if parts ascend."""
        found = []
        for first, (low, high) in zip(self.firsts, self.bounds[:, number : number + 2].tolist(), strict=True):
            if low < high:
                found.append((first + low, first + high))
        return found

    def new_ids(self, number: int) -> np.ndarray:
        """New IDs of a block, ascending."""
        if self.inverse is not None:
            return np.sort(self.inverse.read(*self.block(number)))
        return np.concatenate([np.arange(*run) for run in self.runs(number)])

    def slots(self, number: int) -> np.ndarray:
        """Place in the block of each of its new IDs, in the order of the new IDs."""
        start, _ = self.block(number)
        if self.inverse is not None:
            return np.argsort(self.inverse.read(*self.block(number)))
        pieces = [
            region.read(low, high)
            for region, (low, high) in zip(self.originals, self.bounds[:, number : number + 2].tolist(), strict=True)
        ]
        slots: np.ndarray = np.concatenate(pieces) - start
        return slots

    def gather(self, rows: Any, number: int) -> np.ndarray:
        """Take the rows of a block in original order from rows in new order (anything that takes slices)."""
        if self.inverse is not None:
            return self.place(rows[self.new_ids(number)], number)
        return self.place(np.concatenate([rows[low:high] for low, high in self.runs(number)]), number)

    def place(self, rows: np.ndarray, number: int) -> np.ndarray:
        """Bring the rows of a block from the order of new IDs into that of original IDs."""
        placed = np.empty_like(rows)
        placed[self.slots(number)] = rows
        return placed

    def scatter(self, rows: np.ndarray, number: int, out: Region) -> None:
        """Write the rows of a block, in original order, where they belong in new order."""
        rows = rows[self.slots(number)]
        if self.inverse is not None:
            target = np.memmap(out.path, out.dtype, "r+", out.offset, out.shape)
            target[self.new_ids(number)] = rows
            return
        done = 0
        for low, high in self.runs(number):
            out.write(rows[done : done + high - low], low)
            done += high - low


def open_order(originals: Sequence[Region], row_nbytes: int, scratch: Path, runner: Runner) -> OriginalOrder:
    """Look at a map; if a part does not ascend, write the inverse to `scratch`.

    Parameters
    ----------
    originals : sequence of Region
        Original IDs of each part, by new ID.
    row_nbytes : int
        Bytes of a row, which determine how many make a block.
    scratch : Path
        Directory for the inverse.
    runner : Runner
        Runs the passes.

    Raises
    ------
    LayoutError
        If an original ID is out of range, or given twice.
    """
    num_rows = sum(region.num_rows for region in originals)
    block_rows = max(1, BLOCK_NBYTES // max(8, row_nbytes))
    sizes = [region.nbytes for region in originals]
    scanned = runner.run(Pass("find-runs", _find_runs, originals, (num_rows, block_rows), sizes))
    bounds = np.stack(scanned) if scanned else np.zeros((0, 1), np.int64)
    ascending = (bounds[:, -1] == [region.num_rows for region in originals]).all()
    # ascending within the parts and every block full: then each ID is there once
    full = (np.diff(bounds.sum(axis=0)) == np.diff(_starts(num_rows, block_rows))).all()
    if ascending and full:
        return OriginalOrder(tuple(originals), block_rows, bounds, None)
    inverse = create_mapped_npy(scratch / "inverse.npy", np.int64, (num_rows,))
    inverse_map = np.memmap(inverse.path, inverse.dtype, "r+", inverse.offset, inverse.shape)
    for start in range(0, num_rows, IDS_AT_ONCE):
        inverse_map[start : start + IDS_AT_ONCE] = -1
    firsts = accumulate((region.num_rows for region in originals[:-1]), initial=0)
    units = list(zip(originals, firsts, strict=True))
    runner.run(Pass("invert-map", _invert, units, inverse, sizes))
    for start in range(0, num_rows, IDS_AT_ONCE):
        missing = np.flatnonzero(inverse_map[start : start + IDS_AT_ONCE] < 0)
        if missing.size:
            raise LayoutError(
                "the original IDs are not those of the graph, each once",
                file=originals[0].path,
                found=f"no node or edge {start + int(missing[0]):,}",
                hint="make the partitions again",
            )
    return OriginalOrder(tuple(originals), block_rows, bounds, inverse)


def _starts(num_rows: int, block_rows: int) -> np.ndarray:
    """First IDs of all blocks, then the end."""
    return np.minimum(np.arange(-(-num_rows // block_rows) + 1) * block_rows, num_rows)


def _find_runs(region: Region, sizes: tuple[int, int]) -> np.ndarray:
    """Rows below the start of each block; fewer than there are at the end, if IDs do not ascend."""
    num_rows, block_rows = sizes
    starts = _starts(num_rows, block_rows)
    bounds, last = np.zeros(len(starts), np.int64), -1
    for start in range(0, region.num_rows, IDS_AT_ONCE):
        ids = region.read(start, min(start + IDS_AT_ONCE, region.num_rows))
        if ids[0] <= last or (ids[1:] <= ids[:-1]).any():
            return np.full(len(starts), -1)
        bounds += np.searchsorted(ids, starts)
        last = int(ids[-1])
    return bounds


def _invert(unit: tuple[Region, int], inverse: Region) -> None:
    region, first = unit
    target = np.memmap(inverse.path, inverse.dtype, "r+", inverse.offset, inverse.shape)
    for start in range(0, region.num_rows, IDS_AT_ONCE):
        ids = region.read(start, min(start + IDS_AT_ONCE, region.num_rows))
        if ids.min() < 0 or ids.max() >= inverse.num_rows:
            bad = start + int(np.flatnonzero((ids < 0) | (ids >= inverse.num_rows))[0])
            raise LayoutError(
                "original ID out of range",
                file=region.path,
                place=f"row {bad:,}",
                expected=f"[0, {inverse.num_rows:,})",
                found=int(ids[bad - start]),
            )
        target[ids] = np.arange(first + start, first + start + len(ids))
