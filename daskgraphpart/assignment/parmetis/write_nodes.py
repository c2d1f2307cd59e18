"""Write nodes as lines for ParMETIS: node type, weights, type-wise ID.

The weights of a node are a one for its type and zeros for the others, so that ParMETIS balances every type, and then
the values of node data that were asked for. ParMETIS gives up on weights whose sum is zero (libparmetis/weird.c, "sum
weight for constraint"), so types without nodes have no weight, as in DGL's example write_mag.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.chunked.rows import FileRows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.sources.parmetis_text import write_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema

COLUMN_NBYTES = 32  # of one number in a task: as a number 8, and as text


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Schema, names of node data, their rows by (node type, name), and the directory of temporary files."""

    schema: GraphSchema
    weights: Sequence[str]
    rows: Mapping[tuple[str, str], FileRows]
    scratch: str


@dataclass(frozen=True, slots=True)
class NodeUnit:
    """Nodes ``[start, stop)`` of one type."""

    index: int
    ntype_id: int
    start: int
    stop: int


def check_weights(schema: GraphSchema, weights: Sequence[str]) -> None:
    """Refuse node data that cannot be weights, before work starts."""
    for name in weights:
        found = [(t.name, spec) for t in schema.node_types for spec in t.data if spec.name == name]
        if not found:
            known = sorted({spec.name for t in schema.node_types for spec in t.data})
            raise OptionError(
                f"no node type has data {name!r}", place="weights", expected=f"one of: {', '.join(known) or 'none'}"
            )
        for ntype, spec in found:
            if spec.dtype.kind not in "biu" or spec.row_shape not in ((), (1,)):
                raise OptionError(
                    f"data {name!r} of node type {ntype!r} cannot be weights",
                    place="weights",
                    expected="one integer or bool per node",
                    found=f"{spec.dtype.name} rows of shape {list(spec.row_shape)}",
                )
        if list(weights).count(name) > 1:
            raise OptionError(f"weights {name!r} are given twice", place="weights", hint="remove one")


def weighted_types(schema: GraphSchema) -> list[int]:
    """Number the node types that have a node weight: those with nodes."""
    return [i for i, node_type in enumerate(schema.node_types) if node_type.num_nodes]


def write_nodes(
    graph: ChunkedGraph, weights: Sequence[str], runner: Runner, scratch: Path, task_memory: int
) -> list[str]:
    """Write the lines of all nodes; return the files, in order."""
    types, num_columns = graph.schema.node_types, 2 + len(graph.schema.ntypes) + len(weights)
    rows = max(1, min(task_memory // (COLUMN_NBYTES * num_columns), 1 << 20))
    ranges = [
        (i, start, min(start + rows, t.num_nodes)) for i, t in enumerate(types) for start in range(0, t.num_nodes, rows)
    ]
    units = [NodeUnit(index, *of_unit) for index, of_unit in enumerate(ranges)]
    data = {
        (t.name, spec.name): FileRows(spec, graph.node_files[t.name][spec.name])
        for t in types
        for spec in t.data
        if spec.name in weights
    }
    config = NodeConfig(graph.schema, weights, data, str(scratch))
    nbytes = [(unit.stop - unit.start) * 8 * (1 + len(weights)) for unit in units]
    found = runner.run(Pass("write-nodes", write_unit, units, config, nbytes))
    for i, name in enumerate(weights):
        if not any(is_used[i] for is_used in found):
            raise InputFileError(
                f"weights {name!r} are zero for all nodes, which ParMETIS does not take",
                file=graph.directory,
                hint="leave them out",
            )
    return [_path(unit, config) for unit in units]


def write_unit(unit: NodeUnit, config: NodeConfig) -> list[bool]:
    """Write the lines of some nodes; tell which weights any of them has."""
    ntype, rows = config.schema.ntypes[unit.ntype_id], unit.stop - unit.start
    one_hot = [np.full(rows, i == unit.ntype_id, np.int8) for i in weighted_types(config.schema)]
    weights = [
        _read_weights(unit, config.rows[ntype, name]) if (ntype, name) in config.rows else np.zeros(rows, np.int8)
        for name in config.weights
    ]
    write_lines(
        _path(unit, config), [np.full(rows, unit.ntype_id), *one_hot, *weights, np.arange(unit.start, unit.stop)]
    )
    return [bool(of_name.any()) for of_name in weights]


def _path(unit: NodeUnit, config: NodeConfig) -> str:
    return f"{config.scratch}/{unit.index}-nodes.txt"


def _read_weights(unit: NodeUnit, rows: FileRows) -> np.ndarray:
    """Read the values of a range of nodes, which may lie in several files."""
    weights = np.empty(unit.stop - unit.start, np.int64)
    for block in rows.blocks(unit.start, unit.stop):
        values = read_rows(block, rows.spec).reshape(-1)
        first = block.first_row - unit.start
        weights[first : first + block.num_rows] = values
        bad = np.flatnonzero(values < 0)
        if bad.size:
            raise InputFileError(
                f"weights {rows.spec.name!r} must not be negative",
                file=block.path,
                place=f"row {block.row_in_file + int(bad[0]):,}",
                expected="0 or more",
                found=int(values[bad[0]]),
            )
    return weights
