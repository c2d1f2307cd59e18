"""List the arrays that a part owns, by new type-wise ID, for layouts without local graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.layout import ArraySpec, GraphSizes
from daskgraphpart.schema import LONGEST_NAME, GraphSchema, RowType, is_fetched

INT64, FLOAT64 = np.dtype("<i8"), np.dtype("<f8")


def node_arrays(sizes: GraphSizes, part: int) -> dict[str, list[ArraySpec]]:
    """Arrays of a part's nodes by type: original IDs and features; bool stays bool."""
    counts = zip(sizes.schema.node_types, sizes.num_nodes[part].tolist(), strict=True)
    return {kind.name: _arrays(kind, ("orig_nids",), "node_data", count) for kind, count in counts}


def edge_arrays(sizes: GraphSizes, part: int) -> dict[str, list[ArraySpec]]:
    """Arrays of a part's edges by type: both ends, original IDs and features."""
    ids, counts = ("edge_src", "edge_dst", "orig_eids"), sizes.num_edges[part].tolist()
    types = zip(sizes.schema.edge_types, counts, strict=True)
    return {kind.name: _arrays(kind, ids, "edge_data", count) for kind, count in types}


def marked_arrays(sizes: GraphSizes, part: int) -> list[ArraySpec]:
    """New IDs of a part's nodes that each mask marks."""
    return [ArraySpec(f"split_nids/{key}", INT64, (int(counts[part]),)) for key, counts in sizes.num_marked.items()]


def all_arrays(sizes: GraphSizes, part: int) -> list[ArraySpec]:
    """Arrays of a part's nodes and edges, hot rows, and the nodes that masks mark."""
    by_type = node_arrays(sizes, part), edge_arrays(sizes, part), hot_arrays(sizes, part)
    of_types = [arrays for of in by_type for arrays in of.values()]
    return [spec for of_type in of_types for spec in of_type] + marked_arrays(sizes, part)


def describe_arrays(sizes: GraphSizes) -> dict[str, dict[str, Any]]:
    """Prefix of the files, dtype, row shape, and first row of each part, of each array in files of its own."""
    arrays = {}
    for of_array in zip(*(all_arrays(sizes, part) for part in range(sizes.num_parts)), strict=True):
        spec, rows = of_array[0], [of_part.shape[0] for of_part in of_array]
        arrays[spec.key] = {
            "prefix": file_name(spec.key),
            "dtype": spec.dtype.name,
            "row_shape": list(spec.shape[1:]),
            "offsets": np.cumsum([0, *rows]).tolist(),
        }
    return arrays


def hot_arrays(sizes: GraphSizes, part: int) -> dict[str, list[ArraySpec]]:
    """Arrays of the hot rows beside a part, by node type; none if none are kept."""
    if sizes.num_hot is None:
        return {}
    by_type = {}
    for kind, count in zip(sizes.schema.node_types, sizes.num_hot[part].tolist(), strict=True):
        fetched = replace(kind, data=tuple(spec for spec in kind.data if is_fetched(spec.name)))
        ids, *rows = _arrays(fetched, ("hot_nids",), "hot_data", count)
        by_type[kind.name] = [ids, ArraySpec(f"hot_fetches/{kind.name}", FLOAT64, (count,)), *rows]
    return by_type


def file_name(array: str) -> str:
    """Name an array or edge type in paths: some file systems and readers take no colons."""
    return array.replace(":", "__")


def check_file_names(schema: GraphSchema, layout: str) -> None:
    """Refuse names of types and features that cannot be file names, or collide."""
    seen: dict[str, str] = {}
    for kind in schema.row_types:
        name = file_name(kind.name)
        hint = "rename it, or use the layout dgl, which takes any name"
        if name in seen:
            both, expected = f"{seen[name]} and {kind.name}", f"one type for the directory {name}"
            raise OptionError(
                "two types share a directory name", place=f"layout {layout}", expected=expected, found=both, hint=hint
            )
        seen[name] = kind.name
        for text in (name, *(spec.name for spec in kind.data)):
            if text in (".", "..") or "{part}" in text or len(text.encode()) > LONGEST_NAME:
                raise OptionError(
                    "this name cannot be a file name",
                    place=f"layout {layout}",
                    expected=f"at most {LONGEST_NAME} bytes, and not '.', '..' or {{part}}",
                    found=text,
                    hint=hint,
                )


def refuse_bfloat16(schema: GraphSchema, layout: str, reason: str) -> None:
    """Refuse bfloat16 features in a layout that cannot hold them."""
    if features := schema.bfloat16_features:
        hint = "convert it by build --cast FEATURE=float16, or use the layouts ranks or dgl"
        raise OptionError(f"{reason} no bfloat16", place=f"layout {layout}", found=", ".join(features), hint=hint)


def _arrays(kind: RowType, ids: tuple[str, ...], data: str, count: int) -> list[ArraySpec]:
    return [ArraySpec(f"{name}/{kind.name}", INT64, (count,)) for name in ids] + [
        ArraySpec(f"{data}/{kind.name}/{spec.name}", spec.dtype.newbyteorder("<"), (count, *spec.row_shape))
        for spec in kind.data
    ]
