"""`graph.dgl`: one homogeneous graph, as `dgl.save_graphs` writes and `load_graphs` reads it (container version 2).

The graph of a partition is homogeneous (`_N`, `_E`, int64) even where the input is not; types are arrays beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.layouts.dgl_edge_ends import EDGES_PER_PIECE, main_format, read_ends, read_pieces
from daskgraphpart.layouts.dgl_encoding import (
    EMPTY_ARRAY,
    MAGIC_COO,
    MAGIC_CSR,
    MAGIC_GRAPH_FILE,
    MAGIC_HETEROGRAPH,
    MAGIC_METAGRAPH,
    MAGIC_RELATION,
    add_array,
    array_header,
    i64,
    text,
    u64,
)
from daskgraphpart.layouts.dgl_file_reader import FileReader
from daskgraphpart.layouts.file_layout import ArraySpec, FileLayout, LayoutBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.storage.region import Region

VERSION, HETEROGRAPH = 2, 2
METADATA_NBYTES = 4096
FORMAT_BITS = {"coo": 1, "csr": 2, "csc": 4}
ALL_FORMATS = 7
BITMASK = 1 << 32  # set where formats are bits; the 0.9 series numbered them
OLD_FORMATS = {1: ("coo",), 2: ("csr",), 3: ("csc",)}
INT64 = np.dtype("<i8")


# ---------------------------------------------------------------------------------------------------------- writing


def graph_file_layout(
    num_nodes: int,
    num_edges: int,
    formats: Sequence[str],
    node_arrays: Sequence[ArraySpec],
    edge_arrays: Sequence[ArraySpec],
) -> FileLayout:
    """Lay out the file of one homogeneous graph in some of the formats ``"coo"``, ``"csr"``, ``"csc"``.

    It has the regions ``coo/row``, ``coo/col``, ``csr/indptr``, ``csr/indices``, ``csr/data`` (edge IDs), the same for
    ``csc``, ``node/<key>`` and ``edge/<key>``. Entry i of COO is edge i.
    """
    builder = LayoutBuilder()
    builder.add((u64(MAGIC_GRAPH_FILE) + u64(VERSION) + u64(HETEROGRAPH) + u64(1)).ljust(METADATA_NBYTES, b"\0"))
    builder.add(u64(METADATA_NBYTES + 16), u64(0))  # where the graph begins; no labels
    begin = builder.offset
    builder.add(u64(MAGIC_HETEROGRAPH), _metagraph(), u64(1), u64(MAGIC_RELATION))
    stored = sum(FORMAT_BITS[name] for name in formats)
    builder.add(i64(BITMASK | stored, BITMASK | ALL_FORMATS))
    for name in FORMAT_BITS:
        if name in formats:
            builder.add(_metagraph())
            (_add_coo if name == "coo" else _add_csr)(builder, name, num_nodes, num_edges)
    builder.add(u64(1), i64(num_nodes))
    for prefix, arrays in (("node", node_arrays), ("edge", edge_arrays)):
        builder.add(u64(1), u64(len(arrays)))
        for spec in arrays:
            builder.add(text(spec.key))
            add_array(builder, ArraySpec(f"{prefix}/{spec.key}", spec.dtype, spec.shape))
    builder.add(u64(1), text("_N"), u64(1), text("_E"))
    index = u64(1) + u64(begin)
    builder.add(u64(len(index)), index, u64(len(index)))
    return builder.finish()


def _add_coo(builder: LayoutBuilder, name: str, num_nodes: int, num_edges: int) -> None:
    builder.add(u64(MAGIC_COO), i64(num_nodes, num_nodes))
    add_array(builder, ArraySpec(f"{name}/row", INT64, (num_edges,)))
    add_array(builder, ArraySpec(f"{name}/col", INT64, (num_edges,)))
    # no edge IDs (readers ignore them), rows and columns are not claimed to be sorted
    builder.add(EMPTY_ARRAY, b"\0\0")


def _add_csr(builder: LayoutBuilder, name: str, num_nodes: int, num_edges: int) -> None:
    builder.add(u64(MAGIC_CSR), i64(num_nodes, num_nodes))
    add_array(builder, ArraySpec(f"{name}/indptr", INT64, (num_nodes + 1,)))
    add_array(builder, ArraySpec(f"{name}/indices", INT64, (num_edges,)))
    add_array(builder, ArraySpec(f"{name}/data", INT64, (num_edges,)))
    builder.add(b"\0")


def _metagraph() -> bytes:
    """One node type with one relation to itself, as a CSR."""
    arrays = [np.array([0, 1], INT64), np.array([0], INT64), np.array([0], INT64)]
    content = b"".join(array_header(array.dtype, array.shape) + array.tobytes() for array in arrays)
    return u64(MAGIC_METAGRAPH) + u64(MAGIC_CSR) + i64(1, 1) + content + b"\0"


# ---------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class GraphFile:
    """What a graph file holds; nothing but headers has been read.

    `formats` has ``row`` and ``col`` of ``coo``, and ``indptr``, ``indices`` and ``data`` (edge IDs) of ``csr`` and
    ``csc``. `claims` are what the file says is sorted, on which DGL relies: for ``coo`` the rows, and the columns of
    each row; for ``csr`` and ``csc`` the columns of each row. `may_make` are the formats that DGL may make, bits as in
    `FORMAT_BITS`.
    """

    num_nodes: int
    num_edges: int
    formats: Mapping[str, Mapping[str, Region]]
    node_arrays: Mapping[str, Region]
    edge_arrays: Mapping[str, Region]
    claims: Mapping[str, tuple[bool, ...]]
    may_make: int

    @property
    def main_format(self) -> str:
        """Format that edges are read from where nothing else is asked for: COO, else CSC, else CSR."""
        return main_format(self.formats)

    def edge_pieces(
        self, start: int = 0, stop: int | None = None, *, name: str | None = None, rows: int = EDGES_PER_PIECE
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Read the local edges ``[start, stop)`` piece by piece: local sources, local destinations, local edge IDs.

        They come in the order of the format `name`, by default `main_format`; of CSR and CSC all are looked through.
        """
        edges = (start, self.num_edges if stop is None else stop)
        return read_pieces(self.formats, name or self.main_format, edges, self.num_edges, rows)

    def ends(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Read the local sources and destinations of edges ``[start, stop)``, in the order of their IDs."""
        return read_ends(self.formats, self.num_nodes, self.num_edges, (start, stop))


def read_graph_file(path: AnyPath) -> GraphFile:
    """Read the headers of a file with one homogeneous graph, which we or DGL 0.9 to 2.x wrote."""
    with FileReader(path) as reader:
        reader.magic(MAGIC_GRAPH_FILE, "graph file")
        version, kind, num_graphs = reader.unpack("QQQ")
        if (version, kind, num_graphs) != (VERSION, HETEROGRAPH, 1):
            raise reader.fault(
                "not the graph of a partition",
                expected=f"version {VERSION}, type {HETEROGRAPH}, 1 graph",
                found=f"version {version}, type {kind}, {num_graphs} graphs",
                hint="write it again with a DGL of 0.9 or later",
            )
        reader.seek(METADATA_NBYTES)
        reader.seek(reader.u64())
        return _read_graph(reader)


def _read_graph(reader: FileReader) -> GraphFile:
    reader.magic(MAGIC_HETEROGRAPH, "graph")
    _read_metagraph(reader)
    _expect_one(reader, "relations")
    reader.magic(MAGIC_RELATION, "relation")
    stored = reader.i64()
    allowed = reader.i64()
    shapes: list[tuple[str, int, int]] = []
    claims: dict[str, tuple[bool, ...]] = {}
    formats = {name: _read_format(reader, name, shapes, claims) for name in _format_names(reader, stored)}
    _expect_one(reader, "node types")
    num_nodes = reader.i64()
    if num_nodes < 0:
        raise reader.fault("impossible number of nodes", found=f"{num_nodes:,}")
    num_edges = next((edges for _, _, edges in shapes), 0)
    for name, nodes, edges in shapes:
        if (nodes, edges) != (num_nodes, num_edges):
            raise reader.fault(
                f"{name} does not fit the graph",
                expected=f"{num_nodes:,} nodes and {num_edges:,} edges",
                found=f"{nodes:,} and {edges:,}",
            )
    _expect_one(reader, "node types with data")
    node_arrays = _read_data(reader, num_nodes, "node")
    _expect_one(reader, "edge types with data")
    edge_arrays = _read_data(reader, num_edges, "edge")
    for what in ("node type names", "edge type names"):
        _expect_one(reader, what)
        reader.text()
    index = reader.unpack("QQQQ")  # where the graph begins, which DGL seeks from the end of the file
    if (index[0], index[1], index[3]) != (16, 1, 16):
        raise reader.fault("the index at the end of the file is damaged", expected="that of 1 graph", found=index)
    may_make = allowed & ALL_FORMATS if allowed >> 32 else ALL_FORMATS
    return GraphFile(num_nodes, num_edges, formats, node_arrays, edge_arrays, claims, may_make)


def _format_names(reader: FileReader, stored: int) -> tuple[str, ...]:
    names = tuple(name for name, bit in FORMAT_BITS.items() if stored & bit)
    if not stored >> 32:
        names = OLD_FORMATS.get(stored, ())
    if not names:
        raise reader.fault("unknown formats of a graph", found=f"{stored:#x}")
    return names


def _read_format(
    reader: FileReader, name: str, shapes: list[tuple[str, int, int]], claims: dict[str, tuple[bool, ...]]
) -> dict[str, Region]:
    _read_metagraph(reader)
    reader.magic(MAGIC_COO if name == "coo" else MAGIC_CSR, f"{name.upper()} matrix")
    num_columns, num_rows = reader.i64(), reader.i64()
    first, second, edge_ids = reader.array(), reader.array(), reader.array()
    claims[name] = tuple(map(bool, reader.take(2 if name == "coo" else 1)))
    wrong_ids = {str(region.dtype) for region in (first, second)} - {"int64", "int32"}
    lengths = (second.shape, second.shape) if name == "coo" else ((num_rows + 1,), second.shape)
    fits = first.shape == lengths[0] and len(second.shape) == 1 and num_rows == num_columns >= 0
    if wrong_ids or not fits or first.dtype != second.dtype:
        raise reader.fault(
            f"{name.upper()} matrix of a homogeneous graph does not fit together",
            expected="integers, one axis, as many rows as columns",
            found=f"{num_rows:,} rows, {num_columns:,} columns, arrays {first.shape} and {second.shape}",
        )
    shapes.append((name, num_rows, second.num_rows))
    if name == "coo":
        if edge_ids.num_rows:
            raise reader.fault("COO matrix with edge IDs, which DGL ignores", found=f"{edge_ids.num_rows:,} IDs")
        return {"row": first, "col": second}
    if edge_ids.shape not in (second.shape, (0,)) or edge_ids.dtype.name not in ("int64", "int32"):
        expected, found = (f"{region.dtype} of shape {region.shape}" for region in (second, edge_ids))
        raise reader.fault("not the edge IDs of the matrix", expected=expected, found=found)
    return {"indptr": first, "indices": second, "data": edge_ids}


def _read_data(reader: FileReader, num_rows: int, what: str) -> dict[str, Region]:
    arrays = reader.named_arrays()
    for key, region in arrays.items():
        if not region.shape or region.num_rows != num_rows:
            raise reader.fault(
                f"{what} data {key!r} has the wrong length",
                expected=f"{num_rows:,} rows",
                found=f"shape {region.shape}",
            )
    return arrays


def _read_metagraph(reader: FileReader) -> None:
    reader.magic(MAGIC_METAGRAPH, "metagraph")
    reader.magic(MAGIC_CSR, "metagraph")
    reader.unpack("qq")
    for _ in range(3):
        reader.array()
    reader.take(1)


def _expect_one(reader: FileReader, what: str) -> None:
    found = reader.u64()
    if found != 1:
        raise reader.fault(
            f"not the graph of a partition, which has one of each: {what}", expected=1, found=f"{found:,}"
        )
