"""List the arrays of what a part owns, by new type-wise ID, for the layouts that have no local graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.file_layout import ArraySpec
from daskgraphpart.schema import LONGEST_NAME, GraphSchema, RowType

if TYPE_CHECKING:
    from daskgraphpart.layouts.layout import GraphSizes

INT64 = np.dtype("<i8")


def node_arrays(sizes: GraphSizes, part: int) -> dict[str, list[ArraySpec]]:
    """Arrays of the nodes of each type that a part owns: original IDs and features, of which bool stay bool."""
    counts = zip(sizes.schema.node_types, sizes.num_nodes[part].tolist(), strict=True)
    return {kind.name: _arrays(kind, ("orig_nids",), "node_data", count) for kind, count in counts}


def edge_arrays(sizes: GraphSizes, part: int) -> dict[str, list[ArraySpec]]:
    """Arrays of the edges of each type that a part owns: both ends, original IDs and features."""
    ids, counts = ("edge_src", "edge_dst", "orig_eids"), sizes.num_edges[part].tolist()
    types = zip(sizes.schema.edge_types, counts, strict=True)
    return {kind.name: _arrays(kind, ids, "edge_data", count) for kind, count in types}


def marked_arrays(sizes: GraphSizes, part: int) -> list[ArraySpec]:
    """New IDs of the nodes that each mask marks in a part."""
    return [ArraySpec(f"split_nids/{key}", INT64, (int(counts[part]),)) for key, counts in sizes.num_marked.items()]


def file_name(array: str) -> str:
    """Name an array or a canonical edge type in paths: some file systems and readers take no colons."""
    return array.replace(":", "__")


def check_file_names(schema: GraphSchema, layout: str) -> None:
    """Refuse names of types and features that cannot be those of directories and files, or are the same there."""
    seen: dict[str, str] = {}
    for kind in schema.row_types:
        name = file_name(kind.name)
        hint = "rename it, or write the layout dgl, which takes any name"
        if name in seen:
            found, expected = f"{seen[name]} and {kind.name}", f"one type for the directory {name}"
            raise OptionError(
                "two types of one name", place=f"layout {layout}", expected=expected, found=found, hint=hint
            )
        seen[name] = kind.name
        for text in (name, *(spec.name for spec in kind.data)):
            if text in (".", "..") or "{part}" in text or len(text.encode()) > LONGEST_NAME:
                raise OptionError(
                    "a name that cannot be that of a file",
                    place=f"layout {layout}",
                    expected=f"at most {LONGEST_NAME} bytes, and not '.', '..' or {{part}}",
                    found=text,
                    hint=hint,
                )


def refuse_bfloat16(schema: GraphSchema, layout: str, reason: str) -> None:
    """Refuse features of bfloat16 in a layout that has no place for them."""
    if found := schema.bfloat16_features:
        hint = "chunk --cast makes float16 of it; the layouts ranks and dgl hold bfloat16"
        raise OptionError(f"{reason} no bfloat16", place=f"layout {layout}", found=", ".join(found), hint=hint)


def _arrays(kind: RowType, ids: tuple[str, ...], data: str, count: int) -> list[ArraySpec]:
    return [ArraySpec(f"{name}/{kind.name}", INT64, (count,)) for name in ids] + [
        ArraySpec(f"{data}/{kind.name}/{spec.name}", spec.dtype.newbyteorder("<"), (count, *spec.row_shape))
        for spec in kind.data
    ]
