"""Passes `split-edges` and `place-edges`: edges that lie with their destinations come back into their original order.

Lines of `p000-<graph>_edges.txt` are `new_src new_dst src dst type_eid etype attributes...`, those of removed edges
`src dst type_eid etype attributes...`; together they are every edge of the graph once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.key_ranges import KEY, KeyRanges, RangeUnit
from daskgraphpart.assignment.parmetis.read_columns import TextBlock, line_fault, read_columns
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError, MetadataError
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.region import create_npy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.conversion.schema_file import TypeCounts
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

IN_PARTS, REMOVED = (2, 3, 4, 5), (0, 1, 2, 3)
"""Columns of source, destination, type-wise edge ID and edge type."""

SRC, DST = 1, 2  # columns of the runs: homogeneous edge ID, type-wise source and destination, row


@dataclass(frozen=True, slots=True)
class EdgeLines:
    """A block of edges, and the columns that tell them."""

    index: int
    block: TextBlock
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeConfig:
    """What the passes share.

    Parameters
    ----------
    counts : TypeCounts
        Types and their counts.
    ranges : KeyRanges
        How edges are cut into ranges.
    files : tuple of Region
        For each edge type an array (edges, 2), to be filled.
    """

    counts: TypeCounts
    ranges: KeyRanges
    files: tuple[Region, ...] = ()

    @property
    def node_starts(self) -> np.ndarray:
        """First homogeneous ID of each node type, then the total."""
        return np.cumsum([0, *self.counts.nodes.values()])

    @property
    def edge_starts(self) -> np.ndarray:
        """First homogeneous ID of each edge type, then the total."""
        return np.cumsum([0, *self.counts.edges.values()])


def split_edges(
    units: Sequence[EdgeLines], config: EdgeConfig, name: str, source: str, runner: Runner
) -> tuple[GraphSchema, list[RangeUnit]]:
    """Group the edges by range, and learn from them which node types each edge type joins.

    Returns
    -------
    schema : GraphSchema
        With canonical edge types.
    ranges : list of RangeUnit
        For `place_edges`.

    Raises
    ------
    AssignmentError
        If a line is at fault.
    InputFileError
        If edges are missing or too many, or those of one type join several node types.
    """
    sizes = [unit.block.stop - unit.block.start for unit in units]
    results = runner.run(Pass("split-edges", split_lines, units, config, sizes))
    expected, found = int(config.edge_starts[-1]), sum(int(of_unit.sum()) for of_unit, _ in results)
    if found != expected:
        raise InputFileError(
            "wrong number of edges",
            file=source,
            expected=f"{expected:,}, as {config.counts.path} says",
            found=f"{found:,}",
            hint="self-loops and repeated edges that were taken out are given by --removed-edges"
            if found < expected
            else None,
        )
    kinds = sorted({kind for _, of_unit in results for kind in of_unit})
    return _schema(config.counts, kinds, name, source), config.ranges.units([of_unit for of_unit, _ in results])


def place_edges(units: Sequence[EdgeLines], ranges: Sequence[RangeUnit], config: EdgeConfig, runner: Runner) -> None:
    """Write the edges of every type in the order of their IDs.

    Raises
    ------
    AssignmentError
        If an edge is there twice.
    """
    sizes = [unit.size * 16 for unit in ranges]
    repeats = runner.run(Pass("place-edges", place_range, ranges, config, sizes))
    bad = [unit for unit, repeated in zip(ranges, repeats, strict=True) if repeated][:1]
    for index, row, edge in runner.run(Pass("find-repeat", find_repeat, bad, config, [0] * len(bad))):
        etype_id = int(np.searchsorted(config.edge_starts, edge, side="right")) - 1
        found = f"edge {edge - config.edge_starts[etype_id]:,} of type {list(config.counts.edges)[etype_id]!r} again"
        raise line_fault(units[index].block, row, "an edge is there twice", "every edge once", found)


def create_edge_files(paths: Sequence[str], schema: GraphSchema) -> tuple[Region, ...]:
    """Create an npy file of edges for every edge type."""
    return tuple(
        create_npy(path, np.dtype("<i8"), (edge_type.num_edges, 2))
        for path, edge_type in zip(paths, schema.edge_types, strict=True)
    )


def split_lines(unit: EdgeLines, config: EdgeConfig) -> tuple[np.ndarray, set[tuple[int, int, int]]]:
    """Read and check a block and group it by range.

    Returns
    -------
    counts : int64 array (ranges,)
    kinds : set of (edge type ID, node type ID of sources, node type ID of destinations)
    """
    eids, src, dst, etypes = read_edge_ids(unit, config)
    starts = config.node_starts
    src_types, dst_types = (np.searchsorted(starts, ends, side="right") - 1 for ends in (src, dst))
    counts = config.ranges.write_run(unit.index, eids, src - starts[src_types], dst - starts[dst_types])
    num_ntypes = len(config.counts.nodes)
    codes = np.unique((etypes * num_ntypes + src_types) * num_ntypes + dst_types).tolist()
    return counts, {(code // num_ntypes**2, code // num_ntypes % num_ntypes, code % num_ntypes) for code in codes}


def read_edge_ids(unit: EdgeLines, config: EdgeConfig) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Read a block of edges: homogeneous IDs of edges, sources and destinations, and edge types.

    Raises
    ------
    AssignmentError
        If a line is at fault, or an ID out of range.
    """
    layout = "source, destination, ID in its edge type, edge type"
    if unit.columns == IN_PARTS:
        layout = f"new source, new destination, {layout}"
    src, dst, type_eids, etypes = read_columns(unit.block, unit.columns, layout, exactly=False)
    num_nodes, num_etypes = int(config.node_starts[-1]), len(config.counts.edges)
    for what, ids, limit in (
        ("node ID", src, num_nodes),
        ("node ID", dst, num_nodes),
        ("edge type", etypes, num_etypes),
    ):
        _check_range(unit, what, ids, np.full(ids.size, limit))
    _check_range(unit, "edge ID", type_eids, np.diff(config.edge_starts)[etypes])
    return config.edge_starts[etypes] + type_eids, src, dst, etypes


def place_range(unit: RangeUnit, config: EdgeConfig) -> int:
    """Write the edges of one range; return how many lines are about an edge that is there already."""
    edges, is_there = np.zeros((unit.size, 2), np.int64), np.zeros(unit.size, np.bool_)
    for _, (eids, src, dst) in config.ranges.read(unit, (KEY, SRC, DST)):
        edges[eids, 0], edges[eids, 1] = src, dst
        is_there[eids] = True
    write_by_type(unit, edges, config.edge_starts, config.files)
    return unit.num_lines - int(np.count_nonzero(is_there))


def find_repeat(unit: RangeUnit, config: EdgeConfig) -> tuple[int, int, int]:
    """Find the second line about an edge of this range."""
    return config.ranges.find_repeat(unit)


def write_by_type(unit: RangeUnit, rows: np.ndarray, starts: np.ndarray, files: Sequence[Region]) -> None:
    """Write the rows of a range of homogeneous IDs into the files of their types."""
    for i, region in enumerate(files):
        start, stop = max(unit.start, int(starts[i])), min(unit.stop, int(starts[i + 1]))
        if start < stop:
            region.write(rows[start - unit.start : stop - unit.start], start - int(starts[i]))


def _check_range(unit: EdgeLines, what: str, ids: np.ndarray, limits: np.ndarray) -> None:
    bad = np.flatnonzero((ids < 0) | (ids >= limits))
    if bad.size:
        row = int(bad[0])
        expected = f"[0, {limits[row]:,})"
        raise line_fault(unit.block, row, f"{what} out of range", expected, f"{ids[row]:,}")


def _schema(counts: TypeCounts, kinds: Sequence[tuple[int, int, int]], name: str, source: str) -> GraphSchema:
    ntypes = list(counts.nodes)
    found = {
        edge_type: [(ntypes[s], ntypes[d]) for e, s, d in kinds if e == i] for i, edge_type in enumerate(counts.edges)
    }
    edge_types = []
    for edge_type, num_edges in counts.edges.items():
        src, _, dst = edge_type.split(":") if ":" in edge_type else ("", "", "")
        ends = found[edge_type]
        if not src and not ends and len(ntypes) == 1:
            ends = [(ntypes[0], ntypes[0])]
        if not src and not ends:
            raise MetadataError(
                f"no edge tells which node types relation {edge_type!r} joins",
                file=counts.path,
                place=f"eid.{edge_type}",
                hint="name it src:relation:dst",
            )
        if len(ends) > 1 or (src and ends and ends != [(src, dst)]):
            raise InputFileError(
                f"edges of type {edge_type!r} join other node types",
                file=source,
                expected=f"{src} to {dst}" if src else "the same two for all",
                found=" and ".join(f"{s} to {d}" for s, d in ends[:3]),
            )
        relation = edge_type.split(":")[1] if src else edge_type
        edge_types.append(EdgeType(src or ends[0][0], relation, dst or ends[0][1], num_edges))
    return GraphSchema(name, tuple(NodeType(*of_type) for of_type in counts.nodes.items()), tuple(edge_types))
