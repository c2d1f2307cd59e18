"""Pass `write-chunks`: write a chunked graph, one file per task, in pieces, with every ID checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from daskgraphpart.chunked.formats import check_ends
from daskgraphpart.chunked.metadata import DATA_FORMATS, MAX_ROWS, data_key, is_delimiter
from daskgraphpart.chunked.output import write_metadata
from daskgraphpart.chunked.write_pieces import (
    BYTES_PER_FILE,
    BYTES_PER_PIECE,
    EDGES_PER_FILE,
    EDGES_PER_PIECE,
    SUFFIXES,
    cut_chunks,
    rows_per_piece,
    write_file,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError, MetadataError, OptionError, check_choice
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType, parse_edge_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from daskgraphpart.chunked.rows import Rows
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import RowType

TASK_MEMORY = 4 * max(16 * EDGES_PER_PIECE, BYTES_PER_PIECE)
"""Bytes of one task: a piece as it is read, checked, converted and encoded."""


@dataclass(frozen=True, slots=True)
class ChunkFormat:
    """How a chunked graph is written.

    Numbers of chunks are files of each edge type, and of each feature (None: as many); none at all: by size.
    `named_files` puts names of features, not their numbers, into names of files.
    """

    edge_format: str = "parquet"
    data_format: str = "numpy"
    delimiter: str = " "
    num_chunks: int | None = None
    data_chunks: int | None = None
    named_files: bool = False

    def __post_init__(self) -> None:
        check_choice("format of edges", "--edge-format", self.edge_format, SUFFIXES)
        check_choice("format of features", "--data-format", self.data_format, DATA_FORMATS)
        for found in (self.num_chunks, self.data_chunks):
            if found is not None and found < 1:
                raise OptionError("impossible number of files", place="--num-chunks", expected="1 or more", found=found)
        if not is_delimiter(self.delimiter):
            expected = "one character between numbers"
            raise OptionError("bad delimiter", place="delimiter", expected=expected, found=repr(self.delimiter))


@dataclass(frozen=True, slots=True, eq=False)
class GraphRows:
    """A graph as rows that can be read: what is written.

    `num_nodes` and `edges` are in the order of type IDs; a number of nodes that is None follows from the rows of a
    feature, or else from the largest ID. Rows of edges are int64 (edges, 2); `data` are features by any type and name.
    """

    name: str
    num_nodes: Mapping[str, int | None]
    edges: Mapping[str, Rows]
    data: Mapping[str, Mapping[str, Rows]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkUnit:
    """Rows ``[start, stop)`` of an edge type or a feature, which become one file; `spec` is None for edges."""

    path: str
    of_type: RowType
    rows: Rows
    spec: DataSpec | None
    start: int
    stop: int
    num_nodes: tuple[int, int] = (MAX_ROWS, MAX_ROWS)

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in memory."""
        return (self.stop - self.start) * (16 if self.spec is None else self.spec.row_nbytes)


def write_graph(graph: GraphRows, directory: Path, form: ChunkFormat, runner: Runner | None = None) -> Path:
    """Write all files of a graph, metadata last; return the path of the metadata. Without a runner, one by one."""
    schema = _schema(graph)
    units = list(_units(graph, schema, directory, form))
    if runner is None:
        largest = [write_chunk(unit, form) for unit in units]
    else:
        largest = runner.run(Pass("write-chunks", write_chunk, units, form, [unit.nbytes for unit in units]))
    edges: dict[str, list[str]] = {}
    data: dict[str, dict[str, list[str]]] = {}
    counts = {t.name: t.num_nodes if _is_known(graph, t) else 0 for t in schema.node_types}
    for unit, ids in zip(units, largest, strict=True):
        if unit.spec is not None:
            data.setdefault(unit.of_type.name, {}).setdefault(unit.spec.name, []).append(unit.path)
            continue
        edges.setdefault(unit.of_type.name, []).append(unit.path)
        for ntype, most in zip(unit.of_type.name.split(":")[::2], ids, strict=True):
            counts[ntype] = max(counts[ntype], most + 1)
    node_types = tuple(replace(t, num_nodes=counts[t.name]) for t in schema.node_types)
    schema = replace(schema, node_types=node_types)
    return write_metadata(
        directory, schema, edges, data,
        edge_format=form.edge_format, data_format=form.data_format, delimiter=form.delimiter,
    )  # fmt: skip


def write_chunk(unit: ChunkUnit, form: ChunkFormat) -> tuple[int, ...]:
    """Write one file; return the largest ID of either end if they are edges (-1 if there are none)."""
    largest = [-1, -1]
    rows_at_once = rows_per_piece(unit.spec)

    def read() -> Iterator[np.ndarray]:
        for start in range(unit.start, unit.stop, rows_at_once):
            piece = unit.rows.read(start, min(start + rows_at_once, unit.stop))
            if isinstance(unit.of_type, EdgeType) and unit.spec is None:
                src, dst = piece[:, 0], piece[:, 1]
                check_ends(src, dst, unit.of_type, *unit.num_nodes, file=None, first_row=start, error=OptionError)
                largest[:] = max(largest[0], int(src.max())), max(largest[1], int(dst.max()))
            yield piece

    file_format = form.edge_format if unit.spec is None else form.data_format
    write_file(unit.path, file_format, unit.spec, unit.stop - unit.start, read(), form.delimiter)
    return tuple(largest)


# ------------------------------------------------------------------------------------------------------------ the plan


def _units(graph: GraphRows, schema: GraphSchema, out: Path, form: ChunkFormat) -> Iterator[ChunkUnit]:
    """Cut a graph into files."""
    known = {t.name: t.num_nodes if _is_known(graph, t) else MAX_ROWS for t in schema.node_types}
    for number, edge_type in enumerate(schema.edge_types):
        counts = known[edge_type.src], known[edge_type.dst]
        for i, (start, stop) in enumerate(cut_chunks(edge_type.num_edges, EDGES_PER_FILE, form.num_chunks)):
            path = str(out / "edges" / f"{number}-{i}.{SUFFIXES[form.edge_format]}")
            yield ChunkUnit(path, edge_type, graph.edges[edge_type.name], None, start, stop, counts)
    num_chunks, suffix = form.data_chunks or form.num_chunks, SUFFIXES[form.data_format]
    kinds: tuple[Sequence[RowType], ...] = (schema.node_types, schema.edge_types)
    for types in kinds:
        for number, of_type in enumerate(types):
            for j, spec in enumerate(of_type.data):
                rows, per_file = graph.data[of_type.name][spec.name], max(1, BYTES_PER_FILE // max(1, spec.row_nbytes))
                for i, (start, stop) in enumerate(cut_chunks(of_type.num_rows, per_file, num_chunks)):
                    name = f"{number}-{spec.name if form.named_files else j}-{i}.{suffix}"
                    path = str(out / data_key(of_type.name) / name)
                    yield ChunkUnit(path, of_type, rows, spec, start, stop)


def _schema(graph: GraphRows) -> GraphSchema:
    node_types = []
    for ntype, count in graph.num_nodes.items():
        features = graph.data.get(ntype, {})
        num_nodes = count if count is not None else next((rows.shape[0] for rows in features.values()), 0)
        node_types.append(NodeType(ntype, num_nodes, _specs(ntype, features, num_nodes)))
    edge_types = [
        parse_edge_type(etype, rows.shape[0], _specs(etype, graph.data.get(etype, {}), rows.shape[0]))
        for etype, rows in graph.edges.items()
    ]
    return GraphSchema(graph.name, tuple(node_types), tuple(edge_types))


def _is_known(graph: GraphRows, node_type: NodeType) -> bool:
    """Whether a number of nodes was given, or follows from features; else the largest ID tells it."""
    return graph.num_nodes[node_type.name] is not None or bool(node_type.data)


def _specs(of_type: str, features: Mapping[str, Rows], count: int) -> tuple[DataSpec, ...]:
    specs = []
    for name, rows in features.items():
        if rows.shape[0] != count:
            what = f"feature {name!r} of {of_type!r} has the wrong number of rows"
            raise InputFileError(what, expected=f"{count:,}", found=f"{rows.shape[0]:,}")
        try:
            specs.append(DataSpec(name, rows.dtype.newbyteorder("="), rows.shape[1:]))
        except MetadataError as error:
            what, hint = f"{of_type}: {error.what}", error.hint
            raise OptionError(what, expected=error.expected, found=error.found, hint=hint) from None
    return tuple(specs)
