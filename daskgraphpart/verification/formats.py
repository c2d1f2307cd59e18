"""Compare the formats in which a part stores its edges with each other, and with what they are declared to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.kernels.compare import add_edge_hashes
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import NUM_WINDOWS, Run, differing_windows, window_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.layouts.dgl_graph_file import GraphFile
    from daskgraphpart.partitioned.part import Part


def check_formats(part: Part, run: Run) -> Iterator[Finding]:
    """Compare sums of hashes of the edges of all formats, and the order of those that are declared sorted."""
    graph, number = part.graph, part.part_id
    window, sums = window_size(graph.num_edges), {}
    if len(graph.formats) == 1 and not any(graph.claims[graph.main_format]):
        return
    for name in graph.formats:
        sums[name] = np.zeros(NUM_WINDOWS, np.uint64)
        done, last = 0, (-1, -1)
        for src, dst, eids in graph.edge_pieces(name=name, rows=run.piece_rows):
            add_edge_hashes(src, dst, eids, eids // window, sums[name])
            place = _first_unsorted(graph, name, (src, dst), last)
            if place >= 0:
                what = f"{name}: declared sorted, but edge {done + place:,} is smaller than the one before"
                yield Finding("formats", f"part{number}/graph.dgl", what, number, row=done + place)
                return
            done, last = done + eids.size, (int(src[-1]), int(dst[-1]))
    for name, found in sums.items():
        differ = differing_windows(sums[graph.main_format], found, window, graph.num_edges)
        if differ:
            what = f"{name} and {graph.main_format} hold different edges with local IDs from {differ[0][0]:,} on"
            yield Finding("formats", f"part{number}/graph.dgl", what, number)


def _first_unsorted(graph: GraphFile, name: str, ends: tuple[np.ndarray, np.ndarray], last: tuple[int, int]) -> int:
    """Place of the first edge that breaks what the file declares of its order, or -1; DGL crashes on such files."""
    claims = graph.claims[name]
    if not any(claims):
        return -1
    src_steps, dst_steps = (np.diff(end, prepend=before) for end, before in zip(ends, last, strict=True))
    row_steps, column_steps = (dst_steps, src_steps) if name == "csc" else (src_steps, dst_steps)
    # COO declares its rows, and its columns inside a row; CSR and CSC their columns inside a row
    wrong = np.zeros(row_steps.size, bool)
    if name == "coo" and claims[0]:
        wrong |= row_steps < 0
    if claims[-1]:
        wrong |= (row_steps == 0) & (column_steps < 0)
    return int(np.argmax(wrong)) if wrong.any() else -1
