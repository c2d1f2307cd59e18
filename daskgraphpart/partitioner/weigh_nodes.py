"""Pass `weigh-nodes`: a column of node weights for every constraint."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import AssignmentError, OptionError
from daskgraphpart.graph.dask_partitions import list_row_blocks
from daskgraphpart.graph.share_arrays import share_rows
from daskgraphpart.partitioner import balance
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.schema import DataSpec, GraphSchema
    from daskgraphpart.source import Block

ROWS_PER_UNIT = 1 << 20
MAX_VALUES = 64  # of a feature whose every value is a constraint
MAX_TOTAL = 1 << 53
"""Most that all nodes may weigh: sums are exact as floats, and limits, of a thousand averages, fit 63 bits."""


@dataclass(frozen=True, slots=True)
class WeightColumn:
    """Weights of one constraint: for each node type the weight of a node, and of each of its in-edges.

    Or the values of a feature (if `value` is given, 1 for rows with that value), or a column of a file.
    """

    name: str  # of the constraint
    tolerance: float
    per_node: tuple[int, ...] = ()
    per_edge: tuple[int, ...] = ()
    feature: tuple[str, DataSpec] | None = None  # node type and feature
    value: int | None = None
    rows: tuple[Region, int] | None = None  # file of all nodes, and the number of its column
    scales: tuple[float, ...] | None = None  # of the file's columns, whose sum is then the weight, rounded
    of_parts: tuple[Region, np.ndarray] | None = None  # part of each node, and what the weights in a part are times


@dataclass(frozen=True, slots=True)
class WeighUnit:
    """Consecutive nodes of one type and one column."""

    column: int  # number of the column
    ntype_id: int
    start: int  # range of homogeneous IDs
    stop: int
    block: Block[np.ndarray] | None = None  # of the feature, if any


@dataclass(frozen=True, slots=True)
class WeighConfig:
    """What weights come from, and where they go."""

    columns: tuple[WeightColumn, ...]
    targets: tuple[Region, ...]
    in_degrees: Region | None


@dataclass(frozen=True, slots=True)
class NodeWeights:
    """Constraints, and a column of weights for each, int64 (nodes,)."""

    constraints: tuple[balance.Constraint, ...]
    columns: tuple[Region, ...]


def weigh_nodes(
    graph: Graph,
    wanted: Sequence[balance.BalanceConstraint],
    in_degrees: Region | None,
    directory: Path,
    runner: Runner,
    *,
    may_be_zero: bool = False,
    known: Mapping[str, WeightColumn] | None = None,
) -> NodeWeights:
    """Write the columns; only edge constraints need in-degrees. Weights that are all 0 balance nothing.

    Columns of some constraints may be `known`.
    """
    columns: tuple[WeightColumn, ...] = ()
    for i, item in enumerate(wanted):
        if known is not None and item.name in known:
            columns += (replace(known[item.name], tolerance=item.tolerance),)
        else:
            columns += (*_columns(graph, item, directory / f"given-weights-{i}.npy", runner),)
    shape = (graph.schema.num_nodes,)
    targets = tuple(npy_region(directory / f"weights-{i}.npy", np.int64, shape) for i in range(len(columns)))
    runner.step("create-weights", lambda: create_files(targets))
    units = list(_units(graph, columns))
    config = WeighConfig(columns, targets, in_degrees)
    sums = runner.run(Pass("weigh-nodes", weigh, [Unit(of, 8 * (of.stop - of.start)) for of in units], config))
    constraints = []
    for i, column in enumerate(columns):
        mine = [result for unit, result in zip(units, sums, strict=True) if unit.column == i]
        total, least = sum(result[0] for result in mine), min((result[1] for result in mine), default=0)
        _, _, largest, node = max(mine, key=lambda result: result[2], default=(0, 0, 0, 0))
        if least < 0:
            raise AssignmentError(
                "negative node weight", place=f"weights {column.name}", expected="0 or more", found=least
            )
        if total > MAX_TOTAL:
            expected, hint = f"a sum of at most {MAX_TOTAL:,}", f"divide all of them by {-(-total // MAX_TOTAL):,}"
            where = f"weights {column.name}"
            raise AssignmentError(
                "node weights too large", place=where, expected=expected, found=f"{total:,}", hint=hint
            )
        if not (total or may_be_zero) and (column.feature or column.rows):
            hint = "leave it out of --balance"
            raise AssignmentError("nothing to balance: all weights are 0", place=f"weights {column.name}", hint=hint)
        constraints.append(
            balance.Constraint(column.name, column.tolerance, total, largest, _name_of(graph.schema, node))
        )
    return NodeWeights(tuple(constraints), targets)


def _name_of(schema: GraphSchema, node: int) -> str:
    ntype_id = bisect_right(schema.homo_starts[1:-1], node)
    return f"node {node - schema.homo_starts[ntype_id]} of type {schema.ntypes[ntype_id]!r}" if schema.ntypes else ""


def _columns(graph: Graph, item: balance.BalanceConstraint, copy: Path, runner: Runner) -> list[WeightColumn]:
    schema, tolerance = graph.schema, item.tolerance
    if isinstance(item, balance.ByFile):
        return _file_columns(item.path, tolerance, item.open(schema.num_nodes), copy, runner)
    if isinstance(item, balance.ByFeature):
        return _feature_columns(graph, item, runner)
    if isinstance(item, balance.ByBytes):
        return [WeightColumn("bytes", tolerance, *_bytes_of_types(schema))]
    none, every = (0,) * len(schema.ntypes), (1,) * len(schema.ntypes)
    only = {t.name: tuple(int(t is other) for other in schema.node_types) for t in schema.node_types}
    if isinstance(item, balance.ByEdges):
        factors = {f"edges to {ntype}": mine for ntype, mine in only.items()} if item.by_type else {"edges": every}
        return [WeightColumn(name, tolerance, none, mine) for name, mine in factors.items()]
    assert isinstance(item, balance.ByCount), "there is no other kind"
    factors = {f"nodes of {ntype}": mine for ntype, mine in only.items()} if item.by_type else {"nodes": every}
    return [WeightColumn(name, tolerance, mine, none) for name, mine in factors.items()]


def _feature_columns(graph: Graph, item: balance.ByFeature, runner: Runner) -> list[WeightColumn]:
    """Return the column of a feature, or one for each of its values."""
    feature, name, tolerance = item.find(graph), item.feature, item.tolerance
    if not item.by_value:
        return [WeightColumn(name, tolerance, feature=feature)]
    values = _values(graph, *feature, runner)
    if len(values) > MAX_VALUES:
        what, expected = "too many values to balance each", f"at most {MAX_VALUES}"
        raise OptionError(what, option="balance", place=item.name, expected=expected, found=len(values))
    if not values:
        what, hint = "nothing to balance: all values are 0", "leave it out"
        raise OptionError(what, option="balance", place=item.name, hint=hint)
    names = [f"{name}={value}" if len(values) > 1 else name for value in values]
    return [WeightColumn(n, tolerance, feature=feature, value=v) for n, v in zip(names, values, strict=True)]


def _bytes_of_types(schema: GraphSchema) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bytes of features per node, and on average per in-edge, by node type."""
    per_node = tuple(sum(spec.row_nbytes for spec in node_type.data) for node_type in schema.node_types)
    per_edge = []
    for node_type in schema.node_types:
        incoming = [edge_type for edge_type in schema.edge_types if edge_type.dst == node_type.name]
        num_edges = sum(edge_type.num_edges for edge_type in incoming)
        nbytes = sum(edge_type.num_edges * spec.row_nbytes for edge_type in incoming for spec in edge_type.data)
        per_edge.append(round(nbytes / num_edges) if num_edges else 0)
    return per_node, tuple(per_edge)


def _file_columns(path: str, tolerance: float, region: Region, copy: Path, runner: Runner) -> list[WeightColumn]:
    """Return the columns of a file; with a workspace in a store, of a copy there, which tasks can read."""
    stem = Path(path).stem
    region = share_rows("store-weights", region, copy, runner)
    if len(region.shape) == 1 or region.shape[1] == 1:
        return [WeightColumn(stem, tolerance, rows=(region, 0))]
    return [WeightColumn(f"{stem} {i}", tolerance, rows=(region, i)) for i in range(region.shape[1])]


def _values(graph: Graph, ntype: str, spec: DataSpec, runner: Runner) -> list[int]:
    """Find a feature's non-zero values, up to one more than `MAX_VALUES`."""
    blocks = list_row_blocks(graph, ntype, spec, ROWS_PER_UNIT)
    units = [Unit(block, block.num_rows * spec.dtype.itemsize, key=ntype) for block in blocks]
    by_block = runner.run(Pass("find-values", find_values, units, None))
    return sorted({value for values in by_block for value in values if value})[: MAX_VALUES + 1]


def find_values(block: Block[np.ndarray], _: None) -> list[int]:
    """Task of the pass `find-values`: the smallest values of one block."""
    return [int(value) for value in np.unique(block.read())[: MAX_VALUES + 2].tolist()]


def _units(graph: Graph, columns: Sequence[WeightColumn]) -> Iterator[WeighUnit]:
    for ntype_id, node_type in enumerate(graph.schema.node_types):
        first, last = graph.schema.homo_starts[ntype_id : ntype_id + 2]
        for i, column in enumerate(columns):
            if column.feature is not None and column.feature[0] == node_type.name:
                for block in list_row_blocks(graph, *column.feature, ROWS_PER_UNIT):
                    start = first + block.first_row
                    yield WeighUnit(i, ntype_id, start, start + block.num_rows, block)
            else:
                for start in range(first, last, ROWS_PER_UNIT):
                    yield WeighUnit(i, ntype_id, start, min(start + ROWS_PER_UNIT, last))


def weigh(unit: WeighUnit, config: WeighConfig) -> tuple[int, int, int, int]:
    """Write the weights of one unit; return their sum, smallest, largest, and the heaviest node."""
    column = config.columns[unit.column]
    weights = np.zeros(unit.stop - unit.start, np.int64)
    if unit.block is not None:
        rows = unit.block.read().reshape(weights.size)
        weights += as_weights(rows) if column.value is None else rows == column.value
    elif column.rows is not None:
        region, number = column.rows
        columns = region.read(unit.start, unit.stop).reshape(weights.size, -1)
        rows = columns[:, number]
        if column.scales is not None:
            rows = np.rint((columns * column.scales).sum(axis=1))
        if column.of_parts is not None:
            parts, factors = column.of_parts
            rows = np.rint(rows * factors[parts.read(unit.start, unit.stop)])
        weights = as_weights(rows)
    elif column.feature is None:
        weights += column.per_node[unit.ntype_id]
        if per_edge := column.per_edge[unit.ntype_id]:
            assert config.in_degrees is not None, "edges are balanced by in-degrees"
            weights += per_edge * config.in_degrees.read(unit.start, unit.stop)
    config.targets[unit.column].write(weights, unit.start)
    heaviest = int(weights.argmax()) if weights.size else 0
    return exact_sum(weights), int(weights.min(initial=0)), int(weights.max(initial=0)), unit.start + heaviest


def as_weights(rows: np.ndarray) -> np.ndarray:
    """Return weights as int64; those beyond it are cut off, and too large anyway."""
    is_cut = rows.dtype == np.uint64
    weights: np.ndarray = (np.minimum(rows, np.uint64(2**63 - 1)) if is_cut else rows).astype(np.int64)
    return weights


def exact_sum(weights: np.ndarray) -> int:
    """Add up numbers of 63 bits, whose sum may take more: halves of 32 bits do not overflow."""
    return (int((weights >> 32).sum()) << 32) + int((weights & 0xFFFFFFFF).sum())
