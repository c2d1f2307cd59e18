"""Arrays by rank: raw files of little-endian rows, to be mapped by numpy and torch, and one JSON that describes them.

Below ``ranks/``, the file ``<array>_part_<r>_of_<k>`` holds part r's rows of an array and nothing else; arrays are
named as in `layouts.layout`, with ``__`` for the colons of edge types. Row i over all ranks is new type-wise ID i, as
WholeGraph and cuGraph-PyG expect of files given by prefix (rapidsai/cugraph-gnn 26.08,
cpp/src/wholememory/file_io.cpp). `ranks.json` is written last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, Layout, raw_file_layout, split_names
from daskgraphpart.layouts.manifest import describe_layout
from daskgraphpart.layouts.part_arrays import check_file_names, edge_arrays, file_name, marked_arrays, node_arrays

if TYPE_CHECKING:
    from collections.abc import Collection

    from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
    from daskgraphpart.schema import GraphSchema

RANKS = "ranks"
VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class RanksLayout(Layout):
    """Raw arrays by rank."""

    own_files = r".+_part_\d+_of_\d+"

    def check_fits(self, schema: GraphSchema) -> None:
        """Refuse names that no file can have, and features that WholeGraph cannot hold."""
        check_file_names(schema, RANKS)
        for kind in schema.row_types:
            for spec in kind.data:
                if len(spec.row_shape) > 1 or (spec.dtype == np.bool_ and not spec.is_mask):
                    raise OptionError(
                        "the layout ranks cannot hold this feature",
                        place=f"layout {RANKS}",
                        expected="a number or vector per row, or a mask named like train_mask",
                        found=f"{kind.name}/{spec.name}, {spec.dtype.name} of shape {list(spec.row_shape)}",
                        hint="use the layout dgl or parquet, or make it "
                        + ("flat" if len(spec.row_shape) > 1 else "int8"),
                    )

    def wants(self, schema: GraphSchema) -> Collection[str]:
        """Lists of marked nodes."""
        return split_names(schema)

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Lay out one file for each array; see `Layout`."""
        suffix = f"_part_{{part}}_of_{sizes.num_parts}"
        return {f"{RANKS}/{file_name(spec.key)}{suffix}": raw_file_layout([spec]) for spec in _arrays(sizes, part)}

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Name the JSON file."""
        return (description_of(RANKS),)

    def describe(self, graph: DispatchedGraph) -> dict[str, dict[str, Any]]:
        """Content of the JSON file: files, dtype, row shape, and first row of each rank for each array."""
        ranks = [_arrays(graph.sizes, part) for part in range(graph.sizes.num_parts)]
        arrays = {}
        for of_array in zip(*ranks, strict=True):
            spec, rows = of_array[0], [of_rank.shape[0] for of_rank in of_array]
            arrays[spec.key] = {
                "prefix": file_name(spec.key),
                "dtype": spec.dtype.name,
                "row_shape": list(spec.shape[1:]),
                "offsets": np.cumsum([0, *rows]).tolist(),
            }
        return describe_layout(graph, RANKS, VERSION, {"arrays": arrays})


def _arrays(sizes: GraphSizes, part: int) -> list[ArraySpec]:
    of_types = (*node_arrays(sizes, part).values(), *edge_arrays(sizes, part).values())
    return [spec for of_type in of_types for spec in of_type] + marked_arrays(sizes, part)
