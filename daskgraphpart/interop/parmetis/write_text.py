"""Write a graph for ParMETIS' programs: nodes with weights, edges, and loops and repeats apart; attributes of all.

A node's weights are 1 for its type and 0 for others, so that ParMETIS balances every type; then come the requested node
data. ParMETIS fails on weights that sum to zero (libparmetis/weird.c, "sum weight for constraint"), so types without
nodes have no weight, as in DGL's example write_mag.py.

DuckDB finds repeated edges out of core: they have the ends of an earlier one, by homogeneous ID; their own edge type
does not matter. Each task writes its lines into its own file; one task per file joins the pieces in order.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import InputFileError, OptionError, OutputExistsError
from daskgraphpart.graph.dask_partitions import list_edge_blocks
from daskgraphpart.graph.rows import JoinedRows
from daskgraphpart.graph.share_arrays import make_seekable, share_arrays
from daskgraphpart.interop.parmetis.pm_dglpart import NUM_OF_EDGE
from daskgraphpart.partitioner.balance import ByFeature, feature_of
from daskgraphpart.partitioner.weigh_nodes import weigh_nodes
from daskgraphpart.public import Public
from daskgraphpart.readers.database import open_database, quote, stage_rows
from daskgraphpart.storage.atomic import publish, temporary_path, write_bytes, write_json
from daskgraphpart.storage.faults import attach_path_to_error
from daskgraphpart.storage.paths import Location, to_path

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.partitioner.parmetis_files import ParmetisFiles
    from daskgraphpart.schema import EdgeType, GraphSchema, RowType
    from daskgraphpart.source import Block, Edges, Source
    from daskgraphpart.storage.region import Region


Columns = tuple["Region", ...]
"""Node data of one name: a column of all nodes for each node type that has them."""

Attributes = tuple["Source", ...]
"""Data of all nodes, or of all edges, by homogeneous ID."""

# a number, again without removed edges, its text, and as much while its buffer grows; Arrow and the C library each keep
# used memory, so half as much again
COLUMN_NBYTES, MAX_ROWS = 80, 1 << 20  # rows per task


@dataclass(frozen=True, slots=True)
class ParmetisInput(Public):
    """Result of writing a graph for ParMETIS."""

    directory: Path  # directory of the files; run ParMETIS in it
    graph_name: str  # name to give to its programs
    num_nodes: int  # as in the stats file: edges without the removed ones
    num_edges: int
    num_node_weights: int
    num_self_loops: int  # counts of the removed edges
    num_repeats: int


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """First ID of each type, weights, attributes, and the directory of temporary files."""

    starts: np.ndarray
    weights: tuple[Columns, ...]
    attributes: Attributes
    scratch: str


def write_parmetis_files(
    graph: Graph,
    files: ParmetisFiles,
    weights: Sequence[str],
    runner: Runner,
    scratch: Path,
    task_memory: int | None = None,
    *,
    attributes: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> ParmetisInput:
    """Write nodes, edges, removed edges, schema and, last, stats; `attributes` are names of node and of edge data.

    `scratch` is an empty directory for temporary files: the text, and at most 48 bytes per edge.
    """
    schema, task_memory = graph.schema, task_memory or runner.resources.task_memory
    if any(attributes):
        graph = share_arrays(make_seekable(graph, scratch, runner), scratch / "arrays", runner.resources)
    of_nodes, of_edges = (
        tuple(JoinedRows(tuple(graph.data_sources[of][name] for of in types)) for name in names)
        for types, names in zip((schema.ntypes, schema.etypes), attributes, strict=True)
    )
    weighed = _weigh(graph, weights, scratch, runner)
    nodes = _write_nodes(NodeConfig(np.array(schema.homo_starts), weighed, of_nodes, str(scratch)), runner, task_memory)
    config = LineConfig(schema, str(scratch), of_edges)
    kept, removed, (num_kept, num_loops, num_repeats) = write_edges(graph, config, runner, task_memory)
    _join({files.text("nodes"): nodes, files.text("edges"): kept, files.text("removed_edges"): removed}, runner)
    write_json(files.ranges, {"nid": _ranges(schema.node_types), "eid": _ranges(schema.edge_types)})
    num_weights = sum(node_type.num_nodes > 0 for node_type in schema.node_types) + len(weights)
    write_bytes(files.text("stats"), f"{schema.num_nodes} {num_kept} {num_weights}\n".encode())
    return ParmetisInput(files.directory, files.graph, schema.num_nodes, num_kept, num_weights, num_loops, num_repeats)


def claim_files(files: ParmetisFiles, graph: Graph, metadata: Location, overwrite: bool) -> None:
    """Check the files to write and remove an earlier stats file, so that nothing looks complete too early."""
    inputs = {to_path(path).resolve() for path in graph.files} | {metadata.resolve()}
    for path in files.written:
        if path.resolve() in inputs:
            raise OutputExistsError("this file belongs to the graph", file=str(path), hint="choose another directory")
        if path.exists() and not overwrite:
            hint = "add --overwrite, or choose another directory"
            raise OutputExistsError("the file exists", file=str(path), hint=hint)
    files.text("stats").unlink(missing_ok=True)


def check_weights(schema: GraphSchema, weights: Sequence[str]) -> list[list[ByFeature]]:
    """Return each name's node data, a constraint per node type; refuse what cannot be weights."""
    constraints = []
    for name in weights:
        ntypes = [t.name for t in schema.node_types if any(spec.name == name for spec in t.data)]
        if not ntypes:
            known = ", ".join(sorted({spec.name for t in schema.node_types for spec in t.data})) or "none"
            raise OptionError(f"no node type has data {name!r}", place="weights", expected=f"one of: {known}")
        if list(weights).count(name) > 1:
            raise OptionError(f"weights {name!r} are given twice", place="weights", hint="remove one")
        for ntype in ntypes:
            feature_of(schema, f"{ntype}/{name}", "weights")
        features = [f"{ntype}/{name}" for ntype in ntypes]
        constraints.append([ByFeature(f"weight:{of}", 0.0, of, by_value=False) for of in features])
    return constraints


def check_attributes(types: Sequence[RowType], names: Sequence[str], option: str) -> None:
    """Refuse data that some type lacks, or has in rows of another shape: all lines have the same columns."""
    for name in names:
        specs = {of.name: next((spec for spec in of.data if spec.name == name), None) for of in types}
        shapes = {spec and (spec.dtype, spec.row_shape) for spec in specs.values()}
        if len(shapes) != 1 or None in shapes:
            shown = {of: f"{spec.dtype}{list(spec.row_shape) or ''}" if spec else "none" for of, spec in specs.items()}
            raise OptionError(
                f"cannot write {name!r}: in ParMETIS' text, the lines of all types have the same columns",
                option=option,
                expected="the same dtype and row shape in all types",
                found=", ".join(f"{of}: {kind}" for of, kind in shown.items()) or "no types",
            )


def _weigh(graph: Graph, weights: Sequence[str], scratch: Path, runner: Runner) -> tuple[Columns, ...]:
    """Write node data as weight columns over all nodes: for each name, one per node type that has it."""
    wanted = check_weights(graph.schema, weights)
    constraints = [constraint for of_name in wanted for constraint in of_name]
    weighed = weigh_nodes(graph, constraints, None, scratch, runner, may_be_zero=True)
    rest, columns = zip(weighed.constraints, weighed.columns, strict=True), []
    for name, of_name in zip(weights, wanted, strict=True):
        mine = [next(rest) for _ in of_name]
        if not any(constraint.total for constraint, _ in mine):
            what = f"weights {name!r} are zero for all nodes, which ParMETIS refuses"
            raise InputFileError(what, file=graph.directory, hint="leave them out")
        columns.append(tuple(column for _, column in mine))
    return tuple(columns)


def _write_nodes(config: NodeConfig, runner: Runner, task_memory: int) -> list[str]:
    """Write the lines of all nodes; return the files in order."""
    num_columns = 1 + config.starts.size + len(config.weights) + _count(config.attributes)
    num_nodes = int(config.starts[-1])
    step = max(1, min(task_memory // (COLUMN_NBYTES * num_columns), MAX_ROWS))
    ranges = [range(start, min(start + step, num_nodes)) for start in range(0, num_nodes, step)]
    units = [Unit(nodes, len(nodes) * 8 * (1 + len(config.weights))) for nodes in ranges]
    return runner.run(Pass("write-nodes", write_nodes, units, config))


def write_nodes(nodes: range, config: NodeConfig) -> str:
    """Write the lines of a range of nodes: type, weights, type-wise ID; return the file."""
    nids, path = np.arange(nodes.start, nodes.stop), f"{config.scratch}/{nodes.start}-nodes.txt"
    ntypes = np.searchsorted(config.starts, nids, side="right") - 1
    one_hot = [(ntypes == i).astype(np.int8) for i in np.flatnonzero(np.diff(config.starts))]
    weights = [
        np.sum([column.read(nodes.start, nodes.stop) for column in columns], axis=0) for columns in config.weights
    ]
    attributes = read_attributes(config.attributes, nodes.start, nodes.stop)
    write_lines(path, [ntypes, *one_hot, *weights, nids - config.starts[ntypes], *attributes])
    return path


def _count(attributes: Attributes) -> int:
    return sum(math.prod(of.shape[1:]) for of in attributes)


def read_attributes(attributes: Attributes, start: int, stop: int) -> list[np.ndarray]:
    """Read the attributes of rows ``[start, stop)``, an array per column, of dtypes that Arrow writes as numbers."""
    columns: list[np.ndarray] = []
    for rows in (of.read(start, stop) for of in attributes):
        written = {"bool": "u1", "float16": "f4", "bfloat16": "f4"}.get(rows.dtype.name, rows.dtype)
        columns += [*rows.reshape(stop - start, math.prod(rows.shape[1:])).astype(written, copy=False).T]
    return columns


def _join(pieces: dict[Path, list[str]], runner: Runner) -> None:
    """Join the pieces of each file; all files appear together."""
    units = [
        Unit((temporary_path(path), tuple(of_file)), sum(os.path.getsize(piece) for piece in of_file))
        for path, of_file in pieces.items()
    ]
    try:
        runner.run(Pass("join-text", join_text, units, None))
        for path in pieces:
            publish(path)
    except BaseException:
        for unit in units:
            Path(unit.work[0]).unlink(missing_ok=True)
        raise


def join_text(unit: tuple[str, tuple[str, ...]], _: None) -> None:
    """Write pieces one after the other into a file."""
    path, pieces = unit
    with attach_path_to_error(path), open(path, "wb") as target:
        for piece in pieces:
            with open(piece, "rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)


def _ranges(types: Iterable[RowType]) -> dict[str, list[int]]:
    """Ranges of homogeneous IDs, as in the schema files of DGL's tools before 1.0.

    Edge types have canonical names, which tell their ends; those tools take any names.
    """
    ranges, start = {}, 0
    for of_type in types:
        ranges[of_type.name] = [start, start + of_type.num_rows]
        start += of_type.num_rows
    return ranges


@dataclass(frozen=True, slots=True)
class LineUnit:
    """One block of edges, with the homogeneous ID `first_eid` of its first."""

    edge_type: EdgeType
    block: Block[Edges]
    first_eid: int


@dataclass(frozen=True, slots=True)
class LineConfig:
    """Schema, directory of temporary files, attributes, and homogeneous IDs of repeated edges, once known."""

    schema: GraphSchema
    scratch: str
    attributes: Attributes
    repeats: Region | None = None

    def path(self, unit: LineUnit, kind: str) -> str:
        """File of a block."""
        return f"{self.scratch}/{unit.first_eid}-{kind}"


def write_edges(
    graph: Graph, config: LineConfig, runner: Runner, task_memory: int
) -> tuple[list[str], list[str], list[int]]:
    """Write the lines of all edges.

    Return the files of kept and of removed edges, in order, and the numbers of kept edges, self-loops and repeats.
    """
    schema, line_nbytes = graph.schema, COLUMN_NBYTES * (NUM_OF_EDGE + _count(config.attributes))
    max_rows = max(1, min(task_memory // line_nbytes, 1 << 19))
    blocks = list_edge_blocks(graph, max_rows, 4 * max_rows, runner)  # an edge takes at least 4 bytes of text
    starts = accumulate((edge_type.num_edges for edge_type in schema.edge_types), initial=0)
    first_eids = dict(zip(schema.etypes, starts, strict=False))
    works = [LineUnit(etype, block, first_eids[etype.name] + block.first_row) for etype, block in blocks]
    units = [Unit(work, work.block.num_rows * 16, key=work.edge_type.name) for work in works]
    runner.run(Pass("write-pairs", write_pairs, units, config))
    repeats = (
        runner.step("find-repeats", lambda: find_repeats(Path(config.scratch), runner.resources)) if units else None
    )
    by_unit = runner.run(Pass("write-edges", write_block, units, replace(config, repeats=repeats)))
    kept, removed = ([config.path(work, kind) for work in works] for kind in ("kept.txt", "removed.txt"))
    return kept, removed, [sum(of_unit[i] for of_unit in by_unit) for i in range(3)]


def write_pairs(unit: LineUnit, config: LineConfig) -> None:
    """Write IDs and ends of a block's edges that are no self-loops."""
    src, dst = _homogeneous(unit, config.schema)
    rows = np.flatnonzero(src != dst)
    table = pa.table({"src": src[rows], "dst": dst[rows], "eid": rows + unit.first_eid})
    path = config.path(unit, "pairs.parquet")
    with attach_path_to_error(path):
        parquet.write_table(table, path, compression="lz4")


def find_repeats(scratch: Path, resources: Resources) -> Region:
    """Write the ascending IDs of edges that have the ends of an earlier one."""
    pairs = f"SELECT src, dst, eid FROM read_parquet({quote(f'{scratch}/*-pairs.parquet')})"
    last = "lag(src) OVER w AS last_src, lag(dst) OVER w AS last_dst"  # grouping would need more memory
    before = f"SELECT *, {last} FROM ({pairs}) WINDOW w AS (ORDER BY src, dst, eid)"
    query = f"SELECT eid FROM ({before}) WHERE src = last_src AND dst = last_dst ORDER BY eid"
    with open_database(scratch, resources) as connection:
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
    attributes = read_attributes(config.attributes, unit.first_eid, unit.first_eid + src.size)
    columns = [src, dst, np.arange(first, first + src.size), np.full(src.size, etype_id), *attributes]
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
    """Write rows of numbers, separated by spaces."""
    # measured: 150 MB/s on one core, without the GIL
    table = pa.table({str(number): np.ascontiguousarray(column) for number, column in enumerate(columns)})
    with attach_path_to_error(path), open(path, "wb") as file:
        csv.write_csv(table, file, csv.WriteOptions(include_header=False, delimiter=" "))
