"""Pass `explain-edges`: which edges of a window differ from the input, and how; run only where sums differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.storage.region import open_npy
from daskgraphpart.verification.edges import InputEdges, original_eids, read_input
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.opened import Run, check_parts, opened, pieces, typed_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.partitioned.part import Part


@dataclass(frozen=True, slots=True)
class ExplainConfig:
    """The run, and the edges of the input."""

    run: Run
    blocks: tuple[InputEdges, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Window:
    """Original homogeneous edge IDs from `first` on: their ends in the input, and how often parts own them."""

    first: int
    ends: np.ndarray
    times: np.ndarray


def explain_edges(window: tuple[int, int], config: ExplainConfig) -> list[Finding]:
    """Compare the edges of a window one by one, by original ID."""
    run, parts = config.run, opened(config.run)
    findings: list[Finding] = []
    for low, high in pieces(*window, run.piece_rows):
        found = _Window(low, _read_input_window(low, high, config), np.zeros(high - low, np.int64))
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


def _read_input_window(low: int, high: int, config: ExplainConfig) -> np.ndarray:
    """Read the ends of the edges of a window of the input, int64 (2, edges)."""
    ends = np.empty((2, high - low), np.int64)
    for unit in config.blocks:
        start = int(config.run.first_edges[unit.type_id]) + unit.block.first_row
        first, stop = max(low, start), min(high, start + unit.block.num_rows)
        if first < stop:
            ends[:, first - low : stop - low] = np.stack(read_input(unit, config.run))[:, first - start : stop - start]
    return ends


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
