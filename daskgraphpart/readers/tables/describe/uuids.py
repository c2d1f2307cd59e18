"""UUIDs in columns of Arrow, its own type or 16 bytes each, as the text that people know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NBYTES, LENGTH = 16, 36
HYPHENS = (8, 13, 18, 23)
DIGITS = [place for place in range(LENGTH) if place not in HYPHENS]


def is_uuid(kind: Any) -> bool:
    """Whether a type holds UUIDs: Arrow's own, or 16 bytes."""
    name = getattr(kind, "extension_name", "")
    return name == "arrow.uuid" or (pa.types.is_fixed_size_binary(kind) and kind.byte_width == NBYTES)


def text_of_uuids(column: Any) -> Any:
    """Return UUIDs as text, such as ``00112233-4455-6677-8899-aabbccddeeff``."""
    stored = column.storage if isinstance(column, pa.ExtensionArray) else column
    missing = stored.is_null().to_numpy(zero_copy_only=False)
    filled = pc.fill_null(stored, pa.scalar(bytes(NBYTES), stored.type)) if missing.any() else stored
    stop = (filled.offset + len(filled)) * NBYTES
    raw = np.frombuffer(filled.buffers()[1] or b"", np.uint8)[filled.offset * NBYTES : stop]
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    text = np.full((len(filled), LENGTH), ord("-"), np.uint8)
    text[:, DIGITS] = digits[np.stack([raw >> 4, raw & 15], axis=1).reshape(len(filled), 2 * NBYTES)]
    return pa.array(text.view(f"S{LENGTH}").reshape(-1).astype(f"U{LENGTH}"), pa.string(), mask=missing)
