"""Primitive encodings of DGL's binary containers: little-endian, unaligned.

Sources: dmlc/dgl 2.1, src/runtime/ndarray.cc and include/dgl/runtime/ndarray.h (arrays), src/graph/serialize (graphs);
unchanged from 1.0 to 2.5.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import LayoutError
from daskgraphpart.schema import BFLOAT16

if TYPE_CHECKING:
    from daskgraphpart.layouts.layout import ArraySpec, LayoutBuilder

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
