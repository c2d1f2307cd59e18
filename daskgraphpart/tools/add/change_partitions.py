"""Take finished partitions for one run that changes them, here or in a store, and replace their files in the end.

`ExtendedLayout` is of a layout's files those that gain arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.dispatching.delivery.export import export
from daskgraphpart.dispatching.delivery.to_store import StoreDestination
from daskgraphpart.dispatching.finish import describe_layout, encode_files, publish_files
from daskgraphpart.dispatching.output_directory import OWN_PREFIX, discard_output, discard_unfinished
from daskgraphpart.errors import LayoutError
from daskgraphpart.graph.companion_files import copy_file
from daskgraphpart.graph.metadata import METADATA_FILE
from daskgraphpart.jobs.jobs import OutputDirectory
from daskgraphpart.layouts.dgl import DglLayout
from daskgraphpart.layouts.graphstorm_layout import GraphStormLayout
from daskgraphpart.layouts.known_outputs import DIST_GRAPH, ID_MAP, description_of
from daskgraphpart.layouts.layout import DispatchedGraph, FileLayout, GraphSizes, Layout
from daskgraphpart.layouts.manifest_reader import Manifest, read_manifest
from daskgraphpart.layouts.plugin_layouts import plugin_layouts
from daskgraphpart.registry import plugin_names
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.storage.checksums import FileChecksum, hash_file
from daskgraphpart.storage.files import is_file, make_directory
from daskgraphpart.storage.paths import Location, is_remote, to_key
from daskgraphpart.tools.reorder.row_files import recorded_maps

if TYPE_CHECKING:
    from daskgraphpart.dispatching.destination import Destination, OutputFile
    from daskgraphpart.dispatching.job import Job
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph
    from daskgraphpart.schema import GraphSchema


def maps_here(parts: PartitionedGraph, resources: Resources) -> tuple[Location, Location]:
    """Return what `ids_from` takes, and the directory of ID maps; for partitions in a store, copies in the workspace.

    They stay until the run has ended, because files with other times would be other input.
    """
    config, recorded = parts.config, recorded_maps(parts.config, parts.name, confined=parts.is_confined)
    assert recorded is not None, "some are recorded"
    if not is_remote(config):
        return config, recorded[0]
    if str(recorded[0]) != str(config.parent / ID_MAP):
        what = "the ID maps are not beside these partitions"
        hint = "add features to a local copy of graph and partitions"
        raise LayoutError(what, file=str(config), expected=ID_MAP, found=str(recorded[0]), hint=hint)
    here = StoreDestination(config.parent).local_directory(resources.workspace) / f"{OWN_PREFIX}described"
    make_directory(here / ID_MAP)
    write_bytes(here / METADATA_FILE, b"{}")  # by which `ids_from` knows a graph
    for ntype, checksum in recorded[1].items():
        target = here / ID_MAP / f"{ntype}.parquet"
        if not target.exists() or hash_file(str(target)).digest != checksum:
            copy_file(to_key(recorded[0] / target.name), None, str(target))
    return here, here / ID_MAP


@contextmanager
def taken_partitions(place: Location, resources: Resources) -> Iterator[tuple[OutputDirectory, Destination | None]]:
    """Take the directory of partitions; files for one in a store are made in the workspace."""
    if not is_remote(place):
        here = Path(place).absolute()
        forget = partial(discard_unfinished, here)
        yield OutputDirectory(here, resources.workspace, lambda _: forget(), forget), None
        return
    store = StoreDestination(place)
    out = store.local_directory(resources.workspace)

    def discard() -> None:
        discard_unfinished(out)
        discard_output(out)

    store.check_place(resources.cluster)
    with store.claimed() as (destination, claimed):
        yield OutputDirectory(out, None, lambda _: discard(), discard, "workspace", claimed), destination


def clean_workspace(place: Location, resources: Resources) -> None:
    """Remove what was made in the workspace for partitions in a store, unless the run can resume."""
    if is_remote(place) and resources.workspace is not None:
        store = StoreDestination(place)
        store.clean(store.local_directory(resources.workspace))


def check_links(layouts: Sequence[Layout], place: Location) -> None:
    """Refuse layouts whose files are links: a store has copies, which would not change."""
    if is_remote(place) and any(layout.links() for layout in layouts):
        what, hint = "files of a layout are links, of which a store has copies", "partition again, with the features"
        raise LayoutError(what, file=str(place), hint=hint)


def replace_files(
    job: Job,
    files: Mapping[Layout, list[OutputFile]],
    destination: Destination | None,
    described: Callable[[Layout, Mapping[str, FileChecksum]], DispatchedGraph],
) -> None:
    """Complete the files of all layouts, give them their names or send them, and describe them, the config last."""
    flat = [file for of_layout in files.values() for file in of_layout]
    encode_files(job, flat)
    made = publish_files(job, flat) if destination is None else export(job.out, destination, flat, {}, job.runner)
    layouts, out = [*reversed([*files])], Path(job.out)
    for layout in layouts:
        describe_layout(layout, described(layout, {file.path: made[file.path] for file in files[layout]}))
    if destination is not None:
        names = tuple(name for layout in layouts for name in layout.descriptions(job.graph.schema.name))
        own = destination.of_job(out, names, overwrite=True)
        own.describe(out, {file: made[file.path] for file in flat}, job.runner)


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
    parts: PartitionedGraph, manifest: Manifest, sizes: GraphSizes, arrays: Collection[str]
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
