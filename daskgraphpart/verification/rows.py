"""Pass `verify-rows`: every row of a block of features, bit by bit, where its node or edge is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.verification.edges import rows_between
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.schema import DataSpec


@dataclass(frozen=True, slots=True)
class RowCheck:
    """One block of one feature of the input; kind is ``"node"`` or ``"edge"``."""

    kind: str
    type_name: str
    spec: DataSpec
    block: Block


def verify_rows(unit: RowCheck, run: Run) -> list[Finding]:
    """Compare one block with the rows of all parts."""
    parts = opened(run)
    expected = _bits(read_rows(unit.block, unit.spec).astype(unit.spec.stored_dtype, copy=False))
    low, high = unit.block.first_row, unit.block.first_row + unit.block.num_rows
    compared = 0
    for number in range(parts.num_parts):
        part = parts.part(number)
        originals = (part.orig_nid_regions if unit.kind == "node" else part.orig_eid_regions)[unit.type_name]
        region = (part.node_regions if unit.kind == "node" else part.edge_regions)[unit.type_name][unit.spec.name]
        first, stop = rows_between(originals, low, high)
        if first == stop:
            continue
        rows = originals.read(first, stop) - low
        found = _bits(region.read(first, stop))
        wrong = np.flatnonzero((found != expected[rows]).any(axis=1))
        if wrong.size:
            what = (
                f"{unit.type_name}/{unit.spec.name}: row {first + wrong[0]:,} is not input row {low + rows[wrong[0]]:,}"
            )
            return [Finding("features", f"part{number}/{unit.kind}_feat.dgl", what)]
        compared += rows.size
    if compared != unit.block.num_rows:
        what = f"{unit.type_name}/{unit.spec.name}: {compared:,} of {unit.block.num_rows:,} rows from {low:,} are there"
        return [Finding("features", f"{unit.kind}_feat.dgl", what)]
    return []


def _bits(rows: np.ndarray) -> np.ndarray:
    """Rows as bytes, so that NaNs compare equal to themselves."""
    return np.ascontiguousarray(rows).reshape(rows.shape[0], -1).view(np.uint8)
