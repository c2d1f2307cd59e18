"""`ExtendedLayout`: of a layout's files, those that gain arrays; and the layouts that partitions have."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.errors import LayoutError
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.layouts.graphstorm_layout import GraphStormLayout
from daskgraphpart.layouts.known_outputs import DIST_GRAPH, description_of
from daskgraphpart.layouts.layout import DispatchedGraph, FileLayout, GraphSizes, Layout
from daskgraphpart.layouts.manifest_reader import Manifest, read_manifest
from daskgraphpart.layouts.plugin_layouts import plugin_layouts
from daskgraphpart.registry import plugin_names
from daskgraphpart.storage.files import is_file

if TYPE_CHECKING:
    from daskgraphpart.partitioned.stored_partitions import StoredPartitions
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.checksums import FileChecksum


@dataclass(frozen=True, slots=True, eq=False)
class ExtendedLayout(Layout):
    """The files of a layout in which some of the named arrays lie; `written` are those that are there, by path."""

    layout: Layout
    arrays: frozenset[str]
    written: Mapping[str, FileChecksum]

    def check_fits(self, schema: GraphSchema) -> None:
        """Ask the layout."""
        self.layout.check_fits(schema)

    def wants(self, schema: GraphSchema) -> Collection[str]:
        """Ask the layout."""
        return self.layout.wants(schema)

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
        """Lay out the files that gain arrays."""
        files = self.layout.part_files(sizes, part).items()
        return {path: file for path, file in files if self.arrays & file.regions.keys()}

    def descriptions(self, graph_name: str) -> tuple[str, ...]:
        """Ask the layout."""
        return self.layout.descriptions(graph_name)

    def describe(self, graph: DispatchedGraph) -> Mapping[str, bytes | Mapping[str, Any]]:
        """Ask the layout."""
        return self.layout.describe(graph)

    def links(self) -> Mapping[str, str]:
        """Ask the layout."""
        return self.layout.links()

    def checksums(self, sizes: GraphSizes, made: Mapping[str, FileChecksum]) -> dict[str, FileChecksum]:
        """Checksums of all files but descriptions, in the order in which a dispatch lists them."""
        files = {**self.written, **made}
        of_parts = [
            path.replace("{part}", str(part))
            for part in range(sizes.num_parts)
            for path in self.layout.part_files(sizes, part)
        ]
        described = self.layout.descriptions(sizes.schema.name)
        order = [path for path in dict.fromkeys([*of_parts, *files]) if path in files and path not in described]
        return {path: files[path] for path in order}


def extended_layouts(
    parts: StoredPartitions, manifest: Manifest, sizes: GraphSizes, arrays: Collection[str]
) -> tuple[ExtendedLayout, ...]:
    """Return the layouts that partitions have, DGL's first; refuse those written with options that are not known."""
    out, first = parts.config.parent, parts.content.parts[0]
    named = {"dgl": first.part_graph, "graphbolt": first.part_graph_graphbolt}
    graphs = tuple(kind for kind, path in named.items() if path)
    formats = tuple(manifest.content.get("graph_formats", ()))
    dgl: Layout = DglLayout(formats, parts.config.name, graphs=graphs)
    if first.node_feats.startswith(f"{DIST_GRAPH}/"):
        dgl = GraphStormLayout.wrap(DglLayout(formats, graphs=graphs), None)
    names = [name for name in plugin_names("layouts") if is_file(out / description_of(name))]
    manifests = [manifest, *(read_manifest(out / description_of(name), name) for name in names)]
    options = {name: value for of in manifests for name, value in of.content.get("options", {}).items()}
    layouts = []
    for layout, of_layout in zip([dgl, *plugin_layouts(names, options)], manifests, strict=True):
        files = of_layout.files or {}
        unknown = [path for path in layout.part_files(sizes, 0) if path.replace("{part}", "0") not in files]
        if unknown:
            what, hint = "features cannot be added to this layout", "partition again, with the features"
            raise LayoutError(what, file=of_layout.path, expected=f"a file {unknown[0]}", hint=hint)
        layouts.append(ExtendedLayout(layout=layout, arrays=frozenset(arrays), written=files))
    return tuple(layouts)
