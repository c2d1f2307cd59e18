"""Tensor files: named arrays, as `dgl.data.utils.save_tensors` writes and `load_tensors` reads them.

Features and original IDs of a part are kept in such files. Layout: magic, number of entries twice, then for each its
name, array header and elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.layouts.dgl_encoding import MAGIC_TENSOR_FILE, add_array, text, u64
from daskgraphpart.layouts.file_layout import ArraySpec, FileLayout, LayoutBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.storage.paths import AnyPath
    from daskgraphpart.storage.region import Region


def tensor_file_layout(arrays: Sequence[ArraySpec], prefix: str = "") -> FileLayout:
    """Lay out a tensor file with these arrays, in this order; names of regions have a prefix."""
    builder = LayoutBuilder()
    builder.add(u64(MAGIC_TENSOR_FILE, len(arrays), len(arrays)))
    for spec in arrays:
        builder.add(text(spec.key))
        add_array(builder, ArraySpec(prefix + spec.key, spec.dtype, spec.shape))
    return builder.finish()


def read_tensor_file(path: AnyPath) -> dict[str, Region]:
    """Read the headers of a tensor file: where the elements of each array are."""
    from daskgraphpart.layouts.dgl_file_reader import open_container

    with open_container(path) as reader:
        reader.magic(MAGIC_TENSOR_FILE, "tensor file")
        reader.number()  # DGL's reader ignores the first count as well
        return reader.named_arrays()
