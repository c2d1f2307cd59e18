"""Passes `measure-nodes` and `write-nodes`: node types, weights and type-wise IDs as ParMETIS reads them.

The weights of a node are a one for its type and zeros for the others, so that ParMETIS balances every type, and then
the values of node data that were asked for. ParMETIS gives up on weights whose sum is zero (libparmetis/weird.c, "sum
weight for constraint"), so types without nodes have no weight, as in DGL's example write_mag.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.parmetis.format_lines import count_bytes, format_lines
from daskgraphpart.assignment.parmetis.text_file import create_text
from daskgraphpart.chunked.blocks import cut_rows
from daskgraphpart.chunked.read_block import read_rows
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError, OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.assignment.parmetis.names import ParmetisFiles
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import DataSpec, GraphSchema
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class NodeUnit:
    """Consecutive nodes of one type: ``[start, stop)``, and the byte at which their lines begin."""

    ntype_id: int
    start: int
    stop: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """Where weights come from, and the file.

    Parameters
    ----------
    schema : GraphSchema
        The graph.
    weights : sequence of str
        Names of node data.
    blocks : mapping of (node type, name) to sequence of Block
        Where they are, for the types that have them.
    lines : Region, optional
        The file.
    """

    schema: GraphSchema
    weights: Sequence[str]
    blocks: Mapping[tuple[str, str], Sequence[Block]]
    lines: Region | None = None


def check_weights(schema: GraphSchema, weights: Sequence[str]) -> None:
    """Refuse node data that cannot be weights, before work starts.

    Raises
    ------
    OptionError
        If no node type has data of that name, or they are not one integer (or bool) per node.
    """
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
    graph: ChunkedGraph, weights: Sequence[str], interval_rows: int, files: ParmetisFiles, runner: Runner
) -> None:
    """Write the file of nodes, under its temporary name.

    Raises
    ------
    InputFileError
        If weights are negative, or all zero.
    """
    schema, rows = graph.schema, max(1, interval_rows)
    units = [
        NodeUnit(i, start, min(start + rows, t.num_nodes))
        for i, t in enumerate(schema.node_types)
        for start in range(0, t.num_nodes, rows)
    ]
    blocks = {
        (ntype, name): cut_rows(of_type[name], 1 << 62)
        for ntype, of_type in graph.node_files.items()
        for name in weights
        if name in of_type
    }
    config = NodeConfig(schema, weights, blocks)
    nbytes = [(unit.stop - unit.start) * 8 * (1 + len(weights)) for unit in units]
    measured = runner.run(Pass("measure-nodes", measure_nodes, units, config, nbytes))
    for i, name in enumerate(weights):
        if not any(has_weight[i] for _, has_weight in measured):
            raise InputFileError(
                f"weights {name!r} are zero for all nodes, which ParMETIS does not take",
                file=graph.directory,
                hint="leave them out",
            )
    sizes = [size for size, _ in measured]
    lines, offsets = create_text(files.nodes, sizes)
    units = [replace(unit, offset=offset) for unit, offset in zip(units, offsets, strict=True)]
    runner.run(Pass("write-nodes", write_interval, units, replace(config, lines=lines), sizes))


def measure_nodes(unit: NodeUnit, config: NodeConfig) -> tuple[int, list[bool]]:
    """Count the bytes of the lines of some nodes, and tell which weights any of them has."""
    columns = _columns(unit, config)
    weights = columns[len(columns) - 1 - len(config.weights) : -1]
    return count_bytes(columns), [bool(of_name.any()) for of_name in weights]


def write_interval(unit: NodeUnit, config: NodeConfig) -> None:
    """Write the lines of some nodes."""
    assert config.lines is not None, "the file was created before"
    config.lines.write(format_lines(_columns(unit, config)), unit.offset)


def _columns(unit: NodeUnit, config: NodeConfig) -> list[np.ndarray]:
    node_type, rows = config.schema.node_types[unit.ntype_id], unit.stop - unit.start
    specs = {spec.name: spec for spec in node_type.data}
    one_hot = [np.full(rows, i == unit.ntype_id, np.int8) for i in weighted_types(config.schema)]
    read = [
        _read_weights(unit, specs[name], config.blocks[node_type.name, name])
        if name in specs
        else np.zeros(rows, np.int8)
        for name in config.weights
    ]
    return [np.full(rows, unit.ntype_id), *one_hot, *read, np.arange(unit.start, unit.stop)]


def _read_weights(unit: NodeUnit, spec: DataSpec, blocks: Sequence[Block]) -> np.ndarray:
    weights = np.empty(unit.stop - unit.start, np.int64)
    for block in blocks:
        start, stop = max(unit.start, block.first_row), min(unit.stop, block.first_row + block.num_rows)
        if start >= stop:
            continue
        before = start - block.first_row
        piece = replace(
            block,
            start=block.start + before,
            stop=block.start + before + stop - start,
            first_row=start,
            num_rows=stop - start,
            row_in_file=block.row_in_file + before,
        )
        weights[start - unit.start : stop - unit.start] = read_rows(piece, spec).reshape(-1)
        bad = np.flatnonzero(weights[start - unit.start : stop - unit.start] < 0)
        if bad.size:
            raise InputFileError(
                f"weights {spec.name!r} must not be negative",
                file=block.path,
                place=f"row {piece.row_in_file + int(bad[0]):,}",
                expected="0 or more",
                found=int(weights[start - unit.start + bad[0]]),
            )
    return weights
