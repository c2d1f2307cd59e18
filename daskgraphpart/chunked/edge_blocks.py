"""Blocks of all edges, numbered: the edges of a CSV file are counted first, since their IDs are their row numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.chunked.blocks import cut_bytes, cut_rows, number_blocks
from daskgraphpart.chunked.read_csv import count_rows, refuse_first_lines
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from daskgraphpart.chunked.blocks import Block
    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.runner import Runner


def edge_blocks(graph: ChunkedGraph, most_rows: int, most_bytes: int, runner: Runner) -> dict[str, list[Block]]:
    """Cut the edge files of every type into numbered blocks."""
    blocks = {}
    to_scan: dict[str, list[Block]] = {}
    for etype, files in graph.edge_files.items():
        if files and files[0].format == "csv":
            to_scan[etype] = cut_bytes(files, most_bytes)
        else:
            blocks[etype] = cut_rows(files, most_rows)
    units = [block for found in to_scan.values() for block in found]
    sizes = [block.stop - block.start for block in units]
    types = [etype for etype, found in to_scan.items() for _ in found]
    counts = iter(runner.run(Pass("scan-edges", scan_edges, units, None, sizes, unit_types=types)))
    for etype, found in to_scan.items():
        blocks[etype] = number_blocks(found, [next(counts) for _ in found])
        expected, rows = graph.schema.edge_type(etype).num_edges, sum(block.num_rows for block in blocks[etype])
        if rows != expected:
            for file in graph.edge_files[etype]:  # it may not be CSV at all
                refuse_first_lines(file.path, file.delimiter)
            raise InputFileError(
                f"the CSV files of edge type {etype!r} hold another number of edges than the metadata says",
                file=graph.directory,
                place=f"edges.{etype}",
                expected=f"{expected:,} edges",
                found=f"{rows:,} lines",
                hint="check num_edges_per_type (or per_chunk) and the list of files in metadata.json",
            )
    return blocks


def scan_edges(block: Block, _: None) -> int:
    """Task of the pass `scan-edges`: count the lines of one block."""
    return count_rows(block)
