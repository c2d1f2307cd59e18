"""Map new to original IDs of one type, block by block of original IDs.

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
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

IDS_PER_READ = 1 << 20
BLOCK_NBYTES = 16 << 20


@dataclass(frozen=True, slots=True, eq=False)
class OriginalOrder:
    """The map of one type, whose original IDs by new ID are `originals`, part by part.

    `bounds`, int64 (parts, blocks + 1), are the rows of each part whose original IDs are below each block's first; of
    no use if there is an `inverse`, the new IDs by original ID, which there is unless original IDs ascend in all parts.
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

    def block(self, number: int) -> tuple[int, int]:
        """Original IDs of a block, half-open."""
        return number * self.block_rows, min((number + 1) * self.block_rows, self.num_rows)

    def runs(self, number: int) -> list[tuple[int, int]]:
        """New IDs of a block as half-open runs, one of each part that has any; only if parts ascend."""
        firsts, rows = self._first_ids(), self.bounds[:, number : number + 2].tolist()
        return [(first + low, first + high) for first, (low, high) in zip(firsts, rows, strict=True) if low < high]

    def new_ids(self, number: int) -> np.ndarray:
        """New IDs of a block, ascending."""
        if self.inverse is not None:
            return np.sort(self.inverse.read(*self.block(number)))
        return np.concatenate([np.arange(*run) for run in self.runs(number)])

    def slots(self, number: int) -> np.ndarray:
        """Place in the block of each of its new IDs, in the order of the new IDs."""
        start, stop = self.block(number)
        if self.inverse is not None:
            return np.argsort(self.inverse.read(start, stop))
        rows = self.bounds[:, number : number + 2].tolist()
        pieces = [region.read(*low_high) for region, low_high in zip(self.originals, rows, strict=True)]
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
            _mapped(out)[self.new_ids(number)] = rows
            return
        done = 0
        for low, high in self.runs(number):
            out.write(rows[done : done + high - low], low)
            done += high - low

    def _first_ids(self) -> Iterator[int]:
        """First new ID of each part."""
        return accumulate((region.num_rows for region in self.originals[:-1]), initial=0)


def open_order(originals: Sequence[Region], row_nbytes: int, scratch: Path, runner: Runner) -> OriginalOrder:
    """Look at a map; if a part does not ascend, write the inverse to the directory `scratch`."""
    num_rows = sum(region.num_rows for region in originals)
    block_rows = max(1, BLOCK_NBYTES // max(8, row_nbytes))
    starts = np.minimum(np.arange(-(-num_rows // block_rows) + 1) * block_rows, num_rows)
    sizes = [region.nbytes for region in originals]
    scanned = runner.run(Pass("find-runs", _find_runs, originals, starts, sizes))
    bounds = np.stack(scanned) if scanned else np.zeros((0, 1), np.int64)
    ascending = (bounds[:, -1] == [region.num_rows for region in originals]).all()
    # ascending within the parts and every block full: then each ID is there once
    if ascending and (np.diff(bounds.sum(axis=0)) == np.diff(starts)).all():
        return OriginalOrder(tuple(originals), block_rows, bounds, None)
    inverse = create_mapped_npy(scratch / "inverse.npy", np.int64, (num_rows,))
    order = OriginalOrder(tuple(originals), block_rows, bounds, inverse)
    inverse_map = _mapped(inverse)
    for start in range(0, num_rows, IDS_PER_READ):
        inverse_map[start : start + IDS_PER_READ] = -1
    units = list(zip(originals, order._first_ids(), strict=True))
    runner.run(Pass("invert-map", _invert, units, inverse, sizes))
    for start in range(0, num_rows, IDS_PER_READ):
        missing = np.flatnonzero(inverse_map[start : start + IDS_PER_READ] < 0)
        if missing.size:
            raise LayoutError(
                "the original IDs are not those of the graph, each once",
                file=originals[0].path,
                found=f"no node or edge {start + int(missing[0]):,}",
                hint="make the partitions again",
            )
    return order


def _find_runs(region: Region, starts: np.ndarray) -> np.ndarray:
    """Rows below the start of each block; fewer than there are at the end, if IDs do not ascend."""
    bounds, last = np.zeros(len(starts), np.int64), -1
    for start in range(0, region.num_rows, IDS_PER_READ):
        ids = region.read(start, min(start + IDS_PER_READ, region.num_rows))
        if ids[0] <= last or (ids[1:] <= ids[:-1]).any():
            return np.full(len(starts), -1)
        bounds += np.searchsorted(ids, starts)
        last = int(ids[-1])
    return bounds


def _invert(unit: tuple[Region, int], inverse: Region) -> None:
    region, first = unit
    target = _mapped(inverse)
    for start in range(0, region.num_rows, IDS_PER_READ):
        ids = region.read(start, min(start + IDS_PER_READ, region.num_rows))
        if ids.min() < 0 or ids.max() >= inverse.num_rows:
            bad = int(np.flatnonzero((ids < 0) | (ids >= inverse.num_rows))[0])
            raise LayoutError(
                "original ID out of range",
                file=region.path,
                place=f"row {start + bad:,}",
                expected=f"[0, {inverse.num_rows:,})",
                found=int(ids[bad]),
            )
        target[ids] = np.arange(first + start, first + start + len(ids))


def _mapped(region: Region) -> np.ndarray:
    """Map a region of a local file for writing."""
    return np.memmap(str(region.path), region.dtype, "r+", region.offset, region.shape)
