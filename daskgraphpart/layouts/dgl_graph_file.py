"""Lay out DGL's containers: `graph.dgl` and tensor files.

`graph.dgl` is one homogeneous graph, as `dgl.save_graphs` writes it (container version 2): `_N`, `_E`, int64, even if
the input is not; types are arrays beside it. Tensor files hold a part's features and original IDs as named arrays, as
in `dgl.data.utils.save_tensors`: magic, number of entries twice, then name, array header and elements of each.
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
    MAGIC_TENSOR_FILE,
    add_array,
    array_header,
    i64,
    text,
    u64,
)
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, LayoutBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    builder = LayoutBuilder()
    builder.add(u64(MAGIC_GRAPH_FILE, VERSION, HETEROGRAPH, 1).ljust(METADATA_NBYTES, b"\0"))
    builder.add(u64(METADATA_NBYTES + 16, 0))  # start of the graph; no labels
    begin = builder.offset
    builder.add(u64(MAGIC_HETEROGRAPH), METAGRAPH, u64(1, MAGIC_RELATION))
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
    builder.add(u64(16, 1, begin, 16))  # the index, and its size on both sides
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


def tensor_file_layout(arrays: Sequence[ArraySpec], prefix: str = "") -> FileLayout:
    """Lay out a tensor file of these arrays, in order; region names get the prefix."""
    builder = LayoutBuilder()
    builder.add(u64(MAGIC_TENSOR_FILE, len(arrays), len(arrays)))
    for spec in arrays:
        builder.add(text(spec.key))
        add_array(builder, ArraySpec(prefix + spec.key, spec.dtype, spec.shape))
    return builder.finish()
