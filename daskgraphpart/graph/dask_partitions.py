"""Blocks of a graph: what all passes over rows read, from any source.

A block of edges reads as a pair of int64 arrays (src, dst) in range, a feature block as an array. Lengths are known
before, and so is each first row; a dask partition that changes its length is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import InputFileError
from daskgraphpart.graph.sources import CsvEdges, LineEdges, read_edges
from daskgraphpart.source import Source, stored_sources

if TYPE_CHECKING:
    from daskgraphpart.graph.graph_sources import GraphSources, SourcesT
    from daskgraphpart.graph.read_csv import Lines
    from daskgraphpart.schema import DataSpec, EdgeType
    from daskgraphpart.source import Block, Edges


def list_edge_blocks(
    graph: GraphSources, max_rows: int, max_bytes: int, runner: Runner
) -> list[tuple[EdgeType, Block[Edges]]]:
    """List the blocks of all edges, by edge type and ID, with limits on rows and bytes of text."""
    graph = count_lines(graph, max_bytes, runner)
    listed: list[tuple[EdgeType, Block[Edges]]] = []
    for edge_type in graph.schema.edge_types:
        num_src, num_dst = (graph.schema.node_type(ntype).num_nodes for ntype in (edge_type.src, edge_type.dst))
        read = partial(read_edges, edge_type=edge_type, num_src=num_src, num_dst=num_dst)
        blocks = graph.edge_sources[edge_type.name].blocks(max_rows)
        loads = [partial(read, read=block.load, where=(block.file, block.row_in_file)) for block in blocks]
        listed += [(edge_type, block) for block in _named(edge_type.name, blocks, loads)]
    return listed


def count_lines(graph: SourcesT, max_bytes: int, runner: Runner) -> SourcesT:
    """Return the graph with all lines of its text counted."""
    texts: dict[CsvEdges, str] = {}
    for etype, source in graph.edge_sources.items():
        for leaf in stored_sources(source):
            if isinstance(leaf, CsvEdges):
                texts.setdefault(leaf, etype)
    lines = {source: source.lines(max_bytes) for source in texts}
    units = [Unit(of, of.stop - of.start, key=etype) for source, etype in texts.items() for of in lines[source]]
    counted: dict[Source, Source] = {}
    counts = iter(runner.run(Pass("scan-edges", scan_edges, units, None)))
    for source, etype in texts.items():
        counted[source] = LineEdges(source.files, tuple(lines[source]), tuple(next(counts) for _ in lines[source]))
        if counted[source].shape != source.shape:
            raise InputFileError(
                f"the metadata and the CSV files of edge type {etype!r} disagree on the number of edges",
                file=graph.directory,
                place=f"edges.{etype}",
                expected=f"{source.num_edges:,} edges",
                found=f"{counted[source].shape[0]:,} lines",
                hint="check num_edges_per_type (or per_chunk) and the list of files in metadata.json",
            )
    return replace_stored_sources(graph, counted)


def replace_stored_sources(graph: SourcesT, others: Mapping[Source, Source]) -> SourcesT:
    """Return a graph that reads other sources in place of some, wherever these are read."""
    if not others:
        return graph
    replaced_by: dict[Any, Any] = dict(others)

    def replaced(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(replaced, value))
        if not isinstance(value, Source) or not (value.inputs or value in replaced_by):
            return value
        if value not in replaced_by:
            view: Any = value
            assert hasattr(view, "__dataclass_fields__"), f"{type(view).__name__} has inputs: make it a dataclass"
            replaced_by[value] = replace(view, **{of.name: replaced(getattr(view, of.name)) for of in fields(view)})
        return replaced_by[value]

    return replace(
        graph,
        edge_sources={etype: replaced(source) for etype, source in graph.edge_sources.items()},
        data_sources={
            of: {name: replaced(rows) for name, rows in data.items()} for of, data in graph.data_sources.items()
        },
    )


def scan_edges(lines: Lines, _: None) -> int:
    """Task of the pass `scan-edges`: count the lines of one range."""
    return lines.count()


def list_row_blocks(
    graph: GraphSources, type_name: str, spec: DataSpec, max_rows: int, stretches: np.ndarray | None = None
) -> list[Block[np.ndarray]]:
    """List the blocks of a feature, with a limit on rows; a user's dask partitions stay whole.

    Reads only the rows in `stretches`, ascending ranges, int64 (n, 2).
    """
    blocks = graph.data_sources[type_name][spec.name].blocks(max(1, max_rows), stretches)
    loads = [partial(_read_rows, read=block.load, dtype=spec.dtype) for block in blocks]
    return _named(f"{type_name}/{spec.name}", blocks, loads)


def _read_rows(*given: Any, read: Callable[..., Any], dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(read(*given), dtype)


def _named(name: str, blocks: Sequence[Block[Any]], loads: Sequence[Callable[..., Any]]) -> list[Block[Any]]:
    """Name and number the blocks that have rows, each with its new reader."""
    return [
        replace(block, load=load, name=name, number=number, file=None if block.file is None else str(block.file))
        for number, (block, load) in enumerate(zip(blocks, loads, strict=True))
        if block.num_rows
    ]
