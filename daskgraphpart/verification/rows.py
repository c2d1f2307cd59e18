"""Pass `verify-rows`: every row of a block of features, bit by bit, where its node or edge is.

`verify-nodes` and `verify-edges` have written the new ID of every original ID, so the order of the parts' rows does not
matter; where it is that of the input, rows are read in one stretch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.kernels.compare import first_unequal
from daskgraphpart.kernels.hashing import stream_key
from daskgraphpart.storage.region import open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.schema import DataSpec
    from daskgraphpart.storage.region import Region

BYTES_PER_SCATTERED_ROW = 64 << 10
"""Memory that a row takes which is read through a memory map: the pages that the kernel reads around it."""


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One block of one feature of the input; kind is ``"node"`` or ``"edge"``."""

    kind: str
    type_id: int
    spec: DataSpec
    block: Block


@dataclass(frozen=True, slots=True)
class RowConfig:
    """The run, and how many bytes of scattered rows may be mapped at one time."""

    run: Run
    mapped_nbytes: int


def sampled(block: Block, fraction: float, feature: str) -> Block:
    """Return a stretch of a block that holds that share of its rows, somewhere in it; the same in every run."""
    rows = max(1, min(block.num_rows, round(block.num_rows * fraction)))
    key = stream_key(block.first_row, f"sample/{feature}")
    offset = int(key % np.uint64(block.num_rows - rows + 1))
    start = block.start + offset
    return replace(
        block, start=start, stop=start + rows, first_row=block.first_row + offset, num_rows=rows,
        row_in_file=block.row_in_file + offset,
    )  # fmt: skip


def verify_rows(unit: RowCheck, config: RowConfig) -> list[Finding]:
    """Compare one block with the rows of all parts."""
    run, book = config.run, opened(config.run.opening).book
    low, high = unit.block.first_row, unit.block.first_row + unit.block.num_rows
    expected = read_rows(unit.block, unit.spec).astype(unit.spec.stored_dtype, copy=False)
    if unit.kind == "node":
        new = open_npy(run.places(unit.type_id)).read(low, high).astype(np.int64) - 1
        ranges, name = book.node_ranges, book.ntypes[unit.type_id]
    else:
        new = open_npy(run.new_eids(unit.type_id)).read(low, high).astype(np.int64)
        ranges, name = book.edge_ranges, book.etypes[unit.type_id]
    owners = np.searchsorted(ranges[:, -1, 1], new, side="right")
    findings = []
    for number in np.unique(owners).tolist():
        mine = np.flatnonzero(owners == number)
        part = opened(run.opening).part(number)
        region = (part.node_regions if unit.kind == "node" else part.edge_regions)[name][unit.spec.name]
        rows = new[mine] - ranges[number, unit.type_id, 0]
        found = _read(region, rows, config.mapped_nbytes)
        wrong, count = first_unequal(_bits(found), _bits(expected[mine]))
        if wrong >= 0:
            what = f"{name}/{unit.spec.name}: row {rows[wrong]:,} is not input row {low + mine[wrong]:,}"
            findings.append(
                Finding(
                    "features",
                    f"part{number}/{unit.kind}_feat.dgl",
                    what,
                    number,
                    name,
                    int(rows[wrong]),
                    _short(expected[mine[wrong]]),
                    _short(found[wrong]),
                    int(count),
                )
            )
    return findings


def _read(region: Region, rows: np.ndarray, mapped_nbytes: int) -> np.ndarray:
    """Read rows in any order."""
    first, last = int(rows.min()), int(rows.max())
    if last - first + 1 <= 2 * rows.size:
        span = region.read(first, last + 1)
        # nothing to pick where they are one stretch, in order
        return span if span.shape[0] == rows.size and bool((np.diff(rows) == 1).all()) else span[rows - first]
    found = np.empty((rows.size, *region.shape[1:]), region.dtype)
    step = max(1, mapped_nbytes // max(BYTES_PER_SCATTERED_ROW, region.row_nbytes))
    for start in range(0, rows.size, step):  # a new map each time: the pages of the last are given back
        found[start : start + step] = region.memmap()[rows[start : start + step]]
    return found


def _bits(rows: np.ndarray) -> np.ndarray:
    """Rows as bytes, so that NaNs compare equal to themselves, and only to themselves."""
    return np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8)


def _short(row: np.ndarray) -> str:
    """First values of a row."""
    values = np.atleast_1d(row).reshape(-1)
    return f"[{', '.join(str(value) for value in values[:4])}{', ...' if values.size > 4 else ''}]"
