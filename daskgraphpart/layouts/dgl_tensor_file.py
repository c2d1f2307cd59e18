"""Tensor files: named arrays, as in `dgl.data.utils.save_tensors` and `load_tensors`.

They hold a part's features and original IDs: magic, number of entries twice, then name, array header and elements of
each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.layouts.dgl_encoding import MAGIC_TENSOR_FILE, add_array, text, u64
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, LayoutBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.storage.region import Region


def tensor_file_layout(arrays: Sequence[ArraySpec], prefix: str = "") -> FileLayout:
    """Lay out a tensor file of these arrays, in order; region names get the prefix."""
    builder = LayoutBuilder()
    builder.add(u64(MAGIC_TENSOR_FILE, len(arrays), len(arrays)))
    for spec in arrays:
        builder.add(text(spec.key))
        add_array(builder, ArraySpec(prefix + spec.key, spec.dtype, spec.shape))
    return builder.finish()


def read_tensor_file(path: AnyPath) -> dict[str, Region]:
    """Read the headers of a tensor file: the place of each array's elements."""
    from daskgraphpart.layouts.dgl_file_reader import open_container

    with open_container(path) as reader:
        reader.magic(MAGIC_TENSOR_FILE, "tensor file")
        reader.number()  # DGL's reader also ignores the first count
        return reader.named_arrays()
