"""Pass `weigh-nodes`: a column of node weights for every constraint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.balance import BalanceConstraint, Constraint
from daskgraphpart.chunked.partitions import Partition, RowRange, row_partitions
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError, OptionError
from daskgraphpart.storage.region import Region, create_files, npy_region, open_npy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec, GraphSchema

ROWS_PER_UNIT = 1 << 20
MOST_VALUES = 64  # of a feature that makes a constraint per value


@dataclass(frozen=True, slots=True)
class Column:
    """How the weights of one constraint come about."""

    name: str  # of the constraint
    tolerance: float  # of the constraint
    kind: str  # ``"count"``, ``"degree"``, ``"feature"``, ``"value"`` or ``"file"``
    factors: tuple[tuple[int, int], ...] = ()  # for each node type the weight of a node, and of each of its in-edges
    ntype: str = ""  # of a feature
    feature: str = ""
    value: int = 0  # the value that weighs 1; of a file the column
    region: Region | None = None  # of a file


@dataclass(frozen=True, slots=True)
class WeighUnit:
    """Consecutive nodes of one type and one column."""

    column: int  # number of the column
    ntype_id: int  # node type
    first: int  # homogeneous ID of the type's first node, and the range of type-wise IDs
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class WeighConfig:
    """What weights are made of, and where they go."""

    columns: tuple[Column, ...]
    targets: tuple[Region, ...]
    in_degrees: Region


@dataclass(frozen=True, slots=True)
class NodeWeights:
    """Constraints, and a column of weights for each, int64 (nodes,)."""

    constraints: tuple[Constraint, ...]
    columns: tuple[Region, ...]


def weigh_nodes(
    graph: ChunkedGraph, wanted: Sequence[BalanceConstraint], in_degrees: Region, directory: Path, runner: Runner
) -> NodeWeights:
    """Write the columns."""
    columns = tuple(column for item in wanted for column in _columns(graph, item, runner))
    num_nodes = graph.schema.num_nodes
    targets = tuple(npy_region(directory / f"weights-{i}.npy", np.int64, (num_nodes,)) for i in range(len(columns)))
    runner.step("create-weights", lambda: create_files(targets))
    found_units = list(_units(graph, columns))
    units, values = [unit for unit, _ in found_units], [p.value if p else None for _, p in found_units]
    config = WeighConfig(columns, targets, in_degrees)
    sizes = [8 * (unit.stop - unit.start) for unit in units]
    found = runner.run(Pass("weigh-nodes", weigh, units, config, sizes, partitions=values))
    constraints = []
    for i, column in enumerate(columns):
        mine = [result for unit, result in zip(units, found, strict=True) if unit.column == i]
        total, largest = sum(t for t, _, _ in mine), max((most for _, most, _ in mine), default=0)
        if min((least for _, _, least in mine), default=0) < 0:
            raise AssignmentError("negative node weight", place=f"--balance {column.name}", expected="0 or more")
        constraints.append(Constraint(column.name, column.tolerance, total, largest))
    return NodeWeights(tuple(constraints), targets)


def _columns(graph: ChunkedGraph, item: BalanceConstraint, runner: Runner) -> list[Column]:
    schema, name, tolerance = graph.schema, item.name, item.tolerance
    types = range(len(schema.node_types))
    if name == "nodes":
        return [Column("nodes", tolerance, "count", tuple((1, 0) for _ in types))]
    if name == "edges":
        return [Column("edges", tolerance, "degree", tuple((0, 1) for _ in types))]
    if name in ("ntypes", "edges-by-ntype"):
        unit, what = ((1, 0), "nodes") if name == "ntypes" else ((0, 1), "edges to")
        kind = "count" if name == "ntypes" else "degree"
        link = " of " if name == "ntypes" else " "
        return [
            Column(f"{what}{link}{t.name}", tolerance, kind, tuple(unit if i == j else (0, 0) for j in types))
            for i, t in enumerate(schema.node_types)
        ]
    if name == "bytes":
        return [Column("bytes", tolerance, "degree", _bytes_of_types(schema))]
    kind, _, where = name.partition(":")
    if kind == "file":
        return _file_columns(where, tolerance, schema.num_nodes)
    return _feature_columns(graph, kind, where, tolerance, runner)


def _bytes_of_types(schema: GraphSchema) -> tuple[tuple[int, int], ...]:
    """Bytes of features of a node, and on average of one of its in-edges, by node type."""

    def row_nbytes(data: tuple[DataSpec, ...]) -> int:
        return sum(int(np.prod(spec.row_shape, dtype=np.int64)) * spec.dtype.itemsize for spec in data)

    factors = []
    for node_type in schema.node_types:
        incoming = [edge_type for edge_type in schema.edge_types if edge_type.dst == node_type.name]
        edges = sum(edge_type.num_edges for edge_type in incoming)
        nbytes = sum(edge_type.num_edges * row_nbytes(edge_type.data) for edge_type in incoming)
        factors.append((row_nbytes(node_type.data), round(nbytes / edges) if edges else 0))
    return tuple(factors)


def _file_columns(path: str, tolerance: float, num_nodes: int) -> list[Column]:
    region = open_npy(path)
    if region.num_rows != num_nodes or len(region.shape) > 2 or region.dtype.kind not in "iub":
        raise OptionError(
            "node weights do not fit the graph",
            file=path,
            expected=f"integers of shape ({num_nodes},) or ({num_nodes}, constraints)",
            found=f"{region.dtype} of shape {region.shape}",
        )
    width = region.shape[1] if len(region.shape) == 2 else 1
    stem = Path(path).stem
    return [
        Column(stem if width == 1 else f"{stem}[{i}]", tolerance, "file", value=i, region=region) for i in range(width)
    ]


def _feature_columns(graph: ChunkedGraph, kind: str, where: str, tolerance: float, runner: Runner) -> list[Column]:
    ntype, _, feature = where.rpartition("/")
    names = [t.name for t in graph.schema.node_types]
    if not ntype and len(names) == 1:
        ntype = names[0]
    specs = {s.name: s for s in graph.schema.node_type(ntype).data} if ntype in names else {}
    if feature not in specs:
        have = ", ".join(f"{t.name}/{s.name}" for t in graph.schema.node_types for s in t.data) or "none"
        raise OptionError("no such node feature", place=f"--balance {kind}:", expected=f"one of {have}", found=where)
    spec = specs[feature]
    if spec.dtype.kind not in "iub" or int(np.prod(spec.row_shape, dtype=np.int64)) != 1:
        raise OptionError(
            "this feature cannot be balanced",
            place=f"--balance {kind}:{where}",
            expected="one integer or boolean per node",
            found=f"{spec.dtype} of row shape {spec.row_shape}",
        )
    if kind == "weight":
        return [Column(where, tolerance, "feature", ntype=ntype, feature=feature)]
    values = _values(graph, ntype, spec, runner)
    if len(values) > MOST_VALUES:
        raise OptionError(
            "too many values to balance each of them",
            place=f"--balance {kind}:{where}",
            expected=f"at most {MOST_VALUES}",
            found=len(values),
        )
    return [
        Column(
            f"{where}={value}" if len(values) > 1 else where,
            tolerance,
            "value",
            ntype=ntype,
            feature=feature,
            value=value,
        )
        for value in values
    ]


def _values(graph: ChunkedGraph, ntype: str, spec: DataSpec, runner: Runner) -> list[int]:
    """Find values of a feature other than zero; `MOST_VALUES` and one at most."""
    partitions = row_partitions(graph, "node", ntype, spec, ROWS_PER_UNIT)
    units, values = [partition.rows for partition in partitions], [partition.value for partition in partitions]
    sizes = [unit.num_rows * spec.dtype.itemsize for unit in units]
    found = runner.run(Pass("find-values", find_values, units, None, sizes, partitions=values))
    return sorted({value for values in found for value in values if value})[: MOST_VALUES + 1]


def find_values(rows: np.ndarray, unit: RowRange, _: None) -> list[int]:
    """Task of the pass `find-values`: the smallest values of one partition."""
    unit.check(rows.shape[0])
    values: list[int] = np.unique(rows)[: MOST_VALUES + 2].astype(np.int64).tolist()
    return values


def _units(graph: ChunkedGraph, columns: Sequence[Column]) -> Iterator[tuple[WeighUnit, Partition | None]]:
    """Units of all columns, with the partition of the feature for those that depend on one."""
    first = 0
    for ntype_id, node_type in enumerate(graph.schema.node_types):
        for i, column in enumerate(columns):
            if column.feature and column.ntype == node_type.name:
                spec = next(spec for spec in node_type.data if spec.name == column.feature)
                for partition in row_partitions(graph, "node", column.ntype, spec, ROWS_PER_UNIT):
                    rows = partition.rows
                    unit = WeighUnit(i, ntype_id, first, rows.first_row, rows.first_row + rows.num_rows)
                    yield unit, partition
            else:
                for start in range(0, node_type.num_nodes, ROWS_PER_UNIT):
                    yield WeighUnit(i, ntype_id, first, start, min(start + ROWS_PER_UNIT, node_type.num_nodes)), None
        first += node_type.num_nodes


def weigh(values: np.ndarray | None, unit: WeighUnit, config: WeighConfig) -> tuple[int, int, int]:
    """Write the weights of one unit; return their sum, the largest and the smallest."""
    column = config.columns[unit.column]
    first, last = unit.first + unit.start, unit.first + unit.stop
    if column.kind in ("count", "degree"):
        per_node, per_edge = column.factors[unit.ntype_id]
        weights = np.full(last - first, per_node, np.int64)
        if per_edge:
            weights += per_edge * config.in_degrees.read(first, last)
    elif column.kind == "file":
        assert column.region is not None
        rows = column.region.read(first, last)
        weights = (rows[:, column.value] if rows.ndim == 2 else rows).astype(np.int64)
    elif values is None:
        weights = np.zeros(last - first, np.int64)
    else:
        rows = values.reshape(last - first).astype(np.int64)
        weights = (rows == column.value).astype(np.int64) if column.kind == "value" else rows
    config.targets[unit.column].write(weights, first)
    return int(weights.sum()), int(weights.max(initial=0)), int(weights.min(initial=0))
