"""Pass `verify-edges`: every edge of a block of the input, once, in the part that owns its destination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_edges
from daskgraphpart.verification.findings import Finding
from daskgraphpart.verification.formats import coo_regions
from daskgraphpart.verification.opened import Run, opened

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.partitioned.graph import PartitionedGraph
    from daskgraphpart.schema import EdgeType
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """One block of the input."""

    edge_type: EdgeType
    block: Block


@dataclass(frozen=True, slots=True)
class EdgeConfig:
    """The run, and the original ID of every new node ID."""

    run: Run
    originals: Region


def verify_edges(unit: EdgeCheck, config: EdgeConfig) -> list[Finding]:
    """Compare one block with what the parts say of its edges."""
    parts = opened(config.run)
    src, dst = read_edges(unit.block)
    times = np.zeros(src.size, np.int64)
    originals = config.originals.memmap()
    for number in range(parts.num_parts):
        orig_eids = parts.part(number).orig_eid_regions[unit.edge_type.name]
        first, stop = rows_between(orig_eids, unit.block.first_row, unit.block.first_row + src.size)
        if first == stop:
            continue
        rows = orig_eids.read(first, stop) - unit.block.first_row
        if rows.min() < 0 or rows.max() >= src.size:
            return [Finding("original IDs", f"part{number}/orig_eids.dgl", f"{unit.edge_type.name}: IDs do not ascend")]
        times += np.bincount(rows, minlength=src.size)
        found_src, found_dst, owned = _original_ends(parts, number, unit.edge_type, (first, stop), config, originals)
        wrong = np.flatnonzero((found_src != src[rows]) | (found_dst != dst[rows]) | ~owned)
        if wrong.size:
            row, i = int(rows[wrong[0]]), int(wrong[0])
            what = (
                f"{unit.edge_type.name}, edge {unit.block.first_row + row:,}: expected {src[row]:,} to {dst[row]:,}, "
                f"found {found_src[i]:,} to {found_dst[i]:,}{'' if owned[i] else ', owned elsewhere'}"
            )
            return [Finding("edges", f"part{number}/graph.dgl", what)]
    missing = np.flatnonzero(times != 1)
    if missing.size:
        row = unit.block.first_row + int(missing[0])
        what = f"{unit.edge_type.name}, edge {row:,} is in {times[missing[0]]} parts"
        return [Finding("every edge once", "orig_eids.dgl", what)]
    return []


def _original_ends(
    parts: PartitionedGraph,
    number: int,
    edge_type: EdgeType,
    rows: tuple[int, int],
    config: EdgeConfig,
    originals: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Original type-wise ends of some edges of a part (-1 where the type is wrong), and whether the part owns them."""
    part, book = parts.part(number), parts.book
    type_id = book.etypes.index(edge_type.name)
    first_local = int(book.edge_ranges[number, type_id, 0] - book.edge_ranges[number, 0, 0])
    new_nids = part.graph.node_arrays["_ID"].memmap()
    ends = []
    for region, ntype in zip(
        coo_regions(part, number, config.run.scratch), (edge_type.src, edge_type.dst), strict=True
    ):
        new = new_nids[region.read(first_local + rows[0], first_local + rows[1])]
        type_ids, _ = book.map_to_per_ntype(new)
        ends.append((np.where(type_ids == book.ntypes.index(ntype), originals[new], -1), new))
    (src, _), (dst, new_dst) = ends
    low, high = book.node_ranges[number, 0, 0], book.node_ranges[number, -1, 1]
    return src, dst, (new_dst >= low) & (new_dst < high)


def rows_between(orig_ids: Region, low: int, high: int) -> tuple[int, int]:
    """Rows of ascending original IDs that lie in ``[low, high)``."""
    first, stop = np.searchsorted(orig_ids.memmap(), (low, high))
    return int(first), int(stop)
