"""Lay out DGL's containers: `graph.dgl` and tensor files.

`graph.dgl` is one homogeneous graph, as `dgl.save_graphs` writes it (container version 2): `_N`, `_E`, int64, even if
the input is not; types are arrays beside it. Tensor files hold a part's features and original IDs as named arrays, as
in `dgl.data.utils.save_tensors`: magic, number of entries twice, then name, array header and elements of each.

Encodings are little-endian and unaligned. Sources: dmlc/dgl 2.1, src/runtime/ndarray.cc and
include/dgl/runtime/ndarray.h (arrays), src/graph/serialize (graphs); unchanged from 1.0 to 2.5.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, LayoutBuilder
from daskgraphpart.schema import BFLOAT16

MAGIC_GRAPH_FILE = 0xDD2E4FF046B4A13F
MAGIC_TENSOR_FILE = 0xDD5A9FBE3FA2443F
MAGIC_ARRAY = 0xDD5E40F096B4A13F
MAGIC_HETEROGRAPH = 0xDD589FBE35224ABF
MAGIC_METAGRAPH = 0xDD3C5FFE20046ABF
MAGIC_RELATION = 0xDD2E60F0F6B4A127
MAGIC_COO = 0xDD61FFD305DFF127
MAGIC_CSR = 0xDD6CD31205DFF127

ARRAY_HEADER = "<QiiiBBH"
"""Behind the magic: reserved, device and its number, axes, type code, bits, lanes; lengths and bytes follow."""
CPU = 1
DTYPES = {
    ("iuf".index(np.dtype(name).kind), 8 * np.dtype(name).itemsize): np.dtype(name).newbyteorder("<")
    for name in ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")
} | {(4, 16): BFLOAT16}
"""Dtypes by type code and bits."""
_CODES = {dtype: code for code, dtype in DTYPES.items()}


def u64(*values: int) -> bytes:
    """Unsigned, eight bytes each."""
    return struct.pack(f"<{len(values)}Q", *values)


def i64(*values: int) -> bytes:
    """Signed, eight bytes each."""
    return struct.pack(f"<{len(values)}q", *values)


def text(value: str) -> bytes:
    """Length and UTF-8 bytes."""
    encoded = value.encode()
    return u64(len(encoded)) + encoded


def array_header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Header of an array; the elements follow."""
    code = _CODES.get(dtype)
    if code is None or not shape:
        known = ", ".join(sorted(known.name for known in DTYPES.values()))
        raise LayoutError(
            "DGL cannot load such an array", expected=f"{known}; at least one axis", found=f"{dtype} of shape {shape}"
        )
    head = u64(MAGIC_ARRAY) + struct.pack(ARRAY_HEADER, 0, CPU, 0, len(shape), *code, 1)
    return head + i64(*shape, dtype.itemsize * math.prod(shape))


def add_array(builder: LayoutBuilder, spec: ArraySpec) -> None:
    """Append an array's header and room for its elements; DGL loads no empty bfloat16."""
    # in the header only: all parts share the dtype of rows
    is_loaded = spec.dtype != BFLOAT16 or 0 not in spec.shape
    builder.add(array_header(spec.dtype if is_loaded else np.dtype("<f4"), spec.shape))
    builder.add_array(spec)


EMPTY_ARRAY = array_header(np.dtype("<i8"), (0,))
"""How an absent array is written: no elements, int64 even where the graph's IDs are int32."""

VERSION, HETEROGRAPH = 2, 2
METADATA_NBYTES = 4096
FORMAT_BITS = {"coo": 1, "csr": 2, "csc": 4}
MATRIX_ARRAYS = {name: ("row", "col") if name == "coo" else ("indptr", "indices", "data") for name in FORMAT_BITS}
ALL_FORMATS = 7
BITMASK = 1 << 32  # formats are bits; DGL 0.9 numbered them
INT64 = np.dtype("<i8")


def graph_file_layout(
    num_nodes: int,
    num_edges: int,
    formats: Sequence[str],
    node_arrays: Sequence[ArraySpec],
    edge_arrays: Sequence[ArraySpec],
) -> FileLayout:
    """Lay out a file with one homogeneous graph in formats out of ``"coo"``, ``"csr"``, ``"csc"``.

    Regions: ``coo/row``, ``coo/col``, ``csr/indptr``, ``csr/indices``, ``csr/data`` (edge IDs), likewise ``csc``,
    ``node/<key>`` and ``edge/<key>``. Entry i of COO is edge i.
    """
    builder, stored = LayoutBuilder(), sum(FORMAT_BITS[name] for name in formats)
    builder.add(HEAD, i64(BITMASK | stored, BITMASK | ALL_FORMATS))
    for name in FORMAT_BITS:
        if name in formats:
            _add_matrix(builder, name, num_nodes, num_edges)
    builder.add(u64(1), i64(num_nodes))
    for prefix, arrays in (("node", node_arrays), ("edge", edge_arrays)):
        builder.add(u64(1, len(arrays)))
        for spec in arrays:
            builder.add(text(spec.key))
            add_array(builder, ArraySpec(f"{prefix}/{spec.key}", spec.dtype, spec.shape))
    builder.add(TAIL)
    return builder.finish()


def _add_matrix(builder: LayoutBuilder, name: str, num_nodes: int, num_edges: int) -> None:
    builder.add(METAGRAPH, u64(MAGIC_COO if name == "coo" else MAGIC_CSR), i64(num_nodes, num_nodes))
    for key in MATRIX_ARRAYS[name]:
        add_array(builder, ArraySpec(f"{name}/{key}", INT64, (num_nodes + 1 if key == "indptr" else num_edges,)))
    # readers ignore edge IDs of COO; we claim no order
    builder.add(EMPTY_ARRAY + b"\0\0" if name == "coo" else b"\0")


def _metagraph() -> bytes:
    """One node type with one relation to itself, as CSR."""
    arrays = [np.array([0, 1], INT64), np.array([0], INT64), np.array([0], INT64)]
    content = b"".join(array_header(array.dtype, array.shape) + array.tobytes() for array in arrays)
    return u64(MAGIC_METAGRAPH, MAGIC_CSR) + i64(1, 1) + content + b"\0"


METAGRAPH = _metagraph()
"""As every version of DGL writes it."""
HEAD = u64(MAGIC_GRAPH_FILE, VERSION, HETEROGRAPH, 1).ljust(METADATA_NBYTES, b"\0")
HEAD += u64(METADATA_NBYTES + 16, 0, MAGIC_HETEROGRAPH) + METAGRAPH + u64(1, MAGIC_RELATION)
"""Before the formats: metadata, where the graph begins, no labels, and its types."""
TAIL = u64(1) + text("_N") + u64(1) + text("_E") + u64(16, 1, METADATA_NBYTES + 16, 16)
"""Names of types, and the index, with its size on both sides."""


def tensor_file_layout(arrays: Sequence[ArraySpec], prefix: str = "") -> FileLayout:
    """Lay out a tensor file of these arrays, in order; region names get the prefix."""
    builder = LayoutBuilder()
    builder.add(u64(MAGIC_TENSOR_FILE, len(arrays), len(arrays)))
    for spec in arrays:
        builder.add(text(spec.key))
        add_array(builder, ArraySpec(prefix + spec.key, spec.dtype, spec.shape))
    return builder.finish()
