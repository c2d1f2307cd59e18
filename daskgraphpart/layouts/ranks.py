"""Arrays by rank: raw files of little-endian rows that numpy and torch map, and one JSON that says what they hold.

Below ``ranks/`` the file ``<array>_part_<r>_of_<k>`` holds the rows of part r of an array, and nothing else; the name
of the array is as in `layouts.layout`, with ``__`` for the colons of edge types. Row i over all ranks is that of new
type-wise ID i, which is what WholeGraph and cuGraph-PyG expect of files that they are given by prefix
(rapidsai/cugraph-gnn 26.08, cpp/src/wholememory/file_io.cpp). `ranks.json` is written last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.layouts.file_layout import LayoutBuilder
from daskgraphpart.layouts.manifest import write_manifest
from daskgraphpart.layouts.owned_arrays import check_file_names, file_name, owned_arrays
from daskgraphpart.layouts.written_files import RANKS, description_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.layouts.file_layout import ArraySpec, FileLayout
    from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
    from daskgraphpart.schema import GraphSchema

VERSION = 1


@dataclass(frozen=True, slots=True)
class RanksLayout:
    """Raw arrays by rank."""

    def check_fits(self, schema: GraphSchema) -> None:
        """Refuse names that cannot be those of files."""
        check_file_names(schema, RANKS)

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Lay out one file for each array; see `Layout`."""
        suffix = f"_part_{{part}}_of_{sizes.num_parts}"
        return {f"{RANKS}/{file_name(spec.key)}{suffix}": _raw_file(spec) for spec in owned_arrays(sizes, part)}

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Lay out nothing for the whole graph."""
        return {}

    def descriptions(self, schema: GraphSchema) -> tuple[str, ...]:
        """Name the JSON file."""
        return (description_of(RANKS),)

    def finish(self, graph: DispatchedGraph) -> None:
        """Write the JSON file: of each array its files, dtype, shape of a row, and the first row of each rank."""
        ranks = [owned_arrays(graph.sizes, part) for part in range(graph.sizes.num_parts)]
        arrays = {}
        for of_array in zip(*ranks, strict=True):
            spec, rows = of_array[0], [of_rank.shape[0] for of_rank in of_array]
            arrays[spec.key] = {
                "prefix": file_name(spec.key),
                "dtype": spec.dtype.name,
                "row_shape": list(spec.shape[1:]),
                "offsets": np.cumsum([0, *rows]).tolist(),
            }
        content = {
            "layout": RANKS,
            "layout_version": VERSION,
            "graph_name": graph.schema.name,
            "num_ranks": graph.sizes.num_parts,
            "method": graph.method,
            "num_nodes": _totals(graph.schema.ntypes, graph.sizes.num_nodes),
            "num_edges": _totals(graph.schema.etypes, graph.sizes.num_edges),
            "arrays": arrays,
        }
        files = {name.removeprefix(f"{RANKS}/"): found for name, found in graph.checksums.items()}
        write_manifest(graph.out / description_of(RANKS), content, files)


def _raw_file(spec: ArraySpec) -> FileLayout:
    builder = LayoutBuilder()
    builder.add_array(spec)
    return builder.finish()


def _totals(names: tuple[str, ...], counts: np.ndarray) -> Mapping[str, int]:
    return dict(zip(names, counts.sum(axis=0).tolist(), strict=True))
