"""List the arrays of what a part owns, by new type-wise ID, for the layouts that have no local graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.file_layout import ArraySpec
from daskgraphpart.schema import LONGEST_NAME

if TYPE_CHECKING:
    from daskgraphpart.layouts.layout import GraphSizes
    from daskgraphpart.schema import DataSpec, GraphSchema

INT64 = np.dtype("<i8")


def owned_arrays(sizes: GraphSizes, part: int) -> list[ArraySpec]:
    """Arrays of one part: original IDs, features and marked nodes, and the ends of edges; bool stays bool."""
    schema, arrays = sizes.schema, []
    for node_type, count in zip(schema.node_types, sizes.num_nodes[part].tolist(), strict=True):
        arrays.append(ArraySpec(f"orig_nids/{node_type.name}", INT64, (count,)))
        arrays += [_rows(f"node_data/{node_type.name}", spec, count) for spec in node_type.data]
    for edge_type, count in zip(schema.edge_types, sizes.num_edges[part].tolist(), strict=True):
        ids = ("edge_src", "edge_dst", "orig_eids")
        arrays += [ArraySpec(f"{name}/{edge_type.name}", INT64, (count,)) for name in ids]
        arrays += [_rows(f"edge_data/{edge_type.name}", spec, count) for spec in edge_type.data]
    marked = sizes.num_marked.items()
    return arrays + [ArraySpec(f"split_nids/{key}", INT64, (int(counts[part]),)) for key, counts in marked]


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


def _rows(prefix: str, spec: DataSpec, count: int) -> ArraySpec:
    return ArraySpec(f"{prefix}/{spec.name}", spec.dtype.newbyteorder("<"), (count, *spec.row_shape))
