"""`graph.dgl`: one homogeneous graph, as `dgl.save_graphs` writes and `load_graphs` reads it (container version 2).

The graph of a partition is homogeneous (`_N`, `_E`, int64) even where the input is not; types are arrays beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
from daskgraphpart.layouts.file_layout import ArraySpec, FileLayout, LayoutBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.layouts.dgl_file_reader import FileReader
    from daskgraphpart.layouts.dgl_graph import GraphFile
    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.storage.region import Region

VERSION, HETEROGRAPH = 2, 2
METADATA_NBYTES = 4096
FORMAT_BITS = {"coo": 1, "csr": 2, "csc": 4}
MATRIX_ARRAYS = {name: ("row", "col") if name == "coo" else ("indptr", "indices", "data") for name in FORMAT_BITS}
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
    builder.add(u64(MAGIC_GRAPH_FILE, VERSION, HETEROGRAPH, 1).ljust(METADATA_NBYTES, b"\0"))
    builder.add(u64(METADATA_NBYTES + 16, 0))  # where the graph begins; no labels
    begin = builder.offset
    builder.add(u64(MAGIC_HETEROGRAPH), _metagraph(), u64(1, MAGIC_RELATION))
    stored = sum(FORMAT_BITS[name] for name in formats)
    builder.add(i64(BITMASK | stored, BITMASK | ALL_FORMATS))
    for name in FORMAT_BITS:
        if name in formats:
            _add_matrix(builder, name, num_nodes, num_edges)
    builder.add(u64(1), i64(num_nodes))
    for prefix, arrays in (("node", node_arrays), ("edge", edge_arrays)):
        builder.add(u64(1, len(arrays)))
        for spec in arrays:
            builder.add(text(spec.key))
            add_array(builder, ArraySpec(f"{prefix}/{spec.key}", spec.dtype, spec.shape))
    builder.add(u64(1), text("_N"), u64(1), text("_E"))
    builder.add(u64(16, 1, begin, 16))  # the index and, on both sides, its size
    return builder.finish()


def _add_matrix(builder: LayoutBuilder, name: str, num_nodes: int, num_edges: int) -> None:
    builder.add(_metagraph(), u64(MAGIC_COO if name == "coo" else MAGIC_CSR), i64(num_nodes, num_nodes))
    for key in MATRIX_ARRAYS[name]:
        add_array(builder, ArraySpec(f"{name}/{key}", INT64, (num_nodes + 1 if key == "indptr" else num_edges,)))
    # readers ignore edge IDs of COO; neither rows nor columns are claimed to be sorted
    builder.add(EMPTY_ARRAY + b"\0\0" if name == "coo" else b"\0")


def _metagraph() -> bytes:
    """One node type with one relation to itself, as a CSR."""
    arrays = [np.array([0, 1], INT64), np.array([0], INT64), np.array([0], INT64)]
    content = b"".join(array_header(array.dtype, array.shape) + array.tobytes() for array in arrays)
    return u64(MAGIC_METAGRAPH, MAGIC_CSR) + i64(1, 1) + content + b"\0"


# ---------------------------------------------------------------------------------------------------------- reading


def read_graph_file(path: AnyPath) -> GraphFile:
    """Read the headers of a file with one homogeneous graph, which we or DGL 0.9 to 2.x wrote."""
    from daskgraphpart.layouts.dgl_file_reader import open_container  # a job writes, and reads no such file

    with open_container(path) as reader:
        reader.magic(MAGIC_GRAPH_FILE, "graph file")
        version, kind, num_graphs = reader.unpack("<QQQ")
        if (version, kind, num_graphs) != (VERSION, HETEROGRAPH, 1):
            raise reader.fault(
                "not the graph of a partition",
                expected=f"version {VERSION}, type {HETEROGRAPH}, 1 graph",
                found=f"version {version}, type {kind}, {num_graphs} graphs",
                hint="write it again with a DGL of 0.9 or later",
            )
        reader.seek(METADATA_NBYTES)
        reader.seek(reader.number())
        return _read_graph(reader)


def _read_graph(reader: FileReader) -> GraphFile:
    from daskgraphpart.layouts.dgl_graph import GraphFile

    reader.magic(MAGIC_HETEROGRAPH, "graph")
    _read_metagraph(reader)
    reader.one("relations")
    reader.magic(MAGIC_RELATION, "relation")
    stored, allowed = reader.unpack("<qq")
    sizes, formats, claims = {}, {}, {}
    for name in _format_names(reader, stored):
        sizes[name], formats[name], claims[name] = _read_matrix(reader, name)
    reader.one("node types")
    num_nodes, num_edges = reader.number("<q"), next(iter(sizes.values()))[1]
    for name, size in sizes.items():
        if size != (num_nodes, num_edges):
            expected = f"(nodes, edges) as ({num_nodes:,}, {num_edges:,})"
            raise reader.fault(f"{name} does not fit the graph", expected=expected, found=size)
    node_arrays = _read_data(reader, num_nodes, "node")
    edge_arrays = _read_data(reader, num_edges, "edge")
    for what in ("node type names", "edge type names"):
        reader.one(what)
        reader.text()
    index = reader.unpack("<QQQQ")  # where the graph begins, which DGL seeks from the end of the file
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


def _read_matrix(reader: FileReader, name: str) -> tuple[tuple[int, int], dict[str, Region], tuple[bool, ...]]:
    """Numbers of nodes and edges, arrays, and what is claimed to be sorted."""
    is_coo = name == "coo"
    _read_metagraph(reader)
    reader.magic(MAGIC_COO if is_coo else MAGIC_CSR, f"{name.upper()} matrix")
    num_columns, num_rows = reader.unpack("<qq")
    arrays = first, second, eids = reader.array(), reader.array(), reader.array()
    claims = tuple(map(bool, reader.take(2 if is_coo else 1)))
    if (
        not 0 <= num_rows == num_columns
        or first.shape != (second.shape if is_coo else (num_rows + 1,))
        or len(second.shape) != 1
        or eids.shape not in ((0,), () if is_coo else second.shape)  # DGL ignores those of COO
        or first.dtype != second.dtype
        or {first.dtype.name, eids.dtype.name} - {"int64", "int32"}
    ):
        raise reader.fault(
            f"{name.upper()} matrix of a homogeneous graph does not fit together",
            expected="integers, one axis, as many rows as columns; edge IDs of all edges or, in COO, of none",
            found=[f"{num_rows:,} x {num_columns:,}", *(f"{array.dtype} of shape {array.shape}" for array in arrays)],
        )
    return (num_rows, second.num_rows), dict(zip(MATRIX_ARRAYS[name], arrays, strict=False)), claims


def _read_data(reader: FileReader, num_rows: int, what: str) -> dict[str, Region]:
    reader.one(f"{what} types with data")
    arrays = reader.named_arrays()
    for key, region in arrays.items():
        if region.num_rows != num_rows:
            expected, found = f"{num_rows:,} rows", f"shape {region.shape}"
            raise reader.fault(f"{what} data {key!r} has the wrong length", expected=expected, found=found)
    return arrays


def _read_metagraph(reader: FileReader) -> None:
    reader.magic(MAGIC_METAGRAPH, "metagraph")
    reader.magic(MAGIC_CSR, "metagraph")
    reader.unpack("<qq")
    for _ in range(3):
        reader.array()
    reader.take(1)
