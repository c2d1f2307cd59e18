"""Primitive encodings of DGL's binary containers; all integers are little-endian, nothing is aligned.

Sources: dmlc/dgl 2.1, src/runtime/ndarray.cc and include/dgl/runtime/ndarray.h (arrays), src/graph/serialize (graphs);
the same from 1.0 to 2.5.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import LayoutError

if TYPE_CHECKING:
    from daskgraphpart.layouts.file_layout import ArraySpec, LayoutBuilder

MAGIC_GRAPH_FILE = 0xDD2E4FF046B4A13F
MAGIC_TENSOR_FILE = 0xDD5A9FBE3FA2443F
MAGIC_ARRAY = 0xDD5E40F096B4A13F
MAGIC_HETEROGRAPH = 0xDD589FBE35224ABF
MAGIC_METAGRAPH = 0xDD3C5FFE20046ABF
MAGIC_RELATION = 0xDD2E60F0F6B4A127
MAGIC_COO = 0xDD61FFD305DFF127
MAGIC_CSR = 0xDD6CD31205DFF127

CPU = 1
BFLOAT16 = (4, 16)
_CODES = {"i": 0, "u": 1, "f": 2}
_DTYPES = {
    (code, 8 * np.dtype(name).itemsize): np.dtype(name).newbyteorder("<")
    for name in ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")
    for code in (_CODES[np.dtype(name).kind],)
}


def u64(value: int) -> bytes:
    """Eight bytes, unsigned."""
    return struct.pack("<Q", value)


def i64(*values: int) -> bytes:
    """Eight bytes each, signed."""
    return struct.pack(f"<{len(values)}q", *values)


def text(value: str) -> bytes:
    """Length and UTF-8 bytes."""
    encoded = value.encode()
    return u64(len(encoded)) + encoded


def dgl_dtype_code(dtype: np.dtype) -> tuple[int, int]:
    """Type code and bits of a dtype."""
    code = (_CODES.get(dtype.kind, -1), 8 * dtype.itemsize)
    if code not in _DTYPES:
        raise LayoutError(
            "DGL cannot load arrays of this dtype",
            expected=", ".join(sorted(str(known.name) for known in _DTYPES.values())),
            found=str(dtype),
        )
    return code


def dtype_of_code(code: int, bits: int) -> np.dtype | None:
    """Little-endian dtype of a type code, or None for those that are not ours."""
    return _DTYPES.get((code, bits))


def array_header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Header of an array: 40 bytes and 8 for each axis; the elements follow."""
    if not shape:
        raise LayoutError("DGL cannot load arrays without an axis", hint="give them the shape (1,)")
    code, bits = dgl_dtype_code(dtype)
    nbytes = dtype.itemsize * math.prod(shape)
    head = struct.pack("<QQiiiBBH", MAGIC_ARRAY, 0, CPU, 0, len(shape), code, bits, 1)
    return head + i64(*shape) + i64(nbytes)


def add_array(builder: LayoutBuilder, spec: ArraySpec) -> None:
    """Append the header of an array, and room for its elements."""
    builder.add(array_header(spec.dtype, spec.shape))
    builder.add_array(spec)


EMPTY_ARRAY = array_header(np.dtype("<i8"), (0,))
"""How an absent array is written: no elements, int64 even where the graph's IDs are int32."""
