"""What the tasks of a pass would return, on average: a rehearsal goes on with it as a run does with results.

Owners are dealt out in turn, so that all counts add up whatever the blocks; what depends on the structure of the graph
follows `assumptions`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.adjacency.arc_runs import num_slabs, slab_shift
from daskgraphpart.adjacency.csr_blocks import CsrBlock
from daskgraphpart.adjacency.merge_arcs import Merged
from daskgraphpart.dispatching.mark_halo import HaloResult
from daskgraphpart.planning.assumptions import ARCS_LEFT, FEW_NEIGHBORS, HUBS_FROM, MOST_NEIGHBORS, distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart.adjacency.merge_arcs import MergeConfig, Range
    from daskgraphpart.adjacency.split_edges import SplitConfig, SplitUnit
    from daskgraphpart.assignment.weigh_nodes import WeighConfig, WeighUnit
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.dispatching.build_graph import Segment
    from daskgraphpart.dispatching.mark_halo import HaloUnit
    from daskgraphpart.engine.plan import Pass
    from daskgraphpart.planning.assumptions import Assumptions

SHORTEST_LINE = 4  # bytes: two digits, a delimiter and a newline


@dataclass(frozen=True, slots=True)
class Expectations:
    """Expected results of passes.

    Parameters
    ----------
    graph : ChunkedGraph
        The graph.
    assumed : Assumptions
        What is assumed of owners.
    """

    graph: ChunkedGraph
    assumed: Assumptions

    def results(self, pass_: Pass[Any, Any, Any]) -> list[Any]:
        """Results of all units of a pass, in their order."""
        if pass_.name == "scan-edges":
            return self._lines(pass_.units)
        expected = self._by_name().get(pass_.name)
        return [None if expected is None else expected(unit, pass_.config) for unit in pass_.units]

    def _by_name(self) -> dict[str, Callable[[Any, Any], Any]]:
        return {
            "count-owners": lambda unit, _: self._dealt(unit.start, unit.stop),
            "bucket-edges": lambda unit, _: self._of_block(unit.block),
            "merge-ends": lambda unit, _: self._of_block(unit.block),
            "stage-rows": lambda unit, _: self._of_block(unit.rows.block),
            "split-ends": self._ranges,
            "mark-halo": lambda unit, _: self._halo(unit),
            "collect-extra": lambda unit, config: self._extra(unit.counts, config.member_hops, config.out_edges),
            "order-extra": _windows,
            "build-graph": lambda unit, _: self._buckets(unit),
            "split-edges": _slabs,
            "cut-slab": lambda unit, _: _pieces(unit),
            "merge-arcs": self._merged,
            "find-values": lambda *_: [0, 1],
            "weigh-nodes": self._weights,
        }

    def _dealt(self, start: int, stop: int) -> np.ndarray:
        """Rows of ``[start, stop)`` that each part gets when they are dealt out in turn."""
        parts = self.assumed.num_parts
        turns = np.arange(parts - 1, -1, -1)
        dealt: np.ndarray = (stop + turns) // parts - (start + turns) // parts
        return dealt.astype(np.int64)

    def _of_block(self, block: Any) -> np.ndarray:
        return self._dealt(block.first_row, block.first_row + block.num_rows)

    def _lines(self, units: Any) -> list[int]:
        """Lines of blocks of CSV: those that the metadata tell, in proportion to bytes, and no more than fit."""
        lines, index = [], 0
        for etype, files in self.graph.edge_files.items():
            if not files or files[0].format != "csv":
                continue
            total, done = sum(file.nbytes for file in files), 0
            num_edges = min(self.graph.schema.edge_type(etype).num_edges, (total + len(files)) // SHORTEST_LINE)
            while done < total:
                after = done + units[index].stop - units[index].start
                lines.append(num_edges * after // total - num_edges * done // total)
                done, index = after, index + 1
        return lines

    def _ranges(self, unit: Any, config: Any) -> tuple[np.ndarray, np.ndarray]:
        ends = (config.bucket.maps[ntype].num_rows for ntype in (unit.edge_type.src, unit.edge_type.dst))
        counts = [_spread(unit.block.num_rows, -(-num_ids // config.range_nodes)) for num_ids in ends]
        return counts[0], counts[1]

    def _halo(self, unit: HaloUnit) -> HaloResult:
        cut = round(unit.owned.num_edges * self.assumed.cut_share)
        if unit.extra is not None:
            hops = distinct(self.graph.schema.num_nodes, unit.owned.num_edges + unit.extra.num_edges)
            return HaloResult(round(hops * (1 - 1 / self.assumed.num_parts)), cut)
        if self.assumed.num_halo is not None:
            return HaloResult(self.assumed.num_halo // self.assumed.num_parts, cut)
        schema = self.graph.schema
        edges_from: dict[str, int] = {}
        for type_id in np.unique(unit.owned.etype_ids).tolist():
            src = schema.edge_types[type_id].src
            mine = unit.owned.counts[unit.owned.etype_ids == type_id]
            edges_from[src] = edges_from.get(src, 0) + int(mine.sum())
        met = sum(distinct(schema.node_type(src).num_nodes, count) for src, count in edges_from.items())
        return HaloResult(round(met * self.assumed.cut_share), cut)

    def _extra(self, counts: np.ndarray, member_hops: int, out_edges: bool) -> np.ndarray:
        """Edges of one run that each part holds without owning them."""
        share = self.assumed.cut_share if out_edges else 0.0
        rows, parts = int(counts.sum()), self.assumed.num_parts
        if member_hops == 0:
            return np.full(parts, round(rows * share / parts), np.int64)
        nodes, edges = self.graph.schema.num_nodes, self.graph.schema.num_edges
        members, held = 0.0, edges / parts
        for _ in range(member_hops):
            members = distinct(nodes, held) / max(1, nodes) * self.assumed.cut_share
            held = edges * min(1.0, 1 / parts + members)
        return np.full(parts, round(rows * min(1 - 1 / parts, members + share / parts)), np.int64)

    def _weights(self, unit: WeighUnit, config: WeighConfig) -> tuple[int, int, int]:
        """Sum, largest and smallest weight: nodes weigh what they do, edges are spread evenly."""
        column, nodes = config.columns[unit.column], unit.stop - unit.start
        if column.kind not in ("count", "degree"):
            return nodes, 1, 0
        per_node, per_edge = column.factors[unit.ntype_id]
        node_type = self.graph.schema.node_types[unit.ntype_id]
        edges = sum(t.num_edges for t in self.graph.schema.edge_types if t.dst == node_type.name)
        total = nodes * per_node + per_edge * edges * nodes // max(1, node_type.num_nodes)
        return total, -(-total // max(1, nodes)), 0

    def _buckets(self, unit: Segment) -> dict[str, np.ndarray]:
        """Edges of a segment by bucket of their row: a CSC has edges in rows of inner nodes, a CSR in all."""
        graph, schema = unit.graph, self.graph.schema
        first_nids = np.cumsum([0, *(t.num_nodes for t in schema.node_types)]) * graph.num_inner_nodes
        ends = dict(zip(schema.ntypes, itertools.pairwise(first_nids), strict=True))
        found = {}
        for name, width in unit.buckets.items():
            bounds = np.minimum(np.arange(max(1, -(-graph.num_nodes // width)) + 1) * width, graph.num_nodes)
            if unit.window is not None or name == "csr":
                found[name] = np.diff(unit.num_edges * bounds // max(1, graph.num_nodes))
                continue
            counts = np.zeros(bounds.size - 1, np.int64)
            for type_id in np.unique(unit.slices.etype_ids).tolist():
                rows = int(unit.slices.counts[unit.slices.etype_ids == type_id].sum())
                low, high = (int(end) // max(1, schema.num_nodes) for end in ends[schema.edge_types[type_id].dst])
                inside = np.clip(bounds - low, 0, max(high - low, 1))
                counts += np.diff(rows * inside // max(high - low, 1))
            found[name] = counts
        return found

    def _merged(self, unit: Range, config: MergeConfig) -> Merged:
        nodes = unit.stop - unit.start
        arcs = round(unit.num_arcs * ARCS_LEFT)
        weight_dtype = None if arcs == unit.num_arcs else config.weight_dtype or np.dtype(np.int32)
        path = f"{config.directory}/block-{unit.index:06d}.csr"
        block = CsrBlock(path, unit.start, unit.stop, arcs, config.dtype, weight_dtype)
        isolated = nodes - round(distinct(nodes, unit.num_arcs))
        largest = MOST_NEIGHBORS if self.graph.schema.num_edges >= HUBS_FROM else FEW_NEIGHBORS
        return Merged(block, isolated, unit.num_arcs, largest * -(-arcs // max(1, nodes)))


def _spread(count: int, among: int) -> np.ndarray:
    """Spread a count evenly."""
    ends = count * np.arange(among + 1, dtype=np.int64) // max(1, among)
    spread: np.ndarray = np.diff(ends)
    return spread


def _windows(unit: Any, config: Any) -> list[tuple[int, int, int]]:
    total = unit.slices.num_edges
    pieces = _spread(total, -(-total // config.most_edges)).tolist()
    return [(number, number + 1, count) for number, count in enumerate(pieces)]


def _slabs(unit: SplitUnit, config: SplitConfig) -> np.ndarray:
    """Arcs of one block in each slab, if the ends are spread evenly over their node types."""
    counts = np.zeros(num_slabs(config.num_nodes), np.int64)
    shift = slab_shift(config.num_nodes)
    bounds = np.minimum(np.arange(counts.size + 1, dtype=np.int64) << shift, config.num_nodes)
    for ntype in (unit.edge_type.src, unit.edge_type.dst):
        first, nodes = config.first_ids[ntype], config.counts[ntype]
        inside = np.clip(bounds - first, 0, nodes)
        counts += np.diff(unit.block.num_rows * inside // max(1, nodes))
    return counts


def _pieces(unit: Range) -> list[tuple[int, int, int]]:
    """Pieces of a slab that holds more arcs than a block may."""
    total = sum(piece.num_arcs for piece in unit.slices)
    number = max(1, min(-(-total // max(1, unit.num_arcs)), unit.stop - unit.start))
    arcs = _spread(total, number)
    ends = unit.start + np.cumsum(np.append(0, _spread(unit.stop - unit.start, number)))
    return [(int(ends[i]), int(ends[i + 1]), int(arcs[i])) for i in range(number)]
