"""Pass `write-chunks`: one file per task, in pieces, with every ID checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.chunked.write import write_metadata
from daskgraphpart.chunked.write_pieces import (
    BYTES_PER_PIECE,
    EDGES_PER_PIECE,
    SUFFIXES,
    cut_chunks,
    edge_writer,
    row_writer,
    rows_per_piece,
)
from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.chunking.objects.rows import Rows
    from daskgraphpart.chunking.objects.source import GraphSource
    from daskgraphpart.engine.runner import Runner

TASK_MEMORY = 4 * max(16 * EDGES_PER_PIECE, BYTES_PER_PIECE)
"""Bytes of one task: a piece as it is read, checked, converted and encoded."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkUnit:
    """Rows ``[start, stop)`` of an edge type or a feature, which become one file.

    Parameters
    ----------
    path : str
        The file.
    of_type : str
        Node type or canonical edge type.
    rows : tuple of Rows
        Sources and destinations, or a feature.
    spec : DataSpec or None
        The feature; None for edges.
    start, stop : int
        Which rows.
    num_nodes : (int or None, int or None)
        Numbers of nodes of both ends, where known.
    """

    path: str
    of_type: str
    rows: tuple[Rows, ...]
    spec: DataSpec | None
    start: int
    stop: int
    num_nodes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """Formats of the files."""

    edge_format: str
    data_format: str
    delimiter: str


def write_source(
    source: GraphSource, name: str, directory: Path, num_chunks: int, config: ChunkConfig, runner: Runner
) -> Path:
    """Write a graph without lazy parts as a chunked graph.

    Parameters
    ----------
    source : GraphSource
        The graph.
    name : str
        Its name.
    directory : Path
        Where it goes.
    num_chunks : int
        Files of every edge type and feature.
    config : ChunkConfig
        Formats.
    runner : Runner
        What does the work; tasks read the graph where it is, hence in this process.

    Returns
    -------
    Path
        The metadata file.

    Raises
    ------
    OptionError, InputFileError
        If an ID is out of range, or features do not fit the graph.
    """
    schema = _schema(name, source)
    units = list(_units(source, schema, directory, num_chunks, config))
    sizes = [(u.stop - u.start) * (16 if u.spec is None else u.spec.row_nbytes) for u in units]
    largest = runner.run(Pass("write-chunks", write_chunk, units, config, sizes))
    edges: dict[str, list[str]] = {}
    data: dict[str, dict[str, list[str]]] = {}
    counts: dict[str, int] = {}
    for unit, ids in zip(units, largest, strict=True):
        if unit.spec is None:
            edges.setdefault(unit.of_type, []).append(unit.path)
            for ntype, most in zip(unit.of_type.split(":")[::2], ids, strict=True):
                counts[ntype] = max(counts.get(ntype, 0), most + 1)
        else:
            data.setdefault(unit.of_type, {}).setdefault(unit.spec.name, []).append(unit.path)
    schema = replace(
        schema,
        node_types=tuple(
            t if source.num_nodes[t.name] is not None or t.data else replace(t, num_nodes=counts.get(t.name, 0))
            for t in schema.node_types
        ),
    )
    return write_metadata(
        directory,
        schema,
        edges,
        {kind: files for kind, files in data.items() if kind in schema.ntypes},
        {kind: files for kind, files in data.items() if kind in schema.etypes},
        edge_format=config.edge_format,
        data_format=config.data_format,
        delimiter=config.delimiter,
    )


def write_chunk(unit: ChunkUnit, config: ChunkConfig) -> tuple[int, ...]:
    """Write one file; return the largest ID of either end of its edges (-1 if there are none)."""
    if unit.spec is not None:
        with row_writer(unit.path, config.data_format, unit.spec, unit.stop - unit.start) as write:
            for start, stop in _pieces(unit, rows_per_piece(unit.spec)):
                write(unit.rows[0].read(start, stop))
        return ()
    largest = [-1, -1]
    with edge_writer(unit.path, config.edge_format, unit.stop - unit.start, config.delimiter) as write:
        for start, stop in _pieces(unit, EDGES_PER_PIECE):
            piece = np.empty((stop - start, 2), np.int64)
            for i, rows in enumerate(unit.rows):
                piece[:, i] = rows.read(start, stop)
                largest[i] = max(largest[i], _checked(piece[:, i], unit, i, start))
            write(piece)
    return tuple(largest)


def _pieces(unit: ChunkUnit, at_once: int) -> list[tuple[int, int]]:
    return [(start, min(start + at_once, unit.stop)) for start in range(unit.start, unit.stop, at_once)]


def _checked(ids: np.ndarray, unit: ChunkUnit, end: int, first: int) -> int:
    """Return the largest ID of a piece; refuse it if a node does not exist."""
    count = unit.num_nodes[end]
    bad = np.flatnonzero((ids < 0) | (ids >= (2**62 if count is None else count)))
    if bad.size:
        ntype = unit.of_type.split(":")[2 * end]
        raise OptionError(
            f"ID of a {ntype!r} node out of range, in edges of type {unit.of_type!r}",
            place=f"{('source', 'destination')[end]} of edge {first + int(bad[0]):,}",
            expected="an ID, 0 or more" if count is None else f"an ID in [0, {count:,})",
            found=f"{int(ids[bad[0]]):,}",
            hint="IDs are type-wise and begin at 0; check num_nodes, and the rows of node features",
        )
    return int(ids.max())


# ------------------------------------------------------------------------------------------------------------ the plan


def _schema(name: str, source: GraphSource) -> GraphSchema:
    edge_types = []
    edges: Any
    for etype, edges in source.edges.items():
        counts = [rows.num_rows for rows in edges]
        if counts[0] != counts[1]:
            raise OptionError(f"edges of type {etype!r}: not as many sources as destinations", found=counts)
        data = _specs(etype, source.edge_data.get(etype, {}), counts[0])
        src, rel, dst = etype.split(":")
        edge_types.append(EdgeType(src, rel, dst, counts[0], data))
    node_types = []
    features: Any
    for ntype, count in source.num_nodes.items():
        features = source.node_data.get(ntype, {})
        rows = count if count is not None else next((feature.num_rows for feature in features.values()), 0)
        node_types.append(NodeType(ntype, rows, _specs(ntype, features, rows)))
    return GraphSchema(name, tuple(node_types), tuple(edge_types))


def _specs(of_type: str, features: Mapping[str, Any], count: int) -> tuple[DataSpec, ...]:
    specs = []
    for name, rows in features.items():
        if rows.num_rows != count:
            raise InputFileError(
                f"feature {name!r} of {of_type!r} has the wrong number of rows", expected=f"{count:,}",
                found=f"{rows.num_rows:,}",
            )  # fmt: skip
        try:
            specs.append(DataSpec(name, rows.dtype.newbyteorder("="), rows.row_shape))
        except MetadataError as error:
            raise OptionError(
                f"{of_type}: {error.what}", expected=error.expected, found=error.found, hint=error.hint
            ) from None
    return tuple(specs)


def _units(
    source: GraphSource, schema: GraphSchema, out: Path, num_chunks: int, config: ChunkConfig
) -> list[ChunkUnit]:
    units: list[ChunkUnit] = []
    known = {t.name: t.num_nodes if t.data or source.num_nodes[t.name] is not None else None for t in schema.node_types}
    for number, edge_type in enumerate(schema.edge_types):
        ends: Any = source.edges[edge_type.name]
        for i, (start, stop) in enumerate(cut_chunks(edge_type.num_edges, 0, num_chunks)):
            path = out / "edges" / f"{number}-{i}.{SUFFIXES[config.edge_format]}"
            counts = known[edge_type.src], known[edge_type.dst]
            units.append(ChunkUnit(str(path), edge_type.name, ends, None, start, stop, counts))
    kinds: list[tuple[str, Sequence[NodeType | EdgeType], Any]] = [
        ("node_data", schema.node_types, source.node_data),
        ("edge_data", schema.edge_types, source.edge_data),
    ]
    for folder, types, data in kinds:
        for number, of_type in enumerate(types):
            for j, spec in enumerate(of_type.data):
                rows = data[of_type.name][spec.name]
                for i, (start, stop) in enumerate(cut_chunks(of_type.num_rows, 0, num_chunks)):
                    path = out / folder / f"{number}-{j}-{i}.{SUFFIXES[config.data_format]}"
                    units.append(ChunkUnit(str(path), of_type.name, (rows,), spec, start, stop, ()))
    return units
