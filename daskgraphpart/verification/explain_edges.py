"""Pass `explain-edges`: which edges of a window differ from the input, and how; run only where sums differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import open_npy
from daskgraphpart.verification.edges import input_edges, original_eids
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, check_parts, opened, pieces, typed_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.chunked.partitions import Edges, RowRange
    from daskgraphpart.partitioned.part import Part
    from daskgraphpart.verification.windows import Windows


@dataclass(frozen=True, slots=True)
class ExplainConfig:
    """The run, and the ends of the edges of the windows in the input, int64 (edges, 2)."""

    run: Run
    windows: Windows


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Original homogeneous edge IDs from `first` on: their ends in the input, and how often parts own them."""

    first: int
    ends: np.ndarray
    times: np.ndarray


def keep_edges(edges: Edges, rows: RowRange, config: ExplainConfig) -> None:
    """Task of the pass `keep-edges`: keep the edges of a partition that are in the windows."""
    src, dst, first = input_edges(edges, rows, config.run)
    config.windows.write(np.stack([src, dst], axis=1), first)


def explain_edges(number: int, config: ExplainConfig) -> list[Finding]:
    """Compare the edges of a window one by one, by original ID."""
    run, parts = config.run, opened(config.run)
    findings: list[Finding] = []
    for low, high in pieces(*config.windows.ranges[number], run.piece_rows):
        found = _Window(low, config.windows.read(number, low, high).T, np.zeros(high - low, np.int64))
        findings += check_parts(range(parts.num_parts), run, lambda part, w=found: _differences(part, w, run))  # type: ignore[misc]
        wrong = np.flatnonzero(found.times != 1)
        if wrong.size:
            etype, row = typed_id(low + int(wrong[0]), run.first_edges, parts.etypes)
            times = int(found.times[wrong[0]])
            findings.append(
                Finding(
                    "every edge once", "orig_eids.dgl", f"{etype}: edge {row:,} of the input", kind=etype, row=row,
                    expected="owned once", found=f"{times} times", count=wrong.size,
                )
            )  # fmt: skip
    return findings


def _differences(part: Part, window: _Window, run: Run) -> Iterator[Finding]:
    """Compare the edges of a window that a part owns."""
    example, count = None, 0
    new_nids, originals = part.graph.node_arrays["_ID"], open_npy(run.original_nids_path)
    for src, dst, eids in part.graph.edge_pieces(0, part.num_inner_edges, rows=run.piece_rows):
        ids, _ = original_eids(part, eids, run)
        mine = np.flatnonzero((ids >= window.first) & (ids < window.first + window.times.size))
        rows = ids[mine] - window.first
        np.add.at(window.times, rows, 1)
        ends = np.stack([originals.take(new_nids.take(end[mine])) for end in (src, dst)])
        wrong = np.flatnonzero((ends != window.ends[:, rows]).any(axis=0))
        count += wrong.size
        if wrong.size and example is None:
            row = int(rows[wrong[0]])
            example = window.first + row, window.ends[:, row], ends[:, wrong[0]]
    if example is not None:
        parts = opened(run)
        etype, edge = typed_id(example[0], run.first_edges, parts.etypes)
        expected, found = (" to ".join(_node(int(end), run, parts.ntypes) for end in of) for of in example[1:])
        yield Finding(
            "edges", f"part{part.part_id}/graph.dgl", f"{etype}: edge {edge:,} of the input",
            part.part_id, etype, edge, expected, found, count,
        )  # fmt: skip


def _node(node: int, run: Run, ntypes: tuple[str, ...]) -> str:
    ntype, row = typed_id(node, run.first_nodes, ntypes)
    return f"{ntype} {row:,}"
