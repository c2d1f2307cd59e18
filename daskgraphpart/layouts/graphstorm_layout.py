"""GraphStorm's layout: what GSPartition leaves for training, in `dist_graph/` and `partition_assignment/`.

``dist_graph/part<i>/`` holds DGL's files, once: `dist_graph/metadata.json` names them to GraphStorm, and the config
above to DGL. `raw_id_mappings/<ntype>/*.parquet` (columns `orig` and `new`) brings results back to the user's IDs;
`data_transform_new.json` is there if the input has it. Text files in `partition_assignment/` have the part of each
node, one per line. As of GraphStorm 0.5: gpartition/dist_partition_graph.py writes it, and `load_dist_nid_map` of
model/utils.py takes anything in `dist_graph/` that begins with "part" for a part.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.dgl import DglArrangement
from daskgraphpart.layouts.graphstorm_files import graphstorm_files, hard_negatives
from daskgraphpart.layouts.known_outputs import ASSIGNMENT, ASSIGNMENT_META, DIST_GRAPH
from daskgraphpart.layouts.layout import ArraySpec, FileLayout, raw_file_layout
from daskgraphpart.layouts.part_arrays import check_file_names, refuse_bfloat16
from daskgraphpart.storage.atomic import json_bytes, whole_file
from daskgraphpart.storage.text import number_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.dgl import DglLayout
    from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

NAME = "graphstorm"
ROWS_PER_PIECE = 1 << 18


class GraphStormLayout(DglArrangement):
    """Formats and graphs as in `DglLayout`; beside them files of original IDs and transformations."""

    __slots__ = ()

    @classmethod
    def mapped_features(cls, graph: Graph) -> Iterable[str]:
        """Hard negatives of GSProcessing and construction configs."""
        return hard_negatives(graph)

    @classmethod
    def wrap(cls, layout: DglLayout, graph: Graph | None) -> Self:
        """Arrange a layout, with the files beside a graph."""
        return cls(layout=layout, companions={} if graph is None else graphstorm_files(graph))

    @property
    def dgl(self) -> DglLayout:
        """The files of parts, and DGL's config."""
        return replace(self.layout, parts=f"{DIST_GRAPH}/")

    @property
    def dist_graph(self) -> DglLayout:
        """GraphStorm's config."""
        return replace(self.layout, config_name="metadata.json", directory=f"{DIST_GRAPH}/")

    def check_fits(self, schema: GraphSchema) -> None:
        """Refuse type names and shapes that GraphStorm refuses."""
        check_file_names(schema, NAME)
        refuse_bfloat16(schema, NAME, "GraphStorm trains with DGL's servers, which hold")
        for kind in schema.row_types:
            for spec in kind.data:
                if len(spec.row_shape) > 1:
                    what, expected = "GraphStorm takes only scalars and vectors", "numbers or vectors"
                    feature = f"{kind.name}/{spec.name} of shape {list(spec.row_shape)}"
                    hint = "flatten its rows, or write the layout dgl"
                    raise OptionError(what, place=f"layout {NAME}", expected=expected, found=feature, hint=hint)

    def check_request(self, graph_name: str, num_parts: int | None) -> None:
        """Refuse graph names that GraphStorm refuses."""
        if graph_name.startswith("part") or not re.sub(r"^\d+", "", graph_name).replace("-", "_").isidentifier():
            raise OptionError(
                "GraphStorm cannot train on a graph of this name",
                place=f"layout {NAME}",
                expected="letters, digits, - and _, at least one letter, not beginning with 'part'",
                found=graph_name,
                hint="change graph_name in the metadata, or write the layout dgl",
            )

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Lay out the files of one part; see `Layout`."""
        return self.dgl.part_files(sizes, part)

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Lay out the owners of all nodes, and the files beside the parts."""
        owners = {
            f"{ASSIGNMENT}/{kind.name}.txt": raw_file_layout(
                [ArraySpec(f"node_owners/{kind.name}", np.dtype("<i4"), (kind.num_nodes,))], write_owners
            )
            for kind in schema.node_types
        }
        return {**owners, **self.companions}

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Name what GraphStorm reads, then DGL's manifest and config, by which partitions are found."""
        return ASSIGNMENT_META, *self.dist_graph.descriptions(graph_name), *self.dgl.descriptions(graph_name)

    def config(self, graph_name: str) -> str:
        """Name the config that GraphStorm's trainer is started with."""
        return self.dist_graph.config(graph_name)

    def describe(self, graph: DispatchedGraph) -> dict[str, bytes | Mapping[str, Any]]:
        """Content of the configs."""
        algorithm = "random" if graph.method == "random" else "metis"  # the names that GraphStorm and DGL know
        meta = {"algo_name": algorithm, "num_parts": graph.book.num_parts, "version": "1.0.0"}
        maps = graph.id_maps
        from_below = None if maps is None else replace(maps, directory=f"../{maps.directory}")
        below = self.dist_graph.describe(replace(graph, id_maps=from_below))
        return {**self.dgl.describe(graph), ASSIGNMENT_META: json_bytes(meta), **below}


def write_owners(arrays: Mapping[str, Region], path: str) -> None:
    """Write the owners of one type's nodes, one number per line."""
    (owners,) = arrays.values()
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for _, parts in owners.pieces(ROWS_PER_PIECE):
            file.write(number_lines(parts))
