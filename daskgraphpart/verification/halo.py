"""Pass `verify-halo`: every HALO node of a part is an end of one of its edges, so there is none too many.

That there is none too few is seen by `trace-edges` and `verify-edges`: an end that is missing would be another node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daskgraphpart.kernels.bitmap import empty_bitmap, rank_words
from daskgraphpart.storage.region import open_npy
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened


@dataclass(frozen=True, slots=True)
class HaloUnit:
    """One part, and how many stripes its edges were cut into."""

    part: int
    num_stripes: int


def verify_halo(unit: HaloUnit, run: Run) -> list[Finding]:
    """Join the bitmaps of the stripes of one part."""
    part = opened(run.opening).part(unit.part)
    words = empty_bitmap(part.num_halo_nodes)
    for stripe in range(unit.num_stripes):
        words |= open_npy(run.halo(unit.part, stripe)).read()
    missing = part.num_halo_nodes - int(rank_words(words, np.empty(words.size, np.int64)))
    if not missing:
        return []
    word = int(np.argmax(words != ~np.uint64(0)))
    row = (
        part.num_inner_nodes
        + 64 * word
        + int(np.argmin(np.unpackbits(words[word : word + 1].view(np.uint8), bitorder="little")))
    )
    what = f"HALO node {row:,}, new ID {int(part.graph.node_arrays['_ID'].read(row, row + 1)[0]):,}"
    return [
        Finding(
            "HALO nodes",
            f"part{unit.part}/graph.dgl",
            what,
            unit.part,
            row=row,
            expected="an end of an edge of the part",
            found="no such edge",
            count=missing,
        )
    ]
