"""The blocks of a graph: what the units of all passes over its rows read, whether it is in files or the user's.

A block of edges reads as a pair of int64 arrays (src, dst) that are in range, one of a feature as an array. Lengths are
known before, so that the first row of each is; a partition of a collection that has another length when it is computed
again is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.chunked.blocks import Block, clip_blocks, cut_bytes, cut_rows, number_blocks
from daskgraphpart.chunked.collections import check_frame
from daskgraphpart.chunked.formats import read_edges, read_rows
from daskgraphpart.chunked.rows import refuse_gaps
from daskgraphpart.engine.runner import Input, Pass, Runner, Unit, ValuesT
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.schema import DataSpec, EdgeType

Edges: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowBlock(Input[ValuesT]):
    """Consecutive rows of a type: whose they are, its number, the original type-wise ID of the first, how many."""

    name: str
    number: int
    first_row: int
    num_rows: int

    def read(self) -> ValuesT:
        """Read the rows; refuse a partition that has another length than before."""
        values = self.load() if self.partition is None else self.load(self.partition)
        found = len(values[0] if isinstance(values, tuple) else values)  # type: ignore[arg-type]
        if found != self.num_rows:
            raise InputFileError(
                f"a partition of {self.name!r} has another number of rows than when it was counted",
                place=f"partition {self.number}",
                expected=f"{self.num_rows:,}",
                found=f"{found:,}",
                hint="the collection is not deterministic: persist it, or write it to parquet files first",
            )
        return values


def list_edge_blocks(
    graph: ChunkedGraph, max_rows: int, max_bytes: int, runner: Runner
) -> list[tuple[EdgeType, RowBlock[Edges]]]:
    """List the blocks of all edges, in the order of edge types and IDs; those of files have at most so many rows."""
    blocks = edge_blocks(graph, max_rows, max_bytes, runner)
    found: list[tuple[EdgeType, RowBlock[Edges]]] = []
    for edge_type in graph.schema.edge_types:
        num_src, num_dst = (graph.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        name = edge_type.name
        made: list[RowBlock[Edges]]
        if graph.source is not None and name in graph.source.edges:
            frames = graph.source.edges[name].to_delayed()
            check = partial(check_frame, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
            loads = [partial(check, number=number) for number in range(len(frames))]
            made = _of_collection(name, graph.source.edge_lengths[name], loads, frames)
        else:
            read = partial(read_edges, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
            made = _of_files(name, blocks[name], read)
        found += [(edge_type, block) for block in made]
    return found


def edge_blocks(graph: ChunkedGraph, max_rows: int, max_bytes: int, runner: Runner) -> dict[str, list[Block]]:
    """Cut the edge files of every type into numbered blocks; the lines of CSV files are counted for it."""
    is_csv = {etype: bool(files) and files[0].format == "csv" for etype, files in graph.edge_files.items()}
    blocks = {
        etype: cut_bytes(files, max_bytes) if is_csv[etype] else cut_rows(files, max_rows)
        for etype, files in graph.edge_files.items()
    }
    units = [
        Unit(block, block.stop - block.start, key=etype)
        for etype, of_type in blocks.items()
        if is_csv[etype]
        for block in of_type
    ]
    counts = iter(runner.run(Pass("scan-edges", scan_edges, units, None)))
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


def list_row_blocks(
    graph: ChunkedGraph, type_name: str, spec: DataSpec, max_rows: int, stretches: np.ndarray | None = None
) -> list[RowBlock[np.ndarray]]:
    """List the blocks of a feature of a node or edge type; those of files have at most so many rows.

    Of files only the rows in `stretches`, ascending ranges, int64 (n, 2), are read; a user's partitions stay whole.
    """
    array = None if graph.source is None else graph.source.array(type_name, spec.name)
    name = f"{type_name}/{spec.name}"
    if array is not None:
        whole = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
        pieces = list(whole.to_delayed().reshape(-1))
        names = [f"partition {number} of {name!r}" for number in range(len(pieces))]
        loads = [partial(_check_rows, spec=spec, name=of_piece) for of_piece in names]
        return _of_collection(name, whole.chunks[0], loads, pieces)
    blocks = cut_rows(graph.data_files[type_name][spec.name], max(1, max_rows))
    blocks = blocks if stretches is None else [*clip_blocks(blocks, stretches)]
    return _of_files(name, blocks, partial(read_rows, spec=spec))


def _check_rows(rows: Any, spec: DataSpec, name: str) -> np.ndarray:
    """Return rows of a user's array in the dtype and shape that were declared."""
    refuse_gaps(rows, name)
    values = np.asarray(rows)
    for what, expected, found, is_held in (
        ("shape", spec.row_shape, values.shape[1:], values.shape[1:] == spec.row_shape),
        ("dtype", spec.dtype, values.dtype, np.can_cast(values.dtype, spec.dtype)),
    ):
        if not is_held:
            what, hint = f"rows of another {what} than dask was told", "values may be missing, or its meta is wrong"
            raise InputFileError(what, file=name, expected=f"{expected}", found=f"{found}", hint=hint)
    return np.ascontiguousarray(values, spec.dtype)


def _of_collection(
    name: str, lengths: Sequence[int], loads: Sequence[Callable[..., ValuesT]], partitions: Sequence[Any]
) -> list[RowBlock[ValuesT]]:
    """Blocks of a dask collection, a partition each; those without rows are left out."""
    firsts = accumulate(lengths, initial=0)
    return [
        RowBlock(load, partition, name=name, number=number, first_row=int(first), num_rows=int(num_rows))
        for number, (first, num_rows, load, partition) in enumerate(
            zip(firsts, lengths, loads, partitions, strict=False)
        )
        if num_rows
    ]


def _of_files(name: str, blocks: Sequence[Block], load: Callable[..., ValuesT]) -> list[RowBlock[ValuesT]]:
    """Blocks of files."""
    return [
        RowBlock(partial(load, block), name=name, number=i, first_row=block.first_row, num_rows=block.num_rows)
        for i, block in enumerate(blocks)
        if block.num_rows
    ]
