"""Passes `split-parts` and `place-owners`: from lines in any order to the owner of every node, in its place.

`split-parts` groups the lines of a block by range of homogeneous IDs; `place-owners` takes one range at a time, checks
that each of its nodes is there once, and writes their owners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.read_columns import TextBlock, line_fault, read_columns
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError
from daskgraphpart.kernels.owner_sort import group_positions, group_starts
from daskgraphpart.storage.runs import id_dtype, run_column, write_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

NODE, PART, ROW = 0, 1, 2  # columns of the runs


@dataclass(frozen=True, slots=True)
class PartLines:
    """A block of lines: of one part, or with a column of parts (-1)."""

    index: int
    block: TextBlock
    part: int


@dataclass(frozen=True, slots=True)
class PlaceConfig:
    """What the passes share.

    Parameters
    ----------
    schema : GraphSchema
        The graph.
    owners : mapping of str to Region
        Owner file of each node type, to be filled.
    num_parts : int
        Number of parts.
    num_weights : int
        Node weights in a line of one part.
    scratch : str
        Directory of temporary files.
    range_nodes : int
        Nodes in a range.
    source : str
        The file or directory, for messages.
    """

    schema: GraphSchema
    owners: Mapping[str, Region]
    num_parts: int
    num_weights: int
    scratch: str
    range_nodes: int
    source: str

    def run(self, index: int) -> str:
        """Lines of a block, grouped by range."""
        return f"{self.scratch}/{index}-nodes.npy"

    @property
    def dtype(self) -> np.dtype:
        """Dtype of runs: homogeneous IDs, parts, rows."""
        return id_dtype(self.schema.num_nodes)


@dataclass(frozen=True, slots=True)
class RangeUnit:
    """Homogeneous IDs ``[start, stop)``, and the slices of runs as (unit, rows of the run, first row, rows)."""

    start: int
    stop: int
    slices: tuple[tuple[PartLines, int, int, int], ...]


def place_owners(units: Sequence[PartLines], config: PlaceConfig, runner: Runner) -> None:
    """Run both passes.

    Raises
    ------
    AssignmentError
        If a line is at fault, or a node is missing or there twice.
    """
    num_nodes = config.schema.num_nodes
    nbytes = [unit.block.stop - unit.block.start for unit in units]
    counts = runner.run(Pass("split-parts", split_lines, units, config, nbytes))
    found = sum(int(of_unit.sum()) for of_unit in counts)
    if found != num_nodes:
        raise AssignmentError(
            "wrong number of lines",
            file=config.source,
            expected=f"{num_nodes:,}, one per node",
            found=f"{found:,}",
            hint="is it for this graph, and whole?",
        )
    slices: list[list[tuple[PartLines, int, int, int]]] = [[] for _ in range(-(-num_nodes // config.range_nodes))]
    for unit, of_unit in zip(units, counts, strict=True):
        starts = group_starts(of_unit)
        for number in np.flatnonzero(of_unit).tolist():
            slices[number].append((unit, int(starts[-1]), int(starts[number]), int(of_unit[number])))
    width = config.range_nodes
    ranges = [
        RangeUnit(number * width, min((number + 1) * width, num_nodes), tuple(of_range))
        for number, of_range in enumerate(slices)
    ]
    nbytes = [(of_range.stop - of_range.start) * 8 for of_range in ranges]
    repeats = runner.run(Pass("place-owners", place_range, ranges, config, nbytes))
    # there are as many lines as nodes: if a node is missing, another is there twice, and that one has a line to show
    bad = [of_range for of_range, repeated in zip(ranges, repeats, strict=True) if repeated]
    runner.run(Pass("find-repeat", find_repeat, bad[:1], config, [0] * len(bad[:1])))


def split_lines(unit: PartLines, config: PlaceConfig) -> np.ndarray:
    """Read and check a block of lines, and group it by range; return how many fall into each."""
    nodes, parts = _read_nodes(unit, config) if unit.part >= 0 else _read_pairs(unit, config)
    ranges = (nodes // config.range_nodes).astype(np.uint32)
    counts = np.bincount(ranges, minlength=-(-config.schema.num_nodes // config.range_nodes))
    order = np.empty(nodes.size, np.int64)
    group_positions(ranges, group_starts(counts)[:-1], order)
    run = np.empty((3, nodes.size), config.dtype)
    for column, values in ((NODE, nodes), (PART, parts), (ROW, np.arange(nodes.size))):
        run[column] = values[order]
    write_run(config.run(unit.index), run)
    return counts


def place_range(unit: RangeUnit, config: PlaceConfig) -> int:
    """Write the owners of one range of nodes; return how many lines give a node an owner that has one."""
    size = unit.stop - unit.start
    owners, is_there = np.zeros(size, np.uint16), np.zeros(size, np.bool_)
    for lines, rows_in_run, start, rows in unit.slices:
        path = config.run(lines.index)
        nodes, parts = (
            run_column(path, config.dtype, rows_in_run, column).read(start, start + rows) for column in (NODE, PART)
        )
        owners[nodes - unit.start] = parts
        is_there[nodes - unit.start] = True
    starts = config.schema.homo_starts
    for i, ntype in enumerate(config.schema.ntypes):
        start, stop = max(unit.start, starts[i]), min(unit.stop, starts[i + 1])
        if start < stop:
            config.owners[ntype].write(owners[start - unit.start : stop - unit.start], start - starts[i])
    return sum(rows for *_, rows in unit.slices) - int(np.count_nonzero(is_there))


def _read_pairs(unit: PartLines, config: PlaceConfig) -> tuple[np.ndarray, np.ndarray]:
    """Lines `homo_nid part`, of `pm_dglpart2` and `pm_dglpart3`."""
    nodes, parts = read_columns(unit.block, (0, 1), "a homogeneous node ID and a part", exactly=True)
    _check_range(unit, nodes, config.schema.num_nodes, "node ID out of range")
    _check_range(unit, parts, config.num_parts, "part out of range")
    return nodes, parts


def _read_nodes(unit: PartLines, config: PlaceConfig) -> tuple[np.ndarray, np.ndarray]:
    """Lines `new_nid ntype weights... type_nid attributes...`, of `pm_dglpart`."""
    layout = f"new node ID, node type, {config.num_weights} weights, ID in its type"
    columns = (0, 1, 2 + config.num_weights)
    new_nids, ntypes, type_nids = read_columns(unit.block, columns, layout, exactly=False)
    _check_range(unit, new_nids, config.schema.num_nodes, "new node ID out of range")
    _check_range(unit, ntypes, len(config.schema.ntypes), "node type out of range")
    starts = np.array(config.schema.homo_starts)
    limits = np.diff(starts)[ntypes]
    bad = np.flatnonzero((type_nids < 0) | (type_nids >= limits))
    if bad.size:
        row = int(bad[0])
        ntype = config.schema.ntypes[ntypes[row]]
        what = f"ID of a {ntype!r} node out of range"
        raise line_fault(unit.block, row, what, f"[0, {limits[row]:,})", f"{type_nids[row]:,}")
    return starts[ntypes] + type_nids, np.full(ntypes.size, unit.part)


def _check_range(unit: PartLines, values: np.ndarray, limit: int, what: str) -> None:
    bad = np.flatnonzero((values < 0) | (values >= limit))
    if bad.size:
        row = int(bad[0])
        raise line_fault(unit.block, row, what, f"[0, {limit:,})", f"{values[row]:,}")


def find_repeat(unit: RangeUnit, config: PlaceConfig) -> None:
    """Raise the error for the first line, in the order of the blocks, that gives a node a second owner."""
    seen = np.zeros(unit.stop - unit.start, np.bool_)
    for lines, rows_in_run, start, rows in unit.slices:
        path = config.run(lines.index)
        nodes, in_block = (
            run_column(path, config.dtype, rows_in_run, column).read(start, start + rows) for column in (NODE, ROW)
        )
        again = seen[nodes - unit.start]
        _, first = np.unique(nodes, return_index=True)
        again[np.delete(np.arange(rows), first)] = True
        if again.any():
            row = int(np.flatnonzero(again)[0])
            found = f"{_name(int(nodes[row]), config.schema)} again"
            raise line_fault(lines.block, int(in_block[row]), "a node has several parts", "every node once", found)
        seen[nodes - unit.start] = True
    raise AssertionError("the range holds a node twice, so this is a bug")


def _name(node: int, schema: GraphSchema) -> str:
    ntype = int(np.searchsorted(schema.homo_starts, node, side="right")) - 1
    return f"node {node:,} ({schema.ntypes[ntype]!r} node {node - schema.homo_starts[ntype]:,})"
