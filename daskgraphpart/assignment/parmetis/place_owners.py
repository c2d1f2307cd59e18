"""Passes `split-parts` and `place-owners`: from lines in any order to the owner of every node, in its place.

`split-parts` groups the lines of a block by range of homogeneous IDs; `place-owners` takes one range at a time, checks
that each of its nodes is there once, and writes their owners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.key_ranges import KEY, KeyRanges, RangeUnit
from daskgraphpart.assignment.parmetis.read_columns import TextBlock, line_fault, read_columns
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

PART = 1  # column of the runs: homogeneous ID, part, row


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
    ranges : KeyRanges
        How nodes are cut into ranges.
    source : str
        The file or directory, for messages.
    """

    schema: GraphSchema
    owners: Mapping[str, Region]
    num_parts: int
    num_weights: int
    ranges: KeyRanges
    source: str


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
    ranges = config.ranges.units(counts)
    repeats = runner.run(Pass("place-owners", place_range, ranges, config, [unit.size * 8 for unit in ranges]))
    # there are as many lines as nodes: if a node is missing, another is there twice, and that one has a line to show
    bad = [unit for unit, repeated in zip(ranges, repeats, strict=True) if repeated][:1]
    for index, row, node in runner.run(Pass("find-repeat", find_repeat, bad, config, [0] * len(bad))):
        found_node = f"{_name(node, config.schema)} again"
        raise line_fault(units[index].block, row, "a node has several parts", "every node once", found_node)


def split_lines(unit: PartLines, config: PlaceConfig) -> np.ndarray:
    """Read and check a block of lines, and group it by range; return how many fall into each."""
    if unit.part < 0:
        nodes, parts = _read_pairs(unit, config)
    else:
        nodes = read_node_ids(unit, config.schema, config.num_weights)
        parts = np.full(nodes.size, unit.part)
    return config.ranges.write_run(unit.index, nodes, parts)


def place_range(unit: RangeUnit, config: PlaceConfig) -> int:
    """Write the owners of one range of nodes; return how many lines give a node an owner that has one."""
    owners, is_there = np.zeros(unit.size, np.uint16), np.zeros(unit.size, np.bool_)
    for _, (nodes, parts) in config.ranges.read(unit, (KEY, PART)):
        owners[nodes] = parts
        is_there[nodes] = True
    starts = config.schema.homo_starts
    for i, ntype in enumerate(config.schema.ntypes):
        start, stop = max(unit.start, starts[i]), min(unit.stop, starts[i + 1])
        if start < stop:
            config.owners[ntype].write(owners[start - unit.start : stop - unit.start], start - starts[i])
    return unit.num_lines - int(np.count_nonzero(is_there))


def find_repeat(unit: RangeUnit, config: PlaceConfig) -> tuple[int, int, int]:
    """Find the line that gives a node of this range a second owner."""
    return config.ranges.find_repeat(unit)


def _read_pairs(unit: PartLines, config: PlaceConfig) -> tuple[np.ndarray, np.ndarray]:
    """Lines `homo_nid part`, of `pm_dglpart2` and `pm_dglpart3`."""
    nodes, parts = read_columns(unit.block, (0, 1), "a homogeneous node ID and a part", exactly=True)
    _check_range(unit, nodes, config.schema.num_nodes, "node ID out of range")
    _check_range(unit, parts, config.num_parts, "part out of range")
    return nodes, parts


def read_node_ids(unit: PartLines, schema: GraphSchema, num_weights: int) -> np.ndarray:
    """Read lines `new_nid ntype weights... type_nid attributes...`, of `pm_dglpart`; original homogeneous IDs, int64.

    Raises
    ------
    AssignmentError
        If a line is at fault, or an ID out of range.
    """
    layout = f"new node ID, node type, {num_weights} weights, ID in its type"
    new_nids, ntypes, type_nids = read_columns(unit.block, (0, 1, 2 + num_weights), layout, exactly=False)
    _check_range(unit, new_nids, schema.num_nodes, "new node ID out of range")
    _check_range(unit, ntypes, len(schema.ntypes), "node type out of range")
    starts = np.array(schema.homo_starts)
    limits = np.diff(starts)[ntypes]
    bad = np.flatnonzero((type_nids < 0) | (type_nids >= limits))
    if bad.size:
        row = int(bad[0])
        what = f"ID of a {schema.ntypes[ntypes[row]]!r} node out of range"
        raise line_fault(unit.block, row, what, f"[0, {limits[row]:,})", f"{type_nids[row]:,}")
    nodes: np.ndarray = starts[ntypes] + type_nids
    return nodes


def _check_range(unit: PartLines, values: np.ndarray, limit: int, what: str) -> None:
    bad = np.flatnonzero((values < 0) | (values >= limit))
    if bad.size:
        row = int(bad[0])
        raise line_fault(unit.block, row, what, f"[0, {limit:,})", f"{values[row]:,}")


def _name(node: int, schema: GraphSchema) -> str:
    ntype = int(np.searchsorted(schema.homo_starts, node, side="right")) - 1
    return f"node {node:,} ({schema.ntypes[ntype]!r} node {node - schema.homo_starts[ntype]:,})"
