"""DGL's layout: the files for `dgl.distributed.load_partition`, and those that `dispatch_data.py` leaves beside them.

Each ``part<i>/`` holds `graph.dgl`, `node_feat.dgl`, `edge_feat.dgl`, `orig_nids.dgl`, `orig_eids.dgl` and, with masks,
`split_nids.dgl`; above them lie the manifest and, written last, the partition config. If IDs are kept, there are also
`node_map.npy` and `edge_map.npy`, int64, as in DGL 0.9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.layouts import known_outputs as names
from daskgraphpart.layouts.dgl_config import PartitionConfig, PartPaths, config_bytes
from daskgraphpart.layouts.dgl_graph_file import graph_file_layout, tensor_file_layout
from daskgraphpart.layouts.layout import (
    WITH_EIDS,
    ArraySpec,
    DispatchedGraph,
    FileLayout,
    GraphBoltAttributes,
    GraphSizes,
    Layout,
    npy_file_layout,
    split_names,
)
from daskgraphpart.layouts.manifest import ADDED, SUFFIX, stated_data

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema, RowType

INT64, INT32, UINT8 = np.dtype("<i8"), np.dtype("<i4"), np.dtype(np.uint8)
_ARRAY_NAMES = {
    "node/_ID": "nodes/id",
    "node/inner_node": "nodes/inner",
    "node/_TYPE": "nodes/type",
    "edge/_ID": "edges/id",
    "edge/inner_edge": "edges/inner",
    "edge/_TYPE": "edges/type",
    "csr/data": "csr/eids",
    "csc/data": "csc/eids",
}


@dataclass(frozen=True, slots=True, eq=False)
class DglLayout(Layout):
    """Formats of `graph.dgl`, name of the config (None for ``<graph>.json``), whether IDs are new, and graphs.

    Graphs are ``"dgl"`` and ``"graphbolt"``, whose file replaces `graph.dgl` or lies beside it (DGL 2.5 refuses both
    together); `graphbolt` says what it holds. `directory` is for the config and `parts` for the parts below it; both
    are empty or end in a slash.
    """

    graph_formats: tuple[str, ...] = ("coo",)
    config_name: str | None = None
    reshuffle: bool = True
    graphs: tuple[str, ...] = ("dgl",)
    graphbolt: GraphBoltAttributes = WITH_EIDS
    directory: str = ""
    parts: str = ""

    def wants(self, schema: GraphSchema) -> Collection[str]:
        owners = () if self.reshuffle else tuple(f"edge_owners/{name}" for name in schema.etypes)
        return *split_names(schema), *owners

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        schema, nodes, edges = sizes.schema, sizes.num_nodes[part].tolist(), sizes.num_edges[part].tolist()
        marked = {key: int(counts[part]) for key, counts in sizes.num_marked.items()}
        files = {
            **({names.GRAPH: self._graph(sizes, part)} if "dgl" in self.graphs else {}),
            **self._graphbolt(sizes, part),
            names.NODE_FEAT: tensor_file_layout(_features(schema.node_types, nodes), "node_data/"),
            names.EDGE_FEAT: tensor_file_layout(_features(schema.edge_types, edges), "edge_data/"),
            names.ORIG_NIDS: tensor_file_layout(_ids(zip(schema.ntypes, nodes, strict=True)), "orig_nids/"),
            names.ORIG_EIDS: tensor_file_layout(_ids(zip(schema.etypes, edges, strict=True)), "orig_eids/"),
            **({names.SPLIT_NIDS: tensor_file_layout(_ids(marked.items()), "split_nids/")} if marked else {}),
        }
        return {f"{self.directory}{self.parts}part{{part}}/{name}": layout for name, layout in files.items()}

    def graph_files(self, schema: GraphSchema) -> dict[str, FileLayout]:
        """Lay out the maps of owners, if IDs are kept."""
        if self.reshuffle:
            return {**self.companions}
        owned = (
            (names.NODE_MAP, "node_owners", schema.node_types[0]),
            (names.EDGE_MAP, "edge_owners", schema.edge_types[0]),
        )
        maps = {
            file: npy_file_layout(ArraySpec(f"{array}/{kind.name}", INT64, (kind.num_rows,)))
            for file, array, kind in owned
        }
        return {**maps, **self.companions}

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        return tuple(self.directory + name for name in (graph_name + SUFFIX, self.config_name or f"{graph_name}.json"))

    def describe(self, graph: DispatchedGraph) -> dict[str, bytes | Mapping[str, Any]]:
        schema, directory = graph.schema, graph.out
        manifest, path = self.descriptions(schema.name)
        config = PartitionConfig(
            graph_name=schema.name,
            # DGL's tools know two names; the manifest has ours
            part_method="random" if graph.method == "random" else "metis",
            halo_hops=graph.num_hops,
            book=graph.book,
            parts=tuple(
                PartPaths(
                    f"{self.parts}part{part}/{names.NODE_FEAT}",
                    f"{self.parts}part{part}/{names.EDGE_FEAT}",
                    f"{self.parts}part{part}/{names.GRAPH}" if "dgl" in self.graphs else "",
                    f"{self.parts}part{part}/{names.GRAPHBOLT}" if "graphbolt" in self.graphs else "",
                )
                for part in range(graph.book.num_parts)
            ),
            id_maps=None if graph.reshuffle else (f"{directory}/{names.NODE_MAP}", f"{directory}/{names.EDGE_MAP}"),
        )
        return {manifest: self._manifest(graph), path: config_bytes(config)}

    def _graphbolt(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        if "graphbolt" not in self.graphs:
            return {}
        from daskgraphpart.layouts.graphbolt import graphbolt_layout  # for few jobs

        return {names.GRAPHBOLT: graphbolt_layout(sizes, part, self.graphbolt)}

    def _graph(self, sizes: GraphSizes, part: int) -> FileLayout:
        """Lay out `graph.dgl`; types are int32, as DGL writes them for nodes and edges."""
        num_nodes, num_edges = sizes.num_local_nodes(part), sizes.num_local_edges(part)
        arrays = []
        for count, inner in ((num_nodes, "inner_node"), (num_edges, "inner_edge")):
            specs = [ArraySpec("_ID", INT64, (count,)), ArraySpec(inner, UINT8, (count,))]
            if sizes.schema.is_heterogeneous:
                specs.append(ArraySpec("_TYPE", INT32, (count,)))
            arrays.append(specs)
        layout = graph_file_layout(num_nodes, num_edges, self.graph_formats, *arrays)
        return replace(layout, regions={_ARRAY_NAMES.get(name, name): at for name, at in layout.regions.items()})

    def _manifest(self, graph: DispatchedGraph) -> dict[str, Any]:
        """What DGL's config has no place for: original dtypes, our method name, options, quality."""
        return {
            "graph_name": graph.schema.name,
            "num_parts": graph.book.num_parts,
            "method": graph.method,
            "num_hops": graph.num_hops,
            "graph_formats": sorted(self.graph_formats),
            "out_edges": graph.out_edges,
            **({} if graph.reshuffle else {"reshuffle": False}),
            **({} if graph.id_maps is None else graph.id_maps.content),
            **({"mapped_features": dict(graph.mapped_features)} if graph.mapped_features else {}),
            **({"training": dict(graph.training)} if graph.training else {}),
            **({"constraints": list(graph.constraints)} if graph.constraints else {}),
            **({ADDED: list(graph.added)} if graph.added else {}),
            "node_data": stated_data(graph.schema.node_types),
            "edge_data": stated_data(graph.schema.edge_types),
            "num_cut_edges": graph.quality.num_cut_edges,
            "num_halo_nodes": list(graph.quality.num_halo_nodes),
        }


def _features(types: Sequence[RowType], counts: Sequence[int]) -> list[ArraySpec]:
    return [
        ArraySpec(f"{kind.name}/{spec.name}", spec.stored_dtype, (count, *spec.row_shape))
        for kind, count in zip(types, counts, strict=True)
        for spec in kind.data
    ]


def _ids(counts: Iterable[tuple[str, int]]) -> list[ArraySpec]:
    return [ArraySpec(name, INT64, (count,)) for name, count in counts]
