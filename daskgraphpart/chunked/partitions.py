"""Partitions of the lazy collections: the units of all passes that read a graph, whether it is in files or the user's.

A pass gets a partition as a task of its own graph: edges as a pair of int64 arrays (src, dst) that are in range, rows
of features as an array. Lengths are known before, so that the first row of each is; a partition that has another length
when it is computed again is an error.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.chunked.blocks import Block, clip_blocks, cut_bytes, cut_rows, number_blocks
from daskgraphpart.chunked.collections import check_frame
from daskgraphpart.chunked.formats import read_edges, read_rows
from daskgraphpart.engine.runner import Call, Pass, Runner, delay
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dask.delayed import Delayed

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.schema import DataSpec, EdgeType

Edges: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows of one partition: whose they are, its number, the original type-wise ID of the first row, how many."""

    name: str
    number: int
    first_row: int
    num_rows: int

    def check(self, num_rows: int) -> None:
        """Refuse a partition that has another length than before."""
        if num_rows != self.num_rows:
            raise InputFileError(
                f"a partition of {self.name!r} has another number of rows than when it was counted",
                place=f"partition {self.number}",
                expected=f"{self.num_rows:,}",
                found=f"{num_rows:,}",
                hint="the collection is not deterministic: persist it, or write it to parquet files first",
            )


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """One partition: its rows, and the delayed value."""

    rows: RowRange
    value: Delayed


def edge_partitions(
    graph: ChunkedGraph, max_rows: int, max_bytes: int, runner: Runner
) -> list[tuple[EdgeType, Partition]]:
    """List the partitions of all edges, in the order of edge types and IDs."""
    blocks = edge_blocks(graph, max_rows, max_bytes, runner)
    found = []
    for edge_type in graph.schema.edge_types:
        ends = [graph.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst)]
        name = edge_type.name
        if graph.source is not None and name in graph.source.edges:
            frames = graph.source.edges[name].to_delayed()
            calls = [Call(check_frame, edge_type, *ends, number) for number in range(len(frames))]
            made = _partitions("check-edges", name, _consecutive(graph.source.edge_lengths[name]), calls, frames)
        else:
            calls = [Call(read_edges, block, edge_type, *ends) for block in blocks[name]]
            made = _partitions("read-edges", name, _ranges(blocks[name]), calls)
        found += [(edge_type, partition) for partition in made]
    return found


def edge_blocks(graph: ChunkedGraph, max_rows: int, max_bytes: int, runner: Runner) -> dict[str, list[Block]]:
    """Cut the edge files of every type into numbered blocks; the lines of CSV files are counted for it."""
    is_csv = {etype: bool(files) and files[0].format == "csv" for etype, files in graph.edge_files.items()}
    blocks = {
        etype: cut_bytes(files, max_bytes) if is_csv[etype] else cut_rows(files, max_rows)
        for etype, files in graph.edge_files.items()
    }
    units = [(etype, block) for etype, of_type in blocks.items() if is_csv[etype] for block in of_type]
    sizes, types = [block.stop - block.start for _, block in units], [etype for etype, _ in units]
    scan = Pass("scan-edges", scan_edges, [block for _, block in units], None, sizes, unit_types=types)
    counts = iter(runner.run(scan))
    for etype in filter(is_csv.get, blocks):
        of_type = [next(counts) for _ in blocks[etype]]
        blocks[etype] = number_blocks(blocks[etype], of_type)
        if sum(of_type) != graph.schema.edge_type(etype).num_edges:
            raise InputFileError(
                f"the CSV files of edge type {etype!r} hold another number of edges than the metadata says",
                file=graph.directory,
                place=f"edges.{etype}",
                expected=f"{graph.schema.edge_type(etype).num_edges:,} edges",
                found=f"{sum(of_type):,} lines",
                hint="check num_edges_per_type (or per_chunk) and the list of files in metadata.json",
            )
    return blocks


def scan_edges(block: Block, _: None) -> int:
    """Task of the pass `scan-edges`: count the lines of one block."""
    from daskgraphpart.chunked.read_csv import count_rows

    return count_rows(block)


def row_partitions(
    graph: ChunkedGraph, type_name: str, spec: DataSpec, max_rows: int, stretches: np.ndarray | None = None
) -> list[Partition]:
    """List the partitions of a feature of a node or edge type; those of files have at most so many rows.

    Of files only the rows in `stretches`, ascending ranges, int64 (n, 2), are read; a user's partitions stay whole.
    """
    array = None if graph.source is None else graph.source.array(type_name, spec.name)
    name = f"{type_name}/{spec.name}"
    if array is not None:
        whole = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        pieces = list(whole.to_delayed().reshape(-1))
        calls = [Call(_check_rows, spec, f"partition {number} of {name!r}") for number in range(len(pieces))]
        return _partitions("check-rows", name, _consecutive(whole.chunks[0]), calls, pieces)
    blocks = cut_rows(graph.data_files[type_name][spec.name], max(1, max_rows))
    blocks = blocks if stretches is None else [*clip_blocks(blocks, stretches)]
    return _partitions("read-rows", name, _ranges(blocks), [Call(read_rows, block, spec) for block in blocks])


def _check_rows(rows: Any, spec: DataSpec, name: str) -> np.ndarray:
    """Return rows of a user's array in the dtype and shape that were declared."""
    values = np.asarray(rows)
    for what, expected, found, is_held in (
        ("shape", spec.row_shape, values.shape[1:], values.shape[1:] == spec.row_shape),
        ("dtype", spec.dtype, values.dtype, np.can_cast(values.dtype, spec.dtype)),
    ):
        if not is_held:
            what, hint = f"rows of another {what} than dask was told", "values may be missing, or its meta is wrong"
            raise InputFileError(what, file=name, expected=f"{expected}", found=f"{found}", hint=hint)
    return np.ascontiguousarray(values, spec.dtype)


def _ranges(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    return [(block.first_row, block.num_rows) for block in blocks]


def _consecutive(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """First row and length of partitions that follow each other."""
    return [*zip(accumulate(lengths, initial=0), lengths, strict=False)]


def _partitions(
    task: str,
    name: str,
    ranges: Sequence[tuple[int, int]],
    calls: Sequence[Callable[..., Any]],
    values: Iterable[Delayed] | None = None,
) -> list[Partition]:
    """Bind first rows and lengths to tasks; partitions without rows are left out."""
    prefix = f"{task}-{secrets.token_hex(4)}"
    inputs = [()] * len(calls) if values is None else [(value,) for value in values]
    made = []
    for number, ((first, num_rows), call, given) in enumerate(zip(ranges, calls, inputs, strict=True)):
        if num_rows:
            rows = RowRange(name, number, int(first), int(num_rows))
            made.append(Partition(rows, delay((prefix, name, number), call, given)))
    return made
