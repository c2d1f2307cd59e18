"""Turn the complete output of ParMETIS' `pm_dglpart` into a graph.

Lines of `p000-<graph>_nodes.txt` are `new_nid ntype weights... type_nid attributes...`, those of
`p000-<graph>_edges.txt` `new_src new_dst src dst type_eid etype attributes...`; removed edges lack the new IDs.
Together they have every node and edge once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, MetadataError, OptionError, check_choice
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.partitioner.parmetis_files import (
    IdColumn,
    LineFile,
    ParmetisFiles,
    PartFiles,
    Placement,
    count_columns,
    read_lines,
    read_nodes,
)
from daskgraphpart.readers.database import open_database, run
from daskgraphpart.schema import STORED_DTYPES, check_name
from daskgraphpart.storage.json_file import convert_json, read_json_object
from daskgraphpart.storage.region import Region, create_npy
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from daskgraphpart.engine.resources import Resources


FEATURE = "feat"
HINTS = {
    "node": "check that it is complete and for this graph",
    "edge": "give removed self-loops and repeated edges by --removed-edges",
}
NUM_NEW_ENDS = 2  # columns before an edge's own; removed edges have none
NUM_OF_EDGE = 4  # source, destination, ID in its edge type, edge type

ToRows = Callable[..., np.ndarray]


@dataclass(frozen=True, slots=True)
class ConversionInput:
    """What to convert: names, counts and files; attributes without a dtype are ignored."""

    graph_name: str
    counts: TypeCounts
    parts: PartFiles
    removed_edges: Path | None
    node_dtype: np.dtype | None
    edge_dtype: np.dtype | None

    def __post_init__(self) -> None:
        for _, path in self.edge_files:
            if not path.is_file():
                raise InputFileNotFoundError("no such edge file", file=str(path))

    @property
    def directory(self) -> Path:
        """Directory of all files of parts."""
        return self.parts.paths[0].parent

    @property
    def edge_files(self) -> list[tuple[int, Path]]:
        """Edge files of all parts and of removed edges, with their numbers of columns before an edge's own."""
        names = ParmetisFiles(self.directory, self.graph_name)
        of_parts = [(NUM_NEW_ENDS, names.of_part(part, "edges")) for part in range(len(self.parts.paths))]
        return of_parts if self.removed_edges is None else [*of_parts, (0, self.removed_edges)]


def attribute_dtype(name: str | None, place: str) -> np.dtype | None:
    """Return the named dtype, if given; refuse all but numbers that DGL can load."""
    if name is None:
        return None
    allowed = [dtype for dtype in STORED_DTYPES if dtype not in ("bool", "bfloat16")]
    with suppress(TypeError):
        name = np.dtype(name).name  # of "f4", "float32"
    check_choice("dtype of attributes", place, name, allowed)
    return np.dtype(name)


def read_graph(source: ConversionInput, workspace: Path, resources: Resources) -> Graph:
    """Restore the original order of edges and data, in files of a workspace."""
    counts = source.counts
    data: dict[str, dict[str, Region]] = {}

    def place(kind: str, query: str, to_rows: ToRows, width: int, dtype: np.dtype) -> list[Region]:
        """Write an npy file per type with a query's rows, by ID."""
        name, types = ("node", counts.nodes) if kind == "node_data" else ("edge", counts.edges)
        targets = {
            of_type: create_npy(workspace / f"{kind}-{number}.npy", dtype.newbyteorder("<"), (count, width))
            for number, (of_type, count) in enumerate(types.items())
        }
        Placement(name, targets, str(source.directory), HINTS[name]).place(connection, query, to_rows)
        return [*targets.values()]

    workspace.mkdir(parents=True, exist_ok=True)
    with scratch_directory(workspace) as scratch, open_database(scratch, resources) as connection:
        width, ends = _read_edges(source, connection), TypedEnds(counts.node_starts)
        files = place("edges", "SELECT id, c0, c1, c2 FROM edges", ends.to_rows, 2, np.dtype(np.int64))
        etypes = join_types(counts, sorted(ends.joined), str(source.directory))
        if (dtype := source.edge_dtype) is not None:
            to_rows = partial(_to_matrix, width=_check_width("edge", width, source))
            rows = place("edge_data", "SELECT id, attributes FROM edges", to_rows, width, dtype)
            data |= {etype: {FEATURE: of} for etype, of in zip(etypes, rows, strict=True)}
        if (dtype := source.node_dtype) is not None:
            width = read_nodes(connection, source.parts, source.graph_name, counts.node_starts, dtype)
            to_rows = partial(_to_matrix, width=_check_width("node", width, source))
            rows = place("node_data", "SELECT id, attributes FROM nodes", to_rows, width, dtype)
            data |= {ntype: {FEATURE: of} for ntype, of in zip(counts.nodes, rows, strict=True)}
    return graph_of(source.graph_name, counts.nodes, dict(zip(etypes, files, strict=True)), data)


def _read_edges(source: ConversionInput, connection: DuckDBPyConnection) -> int:
    """Read all edges into a view `edges` with `id`; return the number of attributes."""
    counts, dtype, files = source.counts, source.edge_dtype, []
    widths = [count_columns([path]) - first - NUM_OF_EDGE for first, path in source.edge_files]
    width = max(widths, default=0)
    num_nodes, sizes = str(counts.node_starts[-1]), np.diff(counts.edge_starts).tolist()
    for first, path in source.edge_files:
        edge_type = IdColumn("edge type", first + 3, str(len(sizes)))
        columns = (
            IdColumn("source", first, num_nodes),
            IdColumn("destination", first + 1, num_nodes),
            edge_type,
            IdColumn("edge ID", first + 2, f"{sizes}[c2 + 1]"),
        )
        place = first + NUM_OF_EDGE
        files.append(LineFile(path, columns, place + max(0, width), None if dtype is None else (place, dtype)))
    read_lines(connection, "edge_lines", files)
    starts = counts.edge_starts.tolist()
    run(connection, f"CREATE VIEW edges AS SELECT {starts}[c2 + 1] + c3 AS id, * FROM edge_lines")
    return width


def _check_width(kind: str, width: int, source: ConversionInput) -> int:
    if width <= 0:
        place, hint = f"--{kind}-attr-dtype", "leave it out, or check --num-node-weights"
        raise OptionError(f"the {kind}s have no attributes", file=str(source.directory), place=place, hint=hint)
    return width


def _to_matrix(values: np.ndarray, width: int) -> np.ndarray:
    return values.reshape(-1, width)


@dataclass(frozen=True, slots=True, eq=False)
class TypedEnds:
    """Makes homogeneous ends type-wise; records which (edge type, source type, destination type) occur."""

    starts: np.ndarray
    joined: set[tuple[int, int, int]] = field(default_factory=set)

    def to_rows(self, src: np.ndarray, dst: np.ndarray, etypes: np.ndarray) -> np.ndarray:
        """Return rows of type-wise sources and destinations."""
        ends, num_types = np.stack([src, dst], axis=1), self.starts.size - 1
        types = np.searchsorted(self.starts, ends, side="right") - 1
        codes = np.unique((etypes * num_types + types[:, 0]) * num_types + types[:, 1])
        shape = int(etypes.max(initial=0)) + 1, num_types, num_types
        self.joined.update(zip(*(numbers.tolist() for numbers in np.unravel_index(codes, shape)), strict=True))
        ends -= self.starts[types]
        return ends


class _Ranges(msgspec.Struct):
    nid: dict[str, tuple[int, int]]
    eid: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Names and counts of node types and edge types (canonical, or relations), in ID order."""

    path: str
    nodes: dict[str, int]
    edges: dict[str, int]

    @property
    def node_starts(self) -> np.ndarray:
        """First homogeneous ID of each node type, then the total."""
        return np.cumsum([0, *self.nodes.values()])

    @property
    def edge_starts(self) -> np.ndarray:
        """First homogeneous ID of each edge type, then the total."""
        return np.cumsum([0, *self.edges.values()])


def read_type_counts(path: Path) -> TypeCounts:
    """Read the schema file of DGL's tools before 1.0 (tools/convert_partition.py of DGL 0.6 to 0.8).

    ``{"nid": {ntype: [start, stop]}, "eid": {relation: [start, stop]}}`` are ranges of homogeneous IDs; starts give the
    order of type IDs.
    """
    if not path.is_file():
        hint = 'give the schema: {"nid": {ntype: [start, stop]}, "eid": ...}'
        raise InputFileNotFoundError("no such file", file=str(path), hint=hint)
    content, what = read_json_object(path, MetadataError), "invalid ranges of types"
    ranges = convert_json(content, _Ranges, MetadataError, what, file=str(path), expected="{type: [start, stop]}")
    nodes, edges = _counts(path, "nid", ranges.nid), _counts(path, "eid", ranges.eid)
    if not nodes:
        raise MetadataError("no node type", file=str(path), place="nid", expected="at least one")
    for key, names in (("nid", nodes), ("eid", edges)):
        for name in names:
            _check_name(str(path), key, name, nodes)
    return TypeCounts(str(path), nodes, edges)


def _counts(path: Path, key: str, ranges: dict[str, tuple[int, int]]) -> dict[str, int]:
    end, counts = 0, {}
    for name, (start, stop) in sorted(ranges.items(), key=lambda item: item[1]):
        if start != end or stop < start:
            what, place, expected = "the ranges do not follow each other", f"{key}.{name}", f"[{end}, {end} or more]"
            raise MetadataError(what, file=str(path), place=place, expected=expected, found=[start, stop])
        counts[name], end = stop - start, stop
    return counts


def _check_name(path: str, key: str, name: str, ntypes: dict[str, int]) -> None:
    ends = name.split(":") if key == "eid" else [name]
    place = f"{key}.{name}"
    if len(ends) not in (1, 3) or (len(ends) == 3 and not {ends[0], ends[2]} <= set(ntypes)):
        expected = f"a relation, or src:relation:dst with ends among {', '.join(ntypes)}"
        raise MetadataError("not an edge type", file=path, place=place, expected=expected)
    for word in ends:
        check_name(word, "name", file=path, place=place)


def join_types(counts: TypeCounts, joined: Iterable[tuple[int, int, int]], source: str) -> list[str]:
    """Name edge types canonically, by the (edge type, source type, destination type) of their edges."""
    ntypes, joined = list(counts.nodes), list(joined)
    etypes = []
    for number, edge_type in enumerate(counts.edges):
        src, _, dst = edge_type.split(":") if ":" in edge_type else ("", "", "")
        ends = [(ntypes[s], ntypes[d]) for e, s, d in joined if e == number]
        if not src and not ends and len(ntypes) == 1:
            ends = [(ntypes[0], ntypes[0])]
        if not src and not ends:
            raise MetadataError(
                f"cannot tell which node types relation {edge_type!r} joins, since it has no edges",
                file=counts.path,
                place=f"eid.{edge_type}",
                hint="name it src:relation:dst",
            )
        if len(ends) > 1 or (src and ends and ends != [(src, dst)]):
            raise InputFileError(
                f"edges of type {edge_type!r} join other node types",
                file=source,
                expected=f"{src} to {dst}" if src else "the same two for all",
                found=" and ".join(f"{s} to {d}" for s, d in ends[:3]),
            )
        relation = edge_type.split(":")[1] if src else edge_type
        etypes.append(f"{src or ends[0][0]}:{relation}:{dst or ends[0][1]}")
    return etypes
