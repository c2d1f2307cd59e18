"""Pass `verify-splits`: the lists of training, validation and test nodes, against the masks of the part."""

from __future__ import annotations

import numpy as np

from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, opened, read_pieces


def verify_splits(number: int, run: Run) -> list[Finding]:
    """Compare all lists of one part with its masks, which `verify-rows` compares with the input."""
    part = opened(run.opening).part(number)
    findings = []
    for key, ids in part.split_nids.items():
        ntype, _, mask = key.rpartition("/")
        marks, done = part.node_regions[ntype][mask], 0
        low = part.book.part_range(number, ntype)[0]
        wrong = None
        for first, piece in read_pieces(marks, 0, marks.num_rows, run.piece_rows):
            expected = low + first + np.flatnonzero(piece.reshape(piece.shape[0], -1).any(axis=1))
            found = ids[done : done + expected.size]
            if not np.array_equal(found, expected):
                differ = np.flatnonzero(found != expected[: found.size])
                wrong = done + (int(differ[0]) if differ.size else int(found.size))
                break
            done += expected.size
        if wrong is None and done != ids.size:
            wrong = done
        if wrong is not None:
            what = f"{key}: entry {wrong:,} is not the next node that the mask marks"
            findings.append(Finding("split", f"part{number}/split_nids.dgl", what, number, ntype, wrong))
    return findings
