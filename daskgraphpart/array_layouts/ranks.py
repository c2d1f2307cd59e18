"""Arrays by rank: raw files of little-endian rows, to be mapped by numpy and torch, and one JSON that describes them.

Below ``ranks/``, the file ``<array>_part_<r>_of_<k>`` holds part r's rows of an array and nothing else; arrays are
named as in `layouts.layout`, with ``__`` for the colons of edge types. Row i over all ranks is new type-wise ID i, as
WholeGraph and cuGraph-PyG expect of files given by prefix (rapidsai/cugraph-gnn 26.08,
cpp/src/wholememory/file_io.cpp); but ``hot_...`` are of each rank alone. `ranks.json` is written last.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

import daskgraphpart.extension as ext

RANKS = "ranks"
VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class RanksLayout(ext.Layout):
    """Raw arrays by rank."""

    own_files = r".+_part_\d+_of_\d+"

    def check_fits(self, schema: ext.GraphSchema) -> None:
        ext.check_file_names(schema, RANKS)
        for kind in schema.row_types:
            for spec in kind.data:
                if len(spec.row_shape) > 1 or (spec.dtype == np.bool_ and not spec.is_mask):
                    raise ext.OptionError(
                        "the layout ranks cannot hold this feature",
                        place=f"layout {RANKS}",
                        expected="a number or vector per row, or a mask named like train_mask",
                        found=f"{kind.name}/{spec.name}, {spec.dtype.name} of shape {list(spec.row_shape)}",
                        hint="use the layout dgl or parquet, or make it "
                        + ("flat" if len(spec.row_shape) > 1 else "int8"),
                    )

    def wants(self, schema: ext.GraphSchema) -> Collection[str]:
        return *ext.split_names(schema), ext.HOT_ROWS

    def part_files(self, sizes: ext.GraphSizes, part: int) -> dict[str, ext.FileLayout]:
        suffix = f"_part_{{part}}_of_{sizes.num_parts}"
        return {
            f"{RANKS}/{ext.file_name(spec.key)}{suffix}": ext.raw_file_layout([spec])
            for spec in ext.all_arrays(sizes, part)
        }

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        return (ext.description_of(RANKS),)

    def describe(self, graph: ext.DispatchedGraph) -> dict[str, dict[str, Any]]:
        return ext.describe_layout(graph, RANKS, VERSION, {"arrays": ext.describe_arrays(graph.sizes)})
