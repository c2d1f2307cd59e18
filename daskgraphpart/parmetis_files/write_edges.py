"""Write edges as lines for ParMETIS, self-loops and repeated edges apart; DuckDB finds repeats out of core.

A repeated edge has the same ends as an earlier one, by edge type and type-wise ID; its own edge type does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunked.partitions import Edges, RowBlock, list_edge_blocks
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.storage.faults import attach_path_to_error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.schema import EdgeType, GraphSchema
    from daskgraphpart.storage.region import Region

# columns 32, again without removed edges 32, text 80 and as much while its buffer grows; Arrow and the C library each
# keep used memory, so half as much again
EDGE_NBYTES = 320


@dataclass(frozen=True, slots=True)
class LineUnit:
    """One block of edges, with the homogeneous ID `first_eid` of its first."""

    edge_type: EdgeType
    block: RowBlock[Edges]
    first_eid: int


@dataclass(frozen=True, slots=True)
class LineConfig:
    """Schema, directory of temporary files, and homogeneous IDs of repeated edges, once known."""

    schema: GraphSchema
    scratch: str
    repeats: Region | None = None

    def path(self, unit: LineUnit, kind: str) -> str:
        """File of a block."""
        return f"{self.scratch}/{unit.first_eid}-{kind}"


def write_edges(
    graph: Graph, runner: Runner, scratch: Path, task_memory: int
) -> tuple[list[str], list[str], list[int]]:
    """Write the lines of all edges.

    Return the files of kept and of removed edges, in order, and the numbers of kept edges, self-loops and repeats.
    """
    schema, max_rows = graph.schema, max(1, min(task_memory // EDGE_NBYTES, 1 << 19))
    config = LineConfig(schema, str(scratch))
    blocks = list_edge_blocks(graph, max_rows, 4 * max_rows, runner)  # an edge takes at least 4 bytes of text
    starts = accumulate((edge_type.num_edges for edge_type in schema.edge_types), initial=0)
    first_eids = dict(zip(schema.etypes, starts, strict=False))
    works = [LineUnit(etype, block, first_eids[etype.name] + block.first_row) for etype, block in blocks]
    units = [Unit(work, work.block.num_rows * 16, key=work.edge_type.name) for work in works]
    runner.run(Pass("write-pairs", write_pairs, units, config))
    repeats = runner.step("find-repeats", lambda: find_repeats(scratch, runner.resources)) if units else None
    found = runner.run(Pass("write-edges", write_block, units, replace(config, repeats=repeats)))
    kept, removed = ([config.path(work, kind) for work in works] for kind in ("kept.txt", "removed.txt"))
    return kept, removed, [sum(of_unit[i] for of_unit in found) for i in range(3)]


def write_pairs(unit: LineUnit, config: LineConfig) -> None:
    """Write IDs and ends of a block's edges that are no self-loops."""
    import pyarrow as pa
    from pyarrow import parquet

    src, dst = _homogeneous(unit, config.schema)
    rows = np.flatnonzero(src != dst)
    table = pa.table({"src": src[rows], "dst": dst[rows], "eid": rows + unit.first_eid})
    path = config.path(unit, "pairs.parquet")
    with attach_path_to_error(path):
        parquet.write_table(table, path, compression="lz4")


def find_repeats(scratch: Path, resources: Resources) -> Region:
    """Write the ascending IDs of edges that have the ends of an earlier one."""
    from daskgraphpart.sources.database import open_database, quote, run, stage_rows

    pairs = f"SELECT src, dst, eid FROM read_parquet({quote(f'{scratch}/*-pairs.parquet')})"
    before = "SELECT *, lag(src) OVER () AS last_src, lag(dst) OVER () AS last_dst FROM sorted"
    query = f"SELECT eid FROM ({before}) WHERE src = last_src AND dst = last_dst ORDER BY eid"
    with open_database(scratch, resources) as connection:
        run(connection, f"CREATE TABLE sorted AS {pairs} ORDER BY src, dst, eid")  # grouping would need more memory
        return stage_rows(connection, query, f"{scratch}/repeats", np.dtype(np.int64))


def write_block(unit: LineUnit, config: LineConfig) -> tuple[int, int, int]:
    """Write the lines of a block; return the numbers of kept edges, self-loops and repeats."""
    src, dst = _homogeneous(unit, config.schema)
    removed = src == dst
    num_loops = int(np.count_nonzero(removed))
    if config.repeats is not None:
        bounds = [unit.first_eid, unit.first_eid + src.size]
        start, stop = np.searchsorted(config.repeats.memmap(), bounds).tolist()
        removed[config.repeats.read(start, stop) - unit.first_eid] = True
    etype_id, first = config.schema.etypes.index(unit.edge_type.name), unit.block.first_row
    columns = [src, dst, np.arange(first, first + src.size), np.full(src.size, etype_id)]
    write_lines(config.path(unit, "removed.txt"), [column[removed] for column in columns])
    write_lines(config.path(unit, "kept.txt"), [column[~removed] for column in columns])
    num_removed = int(np.count_nonzero(removed))
    return src.size - num_removed, num_loops, num_removed - num_loops


def _homogeneous(unit: LineUnit, schema: GraphSchema) -> tuple[np.ndarray, np.ndarray]:
    src, dst = unit.block.read()
    ends = (schema.ntypes.index(ntype) for ntype in (unit.edge_type.src, unit.edge_type.dst))
    first_src, first_dst = (schema.homo_starts[ntype_id] for ntype_id in ends)
    return src + first_src, dst + first_dst


def write_lines(path: str, columns: Sequence[np.ndarray]) -> None:
    """Write rows of integers, separated by spaces."""
    import pyarrow as pa
    from pyarrow import csv

    # measured: 150 MB/s on one core, without the GIL
    table = pa.table({str(number): np.ascontiguousarray(column) for number, column in enumerate(columns)})
    with attach_path_to_error(path), open(path, "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))
