"""GraphStorm's layout: what GSPartition leaves, in `dist_graph/` and `partition_assignment/`, and training reads.

``dist_graph/part<i>/`` holds the files of DGL, once: `dist_graph/metadata.json` names them to GraphStorm, and the
config above them to DGL. Beside them lie `raw_id_mappings/<ntype>/*.parquet` (columns `orig` and `new`), by which
results are brought back to the IDs of the user, and `data_transform_new.json`, if there is one. The text files of
`partition_assignment/` have the part of each node, one a line. As of GraphStorm 0.5, in whose source
gpartition/dist_partition_graph.py writes this, and `load_dist_nid_map` of model/utils.py takes whatever in
`dist_graph/` begins with "part" for a part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.errors import OptionError
from daskgraphpart.layouts.file_layout import ArraySpec, FileLayout, raw_file_layout
from daskgraphpart.layouts.owned_arrays import check_file_names, refuse_bfloat16
from daskgraphpart.layouts.written_files import ASSIGNMENT, ASSIGNMENT_META, DIST_GRAPH
from daskgraphpart.storage.atomic import whole_file, write_json
from daskgraphpart.storage.text import number_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from daskgraphpart.layouts.dgl import DglLayout
    from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region

NAME = "graphstorm"
ROWS_PER_PIECE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class GraphStormLayout:
    """Formats and graphs as in `DglLayout`, and the files of the input's IDs and transformations, by path."""

    layout: DglLayout
    beside: Mapping[str, FileLayout]

    @property
    def dgl(self) -> DglLayout:
        """The files of the parts, and the config that DGL reads."""
        return replace(self.layout, parts=f"{DIST_GRAPH}/")

    @property
    def dist_graph(self) -> DglLayout:
        """The config that GraphStorm reads."""
        return replace(self.layout, config_name="metadata.json", directory=f"{DIST_GRAPH}/")

    def check_fits(self, schema: GraphSchema, num_parts: int | None) -> None:
        """Refuse the names and shapes that GraphStorm refuses."""
        name, hint = schema.name, "or write the layout dgl"
        if name.startswith("part") or not re.sub(r"^\d+", "", name).replace("-", "_").isidentifier():
            what = "a graph of this name cannot be trained on by GraphStorm"
            expected = "letters, digits, - and _, one letter at least, and another beginning than 'part'"
            hint = f"change graph_name in the metadata, {hint}"
            raise OptionError(what, place=f"layout {NAME}", expected=expected, found=name, hint=hint)
        check_file_names(schema, NAME)
        refuse_bfloat16(schema, NAME, "GraphStorm trains by DGL's servers, which hold")
        for kind in schema.row_types:
            for spec in kind.data:
                if len(spec.row_shape) > 1:
                    what, expected = "GraphStorm takes no rows of several dimensions", "numbers or vectors"
                    found = f"{kind.name}/{spec.name} of shape {list(spec.row_shape)}"
                    hint = f"flatten its rows, {hint}"
                    raise OptionError(what, place=f"layout {NAME}", expected=expected, found=found, hint=hint)

    def wants(self, schema: GraphSchema) -> Collection[str]:
        """What the files of DGL have room for."""
        return self.layout.wants(schema)

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Lay out the files of one part; see `Layout`."""
        return self.dgl.part_files(sizes, part)

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Lay out the parts of all nodes, and the files beside the parts."""
        owners = {
            f"{ASSIGNMENT}/{kind.name}.txt": raw_file_layout(
                [ArraySpec(f"node_owners/{kind.name}", np.dtype("<i4"), (kind.num_nodes,))], write_owners
            )
            for kind in schema.node_types
        }
        return {**owners, **self.beside}

    def descriptions(self, schema: GraphSchema) -> tuple[str, ...]:
        """Name the manifest and the config of DGL, then what GraphStorm reads."""
        return *self.dgl.descriptions(schema), ASSIGNMENT_META, *self.dist_graph.descriptions(schema)

    def finish(self, graph: DispatchedGraph) -> None:
        """Write the configs, that of GraphStorm last."""
        self.dgl.finish(graph)
        algorithm = "random" if graph.method == "random" else "metis"  # GraphStorm and DGL know these names
        meta = {"algo_name": algorithm, "num_parts": graph.book.num_parts, "version": "1.0.0"}
        write_json(graph.out / ASSIGNMENT_META, meta)
        maps = graph.id_maps
        from_below = None if maps is None else replace(maps, directory=f"../{maps.directory}")
        self.dist_graph.finish(replace(graph, id_maps=from_below))


def write_owners(arrays: Mapping[str, Region], path: str) -> None:
    """Write the parts of the nodes of one type, one number a line."""
    (owners,) = arrays.values()
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        for start in range(0, owners.num_rows, ROWS_PER_PIECE):
            file.write(number_lines(owners.read(start, min(start + ROWS_PER_PIECE, owners.num_rows))))
