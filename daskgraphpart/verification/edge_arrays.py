"""Pass `verify-edge-arrays`: IDs, flags and types of the local edges of a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.verification.edge_pieces import EdgeStripe


def verify_edge_arrays(unit: EdgeStripe, run: Run) -> list[Finding]:
    """Check the arrays of one stripe."""
    part = opened(run.opening).part(unit.part)
    findings: list[Finding] = []
    for first in range(unit.first, unit.stop, run.piece_rows):
        findings += _arrays(part, first, min(first + run.piece_rows, unit.stop))
        if findings:
            break
    return findings


def _arrays(part: Part, first: int, stop: int) -> Iterator[Finding]:
    book, arrays, file = part.book, part.graph.edge_arrays, f"part{part.part_id}/graph.dgl"
    low, high = int(book.edge_ranges[part.part_id, 0, 0]), int(book.edge_ranges[part.part_id, -1, 1])
    ids, local = arrays["_ID"].read(first, stop), np.arange(first, stop)
    inner = local < high - low
    wrong = np.where(inner, ids != low + local, (ids < 0) | (ids >= book.edge_ranges[-1, -1, 1]))
    wrong |= ~inner & (ids >= low) & (ids < high)
    if wrong.any():
        i = int(np.argmax(wrong))
        yield Finding(
            "edge arrays", file, f"ID of local edge {first + i:,}", part.part_id, row=first + i,
            expected=f"{low + first + i:,}" if inner[i] else "an edge of another part", found=f"{ids[i]:,}",
            count=int(wrong.sum()),
        )  # fmt: skip
        return
    columns: dict[str, np.ndarray] = {"inner_edge": inner.astype(np.int64)}
    if "_TYPE" in arrays:
        columns["_TYPE"] = book.map_to_per_etype(ids)[0]
    for name, values in columns.items():
        given = arrays[name].read(first, stop)
        differ = np.flatnonzero(given != values)
        if differ.size:
            i = int(differ[0])
            yield Finding(
                "edge arrays", file, f"{name} of local edge {first + i:,}", part.part_id, row=first + i,
                expected=str(values[i]), found=str(given[i]), count=differ.size,
            )  # fmt: skip
