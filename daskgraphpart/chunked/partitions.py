"""Blocks of a graph: what all passes over rows read, from any source.

A block of edges reads as a pair of int64 arrays (src, dst) in range, a feature block as an array. Lengths are known
before, and so is each first row; a dask partition that changes its length is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.sources import Edges as Edges
from daskgraphpart.chunked.sources import FileEdges, Piece, cut, read_edges
from daskgraphpart.engine.runner import Input, Pass, Runner, Unit, ValuesT
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from daskgraphpart.chunked.formats import Block
    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.schema import DataSpec, EdgeType


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowBlock(Input[ValuesT]):
    """Consecutive rows of a type: name, block number, original type-wise ID of the first row, count.

    `file` and `row_in_file` are for messages.
    """

    name: str
    number: int
    first_row: int
    num_rows: int
    file: str | None = None
    row_in_file: int = 0

    def read(self) -> ValuesT:
        """Read the rows; refuse a dask partition that has changed its length."""
        values = self.load() if self.partition is None else self.load(self.partition)
        found = len(values[0] if isinstance(values, tuple) else values)  # type: ignore[arg-type]
        if found != self.num_rows:
            raise InputFileError(
                f"a dask partition of {self.name!r} has changed its number of rows",
                place=f"partition {self.number}",
                expected=f"{self.num_rows:,}",
                found=f"{found:,}",
                hint="persist the collection, or write it to parquet files first: it is not deterministic",
            )
        return values


def list_edge_blocks(
    graph: Graph, max_rows: int, max_bytes: int, runner: Runner
) -> list[tuple[EdgeType, RowBlock[Edges]]]:
    """List the blocks of all edges, by edge type and ID, with limits on rows and bytes of text."""
    graph = count_lines(graph, max_bytes, runner)
    found: list[tuple[EdgeType, RowBlock[Edges]]] = []
    for edge_type in graph.schema.edge_types:
        num_src, num_dst = (graph.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        read = partial(read_edges, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
        pieces = cut(graph.edge_sources[edge_type.name], max_rows)
        loads = [partial(read, read=piece.read, where=(piece.file, piece.row_in_file)) for piece in pieces]
        found += [(edge_type, block) for block in _blocks(edge_type.name, pieces, loads)]
    return found


def count_lines(graph: Graph, max_bytes: int, runner: Runner) -> Graph:
    """Return the graph with all lines of its text counted."""
    texts = {
        etype: source
        for etype, source in graph.edge_sources.items()
        if isinstance(source, FileEdges) and source.is_text and source.blocks is None
    }
    blocks = {etype: source.uncounted(max_bytes) for etype, source in texts.items()}
    units = [Unit(block, block.stop - block.start, key=etype) for etype in texts for block in blocks[etype]]
    counts, counted = iter(runner.run(Pass("scan-edges", scan_edges, units, None))), {}
    for etype, source in texts.items():
        counted[etype] = source.counted(blocks[etype], [next(counts) for _ in blocks[etype]])
        if counted[etype].num_edges != source.num_edges:
            raise InputFileError(
                f"the metadata and the CSV files of edge type {etype!r} disagree on the number of edges",
                file=graph.directory,
                place=f"edges.{etype}",
                expected=f"{source.num_edges:,} edges",
                found=f"{counted[etype].num_edges:,} lines",
                hint="check num_edges_per_type (or per_chunk) and the list of files in metadata.json",
            )
    return replace(graph, edge_sources={**graph.edge_sources, **counted}) if counted else graph


def scan_edges(block: Block, _: None) -> int:
    """Task of the pass `scan-edges`: count the lines of one block."""
    from daskgraphpart.chunked.read_csv import count_rows

    return count_rows(block)


def list_row_blocks(
    graph: Graph, type_name: str, spec: DataSpec, max_rows: int, stretches: np.ndarray | None = None
) -> list[RowBlock[np.ndarray]]:
    """List the blocks of a feature, with a limit on rows; a user's dask partitions stay whole.

    Reads only the rows in `stretches`, ascending ranges, int64 (n, 2).
    """
    pieces = cut(graph.data_sources[type_name][spec.name], max(1, max_rows), stretches)
    loads = [partial(_read_rows, read=piece.read, dtype=spec.dtype) for piece in pieces]
    return _blocks(f"{type_name}/{spec.name}", pieces, loads)


def _read_rows(*given: Any, read: Callable[..., Any], dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(read(*given), dtype)


def _blocks(name: str, pieces: Sequence[Piece], loads: Sequence[Callable[..., ValuesT]]) -> list[RowBlock[ValuesT]]:
    return [
        RowBlock(
            load, piece.given, name=name, number=number, first_row=piece.first_row, num_rows=piece.num_rows,
            file=None if piece.file is None else str(piece.file), row_in_file=piece.row_in_file,
        )
        for number, (piece, load) in enumerate(zip(pieces, loads, strict=True))
        if piece.num_rows
    ]  # fmt: skip
