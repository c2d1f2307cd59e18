"""What the tasks of each pass read and write, and how much memory one of them takes: from their units.

One function per pass, next to nothing of its own: units say which rows, and formats say how wide. Files that are looked
up through memory maps (node maps, owners) are not counted, since how much of them is read lies with the system.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daskgraphpart.assignment.choose import BYTES_PER_BLOCK_ARC
from daskgraphpart.dispatching.sizes import EDGE_NBYTES, LOCAL_EDGE_NBYTES, NODE_NBYTES
from daskgraphpart.planning.assumptions import HUB_READS
from daskgraphpart.storage.region import MOST_NPY_HEADER
from daskgraphpart.storage.runs import HEADER_NBYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from daskgraphpart.chunked.blocks import Block, InputFile
    from daskgraphpart.engine.plan import Pass

OUTPUT = "output"
IN_PLACE = "in place"
CSV_EDGE_NBYTES = 34  # both ends as parsed, run, owner; the text comes on top
ROW_COPIES = 3  # rows as read, grouped, and positions with the reader's room


@dataclass(slots=True)
class Traffic:
    """Bytes of one pass, or of one unit.

    Parameters
    ----------
    read : int
        Bytes read.
    written : dict of str to int
        Bytes written, by the directory of the workspace they go to, or `OUTPUT`, or `IN_PLACE` of others.
    task_memory : int
        Most that one task holds.
    """

    read: int = 0
    written: dict[str, int] = field(default_factory=dict)
    task_memory: int = 0

    def add(self, other: Traffic) -> None:
        """Add a unit."""
        self.read += other.read
        self.task_memory = max(self.task_memory, other.task_memory)
        for place, nbytes in other.written.items():
            self.written[place] = self.written.get(place, 0) + nbytes


def traffic_of(pass_: Pass[Any, Any, Any], files: Mapping[str, InputFile]) -> Traffic:
    """Sum up what all units of a pass read and write; nothing for passes that are not known here."""
    total = Traffic()
    known = _BY_NAME.get(pass_.name)
    if known is not None:
        for unit in pass_.units:
            total.add(known(unit, pass_.config, files))
    return total


def block_nbytes(block: Block, files: Mapping[str, InputFile]) -> int:
    """Bytes that reading a block takes from its file."""
    file = files.get(block.path)
    if block.format == "csv" or file is None or not file.num_rows:
        return block.stop - block.start if block.format == "csv" else 0
    if block.format == "parquet":
        # a row group is read from its beginning
        before = bisect_right(file.row_group_ends, block.start)
        first = file.row_group_ends[before - 1] if before else 0
        return file.nbytes * (block.stop - first) // file.num_rows
    return min(MOST_NPY_HEADER, file.nbytes) + file.nbytes * (block.stop - block.start) // file.num_rows


def header_nbytes(nbytes: int) -> int:
    """Bytes that opening an npy file of that size takes."""
    return min(MOST_NPY_HEADER, nbytes + HEADER_NBYTES)


def bitmap_nbytes(num_nodes: int, rank_nbytes: int) -> tuple[int, int]:
    """Bytes of a bitmap over nodes, and of the ranks of its words."""
    words = -(-num_nodes // 64)
    return 8 * words + HEADER_NBYTES, rank_nbytes * words + HEADER_NBYTES


def _count_owners(unit: Any, config: Any, _: Any) -> Traffic:
    return Traffic(unit.num_rows * config.owners[unit.type_name].dtype.itemsize, {}, unit.num_rows * 4)


def _relabel_nodes(unit: Any, config: Any, _: Any) -> Traffic:
    rows = unit.stop - unit.start
    written = {"node-maps": rows * config.maps[unit.ntype].dtype.itemsize, OUTPUT: 8 * rows}
    return Traffic(rows * config.owners[unit.ntype].dtype.itemsize, written, rows * NODE_NBYTES)


def _scan_edges(unit: Any, _config: Any, _: Any) -> Traffic:
    return Traffic(unit.stop - unit.start, {}, unit.stop - unit.start)


def _bucket_edges(unit: Any, config: Any, files: Mapping[str, InputFile]) -> Traffic:
    return Traffic(block_nbytes(unit.block, files), _run_and_owners(unit, config), _edge_memory(unit.block))


def _run_and_owners(unit: Any, config: Any) -> dict[str, int]:
    rows, owned = unit.block.num_rows, config.edge_owners.get(unit.edge_type.name)
    written = {"runs": 3 * config.maps[unit.edge_type.src].dtype.itemsize * rows + HEADER_NBYTES}
    if owned is not None:
        written["edge-owners"] = rows * owned.dtype.itemsize
    return written


def _edge_memory(block: Block) -> int:
    if block.format == "csv":
        return block.stop - block.start + CSV_EDGE_NBYTES * block.num_rows
    return EDGE_NBYTES * block.num_rows


def _split_ends(unit: Any, config: Any, files: Mapping[str, InputFile]) -> Traffic:
    rows = unit.block.num_rows
    return Traffic(block_nbytes(unit.block, files), {"ends": 24 * rows + 4 * HEADER_NBYTES}, _edge_memory(unit.block))


def _resolve_ends(unit: Any, config: Any, _: Any) -> Traffic:
    item = config.bucket.maps[unit.ntype].dtype.itemsize
    rows, nodes = sum(count for *_, count in unit.slices), unit.stop - unit.start
    headers = sum(2 * header_nbytes(8 * count) for *_, count in unit.slices)
    return Traffic(nodes * item + 8 * rows + headers, {"ends": item * rows}, nodes * item + 16 * rows)


def _merge_ends(unit: Any, config: Any, _: Any) -> Traffic:
    item, rows = config.bucket.maps[unit.edge_type.src].dtype.itemsize, unit.block.num_rows
    headers = 2 * (header_nbytes(4 * rows) + header_nbytes(item * rows))
    return Traffic(2 * (4 + item) * rows + headers, _run_and_owners(unit, config.bucket), EDGE_NBYTES * rows)


def _mark_halo(unit: Any, config: Any, _: Any) -> Traffic:
    words, ranks = bitmap_nbytes(config.num_nodes, config.dtype.itemsize)
    extra = 0 if unit.extra is None else 16 * unit.extra.num_edges
    return Traffic(unit.owned.num_edges * config.dtype.itemsize + extra, {"halo": words + ranks}, words + ranks)


def _mark_sources(unit: Any, config: Any, _: Any) -> Traffic:
    words, _ranks = bitmap_nbytes(config.num_nodes, 0)
    return Traffic(unit.owned.num_edges * config.dtype.itemsize, {"halo": words}, words)


def _follow_hop(unit: Any, config: Any, _: Any) -> Traffic:
    words, _ranks = bitmap_nbytes(config.num_nodes, 0)
    held = len(unit.parts) * words
    return Traffic(held + 2 * config.runs.dtype.itemsize * int(config.runs.num_rows.sum()), {"halo": held}, 2 * held)


def _collect_extra(unit: Any, config: Any, _: Any) -> Traffic:
    rows, parts = int(unit.counts.sum()), len(config.ranges)
    nodes = int(config.ranges[-1, 1])
    words, _ranks = bitmap_nbytes(nodes, 0)
    members = 2 * parts * (words + header_nbytes(words)) if config.member_hops else 0
    item = 4 if nodes < 2**31 else 8
    return Traffic(3 * item * rows + header_nbytes(3 * item * rows) + members, {}, LOCAL_EDGE_NBYTES * rows)


def _write_nodes(unit: Any, config: Any, _: Any) -> Traffic:
    read = 0
    if unit.num_halo_nodes:
        words, _ranks = bitmap_nbytes(int(config.type_ends[-1]), 0)
        read = words + header_nbytes(words)
    width = 13 if "node/_TYPE" in unit.arrays else 9
    return Traffic(read, {OUTPUT: width * unit.num_nodes}, 24 << 18)


def _build_graph(unit: Any, config: Any, _: Any) -> Traffic:
    edges, arrays = unit.num_edges, unit.graph.arrays
    read = (24 if unit.window is not None else 3 * config.run_dtype.itemsize) * edges
    if unit.graph.num_halo_nodes:
        nodes = unit.graph.num_inner_nodes * config.type_ends.size // max(1, config.num_types)  # times the parts
        bitmaps = bitmap_nbytes(nodes, config.run_dtype.itemsize)
        read += sum(nbytes + header_nbytes(nbytes) for nbytes in bitmaps)
    width = 9 + 16 * ("coo/row" in arrays) + 4 * ("edge/_TYPE" in arrays) + 8 * (unit.window is None)
    local = {"local": len(unit.buckets) * (24 * edges + HEADER_NBYTES)} if unit.buckets else {}
    return Traffic(read, {OUTPUT: width * edges, **local}, LOCAL_EDGE_NBYTES * edges)


def _compress_graph(unit: Any, config: Any, _: Any) -> Traffic:
    windows = -(-unit.num_edges // max(1, config.most_edges))
    rows = unit.stop_row - unit.first_row
    memory = 16 * min(unit.num_edges, config.most_edges) + 32 * rows + (24 << 18)
    return Traffic(24 * unit.num_edges * (1 + windows), {OUTPUT: 16 * unit.num_edges + 8 * rows}, memory)


def _place_rows(unit: Any, _config: Any, files: Mapping[str, InputFile]) -> Traffic:
    rows = unit.block.num_rows
    nbytes = rows * unit.spec.row_nbytes
    read = block_nbytes(unit.block, files) + rows * unit.owners.dtype.itemsize
    return Traffic(read, {OUTPUT: nbytes}, ROW_COPIES * nbytes + 10 * rows)


def _stage_rows(unit: Any, config: Any, files: Mapping[str, InputFile]) -> Traffic:
    found = _place_rows(unit.rows, config, files)
    return Traffic(found.read, {"staged": found.written[OUTPUT]}, 2 * found.task_memory)


def _gather_rows(unit: Any, row_block_bytes: int, _: Any) -> Traffic:
    nbytes = unit.num_rows * unit.spec.row_nbytes
    return Traffic(nbytes, {OUTPUT: nbytes}, 3 * min(nbytes, row_block_bytes))


def _split_nids(unit: Any, _config: Any, _: Any) -> Traffic:
    # train, validation and test masks share out the nodes; the lists are int64
    rows: dict[str, int] = {}
    for key, region in unit.masks.items():
        rows[key.split("/")[0]] = region.num_rows
    return Traffic(2 * sum(region.nbytes for region in unit.masks.values()), {OUTPUT: 8 * sum(rows.values())}, 10 << 20)


def _assign_random(unit: Any, config: Any, _: Any) -> Traffic:
    nbytes = (unit.stop - unit.start) * config.owners[unit.ntype].dtype.itemsize
    return Traffic(0, {"owners": nbytes}, nbytes)


def _split_edges(unit: Any, config: Any, files: Mapping[str, InputFile]) -> Traffic:
    rows, item = unit.block.num_rows, 4 if config.num_nodes < 2**31 else 8
    return Traffic(block_nbytes(unit.block, files), {"arcs": 4 * item * rows + HEADER_NBYTES}, 64 * rows)


def _cut_slab(unit: Any, config: Any, _: Any) -> Traffic:
    rows = sum(piece.num_arcs for piece in unit.slices)
    return Traffic(rows * config.arc_nbytes, {}, 8 * (unit.stop - unit.start))


def _merge_arcs(unit: Any, config: Any, _: Any) -> Traffic:
    rows, item = sum(piece.num_arcs for piece in unit.slices), config.dtype.itemsize
    written = {"adjacency": 8 * (unit.stop - unit.start + 1) + unit.num_arcs * 2 * item}
    if config.in_degrees is not None:
        written["adjacency"] += 8 * (unit.stop - unit.start)
    return Traffic(round(rows * config.arc_nbytes * HUB_READS), written, BYTES_PER_BLOCK_ARC * unit.num_arcs)


def _weigh_nodes(unit: Any, config: Any, files: Mapping[str, InputFile]) -> Traffic:
    rows, column = unit.stop - unit.start, config.columns[unit.column]
    read = 8 * rows if column.kind == "degree" else 0
    if unit.block is not None:
        read = block_nbytes(unit.block, files)
    return Traffic(read, {"adjacency": 8 * rows}, 24 * rows)


def _write_owners(unit: Any, config: Any, _: Any) -> Traffic:
    rows = unit.stop - unit.start
    return Traffic(4 * rows, {"owners": rows * config.owners[unit.ntype].dtype.itemsize}, 9 * rows)


def _write_trainers(unit: Any, _config: Any, _: Any) -> Traffic:
    rows = unit.stop - unit.start
    return Traffic(4 * rows, {"owners": 8 * rows}, 12 * rows)


def _trainers_of_edges(unit: Any, _config: Any, files: Mapping[str, InputFile]) -> Traffic:
    rows = unit.block.num_rows
    return Traffic(block_nbytes(unit.block, files), {"owners": 8 * rows}, 32 * rows)


_BY_NAME: dict[str, Callable[[Any, Any, Mapping[str, InputFile]], Traffic]] = {
    "assign-random": _assign_random,
    "bucket-edges": _bucket_edges,
    "build-graph": _build_graph,
    "collect-extra": _collect_extra,
    "compress-graph": _compress_graph,
    "count-owners": _count_owners,
    "cut-slab": _cut_slab,
    "follow-hop": _follow_hop,
    "gather-rows": _gather_rows,
    "mark-halo": _mark_halo,
    "mark-sources": _mark_sources,
    "merge-arcs": _merge_arcs,
    "merge-ends": _merge_ends,
    "place-rows": _place_rows,
    "relabel-nodes": _relabel_nodes,
    "resolve-ends": _resolve_ends,
    "scan-edges": _scan_edges,
    "split-edges": _split_edges,
    "split-ends": _split_ends,
    "split-nids": _split_nids,
    "stage-rows": _stage_rows,
    "trainers-of-edges": _trainers_of_edges,
    "weigh-nodes": _weigh_nodes,
    "write-nodes": _write_nodes,
    "write-owners": _write_owners,
    "write-trainers": _write_trainers,
}
