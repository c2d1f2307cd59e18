"""Write a chunked graph in the pass `write-chunks`: a file per task, in pieces, with every ID checked."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.graph.formats import check_ends
from daskgraphpart.graph.metadata import DATA_FORMATS, METADATA_FILE, data_key, is_delimiter
from daskgraphpart.graph.output import BYTES_PER_PIECE, EDGES_PER_PIECE, chunk_bounds, rows_per_piece, write_file
from daskgraphpart.schema import LONGEST_NAME, DataSpec, EdgeType, GraphSchema, RowType
from daskgraphpart.storage.atomic import write_json
from daskgraphpart.storage.files import make_directory

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.graph.graph_sources import GraphSources
    from daskgraphpart.source import Source


# one file suffix per format
SUFFIXES = {"csv": "csv", "numpy": "npy", "parquet": "parquet"}
EDGES_PER_FILE = 2 << 20
BYTES_PER_FILE = 64 << 20
TASK_MEMORY = 4 * max(16 * EDGES_PER_PIECE, BYTES_PER_PIECE)
"""Bytes of one task: a piece as it is read, checked, converted and encoded."""


NumChunks: TypeAlias = "int | Mapping[str, NumChunks]"


def _numbers(chunks: Any) -> Iterator[Any]:
    if isinstance(chunks, Mapping):
        for inner in chunks.values():
            yield from _numbers(inner)
    else:
        yield chunks


@dataclass(frozen=True, slots=True)
class ChunkFormat:
    """How to write a chunked graph.

    `num_chunks` is the number of files per edge type and feature, None for a number by size. `chunks_of` overrides it:
    for all ``"nodes"``, ``"edges"``, ``"node_data"`` or ``"edge_data"``, by type, or by type and feature; nodes have no
    files, only a number in the metadata. `names` of files are numbers of types and features, names of features
    (``"named"``), or those of DGL's `chunk_graph` (``"dgl"``).
    """

    edge_format: str = "parquet"
    data_format: str = "numpy"
    delimiter: str = " "
    num_chunks: int | None = None
    chunks_of: Mapping[str, NumChunks | None] = field(default_factory=dict)
    names: Literal["numbered", "named", "dgl"] = "numbered"

    def __post_init__(self) -> None:
        check_choice("format of edges", "--edge-format", self.edge_format, SUFFIXES)
        check_choice("format of features", "--data-format", self.data_format, DATA_FORMATS)
        for number in (self.num_chunks, *_numbers(self.chunks_of)):
            if number is not None and (not isinstance(number, int) or number < 1):
                raise OptionError("invalid number of files", option="num_chunks", expected="1 or more", found=number)
        if not is_delimiter(self.delimiter):
            expected = "one character between numbers"
            raise OptionError("bad delimiter", place="delimiter", expected=expected, found=repr(self.delimiter))

    def num_files(self, kind: str, of_type: str, feature: str = "") -> int | None:
        """Return the requested number of files, or chunks of nodes; None for a number by size."""
        number = self.chunks_of.get(kind)
        for name in (of_type, feature):
            number = number.get(name) if isinstance(number, Mapping) else number
        return self.num_chunks if number is None or isinstance(number, Mapping) else number

    def check_names(self, schema: GraphSchema) -> None:
        """Check that chunk numbers name types and features of the graph."""
        nodes, edges = schema.node_types, schema.edge_types
        for kind, types in (("nodes", nodes), ("edges", edges), ("node_data", nodes), ("edge_data", edges)):
            known = {t.name: [spec.name for spec in t.data] if kind.endswith("_data") else [] for t in types}
            by_type = self.chunks_of.get(kind)
            for name, of_type in by_type.items() if isinstance(by_type, Mapping) else ():
                names = list(of_type) if isinstance(of_type, Mapping) else []
                unknown = [f"{name}/{feature}" for feature in names if feature not in known.get(name, ())]
                if name not in known or unknown:
                    expected = ", ".join((*known, *(f"{name}/{feature}" for feature in known.get(name, ()))))
                    shown = ", ".join(unknown) or name
                    raise OptionError("not in the graph", place=f"num_chunks_{kind}", expected=expected, found=shown)

    def prefix(self, number: int, of_type: RowType, feature: tuple[int, str] | None) -> str:
        """Path prefix of an edge type's or feature's files, below the graph."""
        # a renamed type keeps its number
        is_named = self.names == "dgl" and of_type.name not in (".", "..") and len(of_type.name.encode()) < LONGEST_NAME
        if feature is None:
            return f"edge_index/{of_type.name}" if is_named else f"edges/{number}-"
        directory, (place, name) = data_key(of_type.name), feature
        if is_named:
            return f"{directory}/{of_type.name}/{name}-"
        return f"{directory}/{number}-{name if self.names == 'named' else place}-"

    def suffix(self, spec: DataSpec | None) -> str:
        """End of file names: DGL calls edges text in any format."""
        if spec is None:
            return "txt" if self.names == "dgl" else SUFFIXES[self.edge_format]
        return SUFFIXES[self.data_format]

    def check_holds(self, dtypes: Collection[str]) -> None:
        """Refuse dtypes that the format cannot hold."""
        if self.data_format == "parquet" and "bfloat16" in dtypes:
            what, hint = "parquet has no bfloat16", "write numpy, or cast to float16"
            raise OptionError(what, option="data_format", expected="numpy", found=self.data_format, hint=hint)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkUnit:
    """Rows ``[start, stop)`` of an edge type or a feature, for one file; `spec` is None for edges."""

    path: str
    of_type: RowType
    rows: Source
    spec: DataSpec | None
    start: int
    stop: int
    num_nodes: tuple[int, ...]  # at the ends of edges


def write_graph(graph: GraphSources, directory: Path, form: ChunkFormat, runner: Runner) -> Path:
    """Write all files, metadata last, and return its path."""
    schema = graph.schema
    form.check_holds([spec.dtype.name for of_type in schema.row_types for spec in of_type.data])
    form.check_names(schema)
    units = list(_units(graph, schema, directory, form))
    priced = [Unit(of, (of.stop - of.start) * (16 if of.spec is None else of.spec.row_nbytes)) for of in units]
    runner.run(Pass("write-chunks", write_chunk, priced, form))
    return _write_metadata(directory, schema, units, form)


def _write_metadata(directory: Path, schema: GraphSchema, units: Sequence[ChunkUnit], form: ChunkFormat) -> Path:
    """Write `metadata.json` in both dialects, after all other files; paths are relative."""
    of_edges = {"name": form.edge_format} | ({"delimiter": form.delimiter} if form.edge_format == "csv" else {})
    edges: dict[str, dict[str, Any]] = {etype: {"format": of_edges, "data": []} for etype in schema.etypes}
    data: dict[str, dict[str, Any]] = {"node_data": {}, "edge_data": {}}
    for unit in units:
        name, entry = unit.of_type.name, edges.get(unit.of_type.name, {})
        if unit.spec is not None:
            features = data[data_key(name)].setdefault(name, {})
            entry = features.setdefault(unit.spec.name, {"format": {"name": form.data_format}, "data": []})
        entry["data"].append(os.path.relpath(unit.path, directory))

    def per_chunk(num_rows: int, num_chunks: int | None) -> list[int]:
        return [b - a for a, b in itertools.pairwise(chunk_bounds(num_rows, num_chunks or 1))]

    content = {
        "graph_name": schema.name,
        "node_type": list(schema.ntypes),
        "num_nodes_per_type": [t.num_nodes for t in schema.node_types],
        "num_nodes_per_chunk": [per_chunk(t.num_nodes, form.num_files("nodes", t.name)) for t in schema.node_types],
        "edge_type": list(schema.etypes),
        "num_edges_per_type": [t.num_edges for t in schema.edge_types],
        "num_edges_per_chunk": [per_chunk(t.num_edges, len(edges[t.name]["data"])) for t in schema.edge_types],
        "edges": edges,
        **data,
    }
    path = directory.absolute() / METADATA_FILE
    make_directory(path.parent)
    write_json(path, content)
    return path


def write_chunk(unit: ChunkUnit, form: ChunkFormat) -> None:
    """Write one file."""
    rows_at_once = rows_per_piece(unit.spec)

    def read() -> Iterator[np.ndarray]:
        for start in range(unit.start, unit.stop, rows_at_once):
            piece = unit.rows.read(start, min(start + rows_at_once, unit.stop))
            if isinstance(unit.of_type, EdgeType) and unit.spec is None:
                (src, dst), (num_src, num_dst) = piece.T, unit.num_nodes
                check_ends(src, dst, unit.of_type, num_src, num_dst, file=None, first_row=start, error=OptionError)
            yield piece

    file_format = form.edge_format if unit.spec is None else form.data_format
    write_file(unit.path, file_format, unit.spec, unit.stop - unit.start, read(), form.delimiter)


def _units(graph: GraphSources, schema: GraphSchema, out: Path, form: ChunkFormat) -> Iterator[ChunkUnit]:
    """Cut a graph into files: the requested number per edge type and feature, or by size."""

    def cut(number: int, of_type: RowType, feature: tuple[int, DataSpec] | None, rows: Any) -> Iterator[ChunkUnit]:
        name, spec = of_type.name, None
        num_files, per_file = form.num_files("edges", name), EDGES_PER_FILE
        if feature is not None:
            spec = feature[1]
            num_files = form.num_files(data_key(name), name, spec.name)
            per_file = max(1, BYTES_PER_FILE // max(1, spec.row_nbytes))
        num_files = num_files or max(1, -(-of_type.num_rows // per_file))
        prefix = form.prefix(number, of_type, None if feature is None else (feature[0], feature[1].name))
        num_nodes = tuple(counts[ntype] for ntype in name.split(":")[::2])
        for i, (start, stop) in enumerate(itertools.pairwise(chunk_bounds(of_type.num_rows, num_files))):
            yield ChunkUnit(f"{out / prefix}{i}.{form.suffix(spec)}", of_type, rows, spec, start, stop, num_nodes)

    counts = {t.name: t.num_nodes for t in schema.node_types}
    for number, edge_type in enumerate(schema.edge_types):
        yield from cut(number, edge_type, None, graph.edge_sources[edge_type.name])
    types: list[tuple[int, RowType]] = [*enumerate(schema.node_types), *enumerate(schema.edge_types)]
    for number, of_type in types:
        for feature in enumerate(of_type.data):
            yield from cut(number, of_type, feature, graph.data_sources[of_type.name][feature[1].name])
