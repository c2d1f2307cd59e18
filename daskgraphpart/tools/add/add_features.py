"""Add features to finished partitions, in every layout that they have.

Tables and arrays are read as for a graph, and the passes of a dispatch bring rows to the owners of their nodes, who
follow from the original IDs in the parts; likewise those of edges. A file that gains an array is made anew under a
temporary name, and takes what it had from the old one (pass `copy-arrays`). When all are complete they are renamed, or
sent to the store of the partitions; the manifest, which lists features and checksums, comes last. Until then partitions
are what they were, or hold features that nothing lists.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.array_layouts.parquet import COLUMNS
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.dispatching.features import block_marks, cut_features, move_features
from daskgraphpart.dispatching.job import Job, choose_sizes
from daskgraphpart.dispatching.make_files import Places, Target, lay_out
from daskgraphpart.dispatching.nodes import NumberedNodes
from daskgraphpart.dispatching.offsets import count_intervals
from daskgraphpart.dispatching.split_nids import count_marked, split_nids, wanted_masks
from daskgraphpart.engine.progress import open_progress
from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.errors import LayoutError, OptionError, check_choice
from daskgraphpart.graph.companion_files import copy_file, maps_and_codes
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.graph.graph import Graph, graph_of
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.metadata import CATEGORIES
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.graph.rows import ConstantRows
from daskgraphpart.graph.sources import INT64, FileRows
from daskgraphpart.ids.id_map import COLUMN
from daskgraphpart.ids.id_map_file import IdMapFile
from daskgraphpart.ids.recorded_id_maps import IdMaps
from daskgraphpart.jobs.fingerprint import fingerprint
from daskgraphpart.jobs.job_options import JobOptions
from daskgraphpart.jobs.jobs import open_job
from daskgraphpart.layouts.known_outputs import DIST_GRAPH
from daskgraphpart.layouts.layout import DispatchedGraph, GraphSizes, Layout, raw_file_layout
from daskgraphpart.layouts.manifest import ADDED, data_of
from daskgraphpart.layouts.manifest_reader import Manifest, find_manifest, read_manifest
from daskgraphpart.partitioned.choose_hot_rows import find_hot_rows
from daskgraphpart.partitioned.stored_partitions import PartitionsT, StoredPartitions, open_stored, recorded_quality
from daskgraphpart.partitioner.assignment import Owners, owner_dtype
from daskgraphpart.partitioner.extend.old_owners import place_owners
from daskgraphpart.readers.objects.open_object import complete_graph
from daskgraphpart.readers.tables.scan_tables import described_tables
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.checksums import FileChecksum, hash_bytes
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import make_directory, read_file
from daskgraphpart.storage.paths import Location, join_path, to_key
from daskgraphpart.storage.region import Region, create_files, npy_region
from daskgraphpart.tools.add import change_partitions
from daskgraphpart.tools.add.extended_layout import ExtendedLayout, extended_layouts
from daskgraphpart.tools.reorder.row_files import recorded_maps

if TYPE_CHECKING:
    from daskgraphpart.dispatching.destination import Destination
    from daskgraphpart.dispatching.workspace import Workspace
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.graph.scan import Scan
    from daskgraphpart.source import Source


def add_features(parts: PartitionsT, tables: Mapping[str, Any], resources: Resources, **how: Any) -> PartitionsT:
    """Add what `tables` describe, by keywords of `scan_tables`: features of nodes, or `edge_data`.

    `how` are other `JobOptions`.
    """
    run = JobOptions(resources, **how)
    given = parts.config
    if given.parent.name == DIST_GRAPH:  # GraphStorm's config, below that of the partitions
        parts = open_stored(type(parts), given.parent.parent, confined=parts.is_confined)
    manifest = _manifest_of(parts)
    with ExitStack() as stack:
        stack.callback(change_partitions.clean_workspace, parts.config.parent, resources)
        scan = _scan_of(parts, tables, run)
        stack.enter_context(environment_faults())
        listener = stack.enter_context(open_progress(run.progress))
        run = replace(run, resources=run.resources.limited(scan.smallest_memory), progress=listener)
        identity = fingerprint("add", scan, {"partitions": hash_bytes(read_file(parts.config)).digest})
        place = change_partitions.taken_partitions(parts.config.parent, run.resources)
        output, destination = stack.enter_context(place)
        work, runner = stack.enter_context(open_job(output, scan, identity, run))
        graph = scan.stage(Path(work.root) / "tables", runner)
        _add(parts, manifest, graph, str(output.path), work, runner, destination)
    return open_stored(type(parts), given, confined=parts.is_confined)


def _manifest_of(parts: StoredPartitions) -> Manifest:
    """Return the manifest; refuse partitions whose files are not all known, or cannot be written."""
    path = find_manifest(parts.config.parent, parts.name)
    manifest = None if path is None else read_manifest(path)
    why = ""
    if manifest is None or manifest.files is None or recorded_quality(parts) is None:
        why = "there is no manifest of daskgraphpart beside their config: give the directory that you partitioned to"
    elif manifest.content.get("reshuffle") is False:
        why = "they keep their IDs: partition again, with the features"
    if why or manifest is None:
        raise LayoutError("features cannot be added to these partitions", file=str(parts.config), hint=why)
    if find_hot_rows(parts.part(0)) is not None:
        what, hint = "hot rows are kept beside these parts, and would lack the features", "partition again, with both"
        raise LayoutError(what, file=str(parts.config), hint=hint)
    return manifest


def _scan_of(parts: StoredPartitions, tables: Mapping[str, Any], run: JobOptions) -> Scan:
    """Describe the tables, with the nodes in their original order: by the recorded ID maps, or else by their number."""
    if tables.get("edge_data"):
        return _scan_of_edges(parts, tables, run)
    ntypes = {ntype for name in ("node_data", "masks", "split") for ntype in tables.get(name) or ()}
    if not ntypes:
        raise OptionError("no features", option="node_data", hint="give node data, such as TYPE/NAME=FILE")
    for ntype in sorted(ntypes):
        check_choice("node type", "--node-data", ntype, parts.ntypes)
    counts = {ntype: parts.num_nodes(ntype) for ntype in sorted(ntypes)}
    values = [rows for features in tables["node_data"].values() for rows in features.values()]
    if any(hasattr(rows, "dask") for rows in values):  # those of arrays are computed where their rows are needed
        nodes = graph_of(parts.name, counts, {}, {})
        return GraphScan(complete_graph(nodes, run.resources, name=parts.name, node_data=tables["node_data"]))
    how = {**tables, "edges": {}, "name": parts.name}
    if not _id_maps(parts):
        return described_tables({**how, "num_nodes": counts})
    earlier, maps = change_partitions.maps_here(parts, run.resources)
    how["nodes"] = {ntype: (f"{maps}/{ntype}.parquet", COLUMN) for ntype in counts}
    return described_tables({**how, "map_ids": True, "ids_from": str(earlier)})


def _scan_of_edges(parts: StoredPartitions, tables: Mapping[str, Any], run: JobOptions) -> Scan:
    """Describe features of edges, which have no IDs: rows are in the order of the input."""
    if any(tables.get(name) for name in ("node_data", "masks", "split")):
        what, hint = "features of nodes and of edges are added one after the other", "give one of them"
        raise OptionError(what, option="edge_data", hint=hint)
    for etype in tables["edge_data"]:
        check_choice("edge type", "--edge-data", etype, parts.schema.etypes)
    counts = {of.name: of.num_nodes for of in parts.schema.node_types}
    listed = [of for of in parts.schema.edge_types if of.name in tables["edge_data"]]
    edges = {of.name: ConstantRows(INT64, (of.num_edges, 2), 0) for of in listed}  # only their number matters
    known = graph_of(parts.name, counts, edges, {})
    return GraphScan(complete_graph(known, run.resources, name=parts.name, edge_data=tables["edge_data"]))


def _id_maps(parts: StoredPartitions) -> dict[str, Location]:
    """Return the recorded maps of the user's own IDs by node type, if there are any."""
    recorded = recorded_maps(parts.config, parts.name, confined=parts.is_confined)
    return {} if recorded is None else {ntype: join_path(recorded[0], f"{ntype}.parquet") for ntype in parts.ntypes}


def _add(
    parts: StoredPartitions,
    manifest: Manifest,
    graph: Graph,
    out: str,
    work: Workspace,
    runner: Runner,
    destination: Destination | None,
) -> None:
    content, schema = manifest.content, graph.schema
    kind = "edge" if schema.edge_types else "node"
    given: Sequence[NodeType | EdgeType] = schema.edge_types if kind == "edge" else schema.node_types
    of_kind = parts.schema.edge_types if kind == "edge" else parts.schema.node_types
    before = {of.name: data_of(of.name, content[f"{kind}_data"]) for of in of_kind}
    new = [f"{of.name}/{spec.name}" for of in given for spec in of.data]
    # a killed run may have listed them
    old = {name: tuple(s for s in data if f"{name}/{s.name}" not in new) for name, data in before.items()}
    sizes = _sizes(parts, content, {f"{kind}_data": old})
    arrays = {f"{kind}_data/{key}" for key in new} | {f"split_nids/{key}" for key in schema.masks}
    layouts = extended_layouts(parts, manifest, sizes, arrays)
    both = {**old, **{of.name: (*old[of.name], *of.data) for of in given}}
    sizes = _sizes(parts, content, {f"{kind}_data": both})

    def check() -> None:
        if before != old:
            known = [f"{name}/{spec.name}" for name, data in before.items() for spec in data]
            what, hint = "the partitions have this feature", "give it another name"
            raise OptionError(what, option=f"{kind}_data", found=", ".join({*new} & {*known}), hint=hint)
        for layout in layouts:
            layout.check_fits(sizes.schema)
        change_partitions.check_links(layouts, parts.config.parent)

    runner.step("check-features", check)
    codes = {name: path for name, path in maps_and_codes(graph.companions).items() if name.startswith(CATEGORIES)}
    companions = {name: raw_file_layout((), partial(copy_file, path)) for name, path in codes.items()}
    layouts = (replace(layouts[0], companions=companions), *layouts[1:])
    dtype, nbytes = owner_dtype(parts.num_parts), 9 * sum(of.num_rows for of in given)
    owners = {of.name: npy_region(work.owners / f"{i}.npy", dtype, (of.num_rows,)) for i, of in enumerate(given)}
    make_directory(work.owners)
    runner.step("create-owner-files", lambda: create_files(owners.values()))
    files = [part.directory / part.rows(kind).originals_file for part in parts.parts]
    runner.run(Pass("read-owners", place_owners, [Unit(files, nbytes)], owners))
    assignment = Owners(parts.num_parts, content["method"], owners)
    job = Job(graph, assignment, out, DispatchOptions(), choose_sizes(runner.resources), work, runner, layouts)
    sizes, places = _move(job, parts, sizes, arrays, kind)

    def described(layout: Layout, made: Mapping[str, FileChecksum]) -> DispatchedGraph:
        assert isinstance(layout, ExtendedLayout), "all are"
        return _described(parts, Path(out), content, sizes, layout.checksums(sizes, made), new)

    change_partitions.replace_files(job, places.files, destination, described)


def _move(
    job: Job, parts: StoredPartitions, sizes: GraphSizes, arrays: Collection[str], kind: str
) -> tuple[GraphSizes, Places]:
    """Lay out the files that gain arrays, and fill them; also return the sizes, with new lists of marked nodes."""
    owners = job.assignment.files
    features = cut_features(job.graph, kind, job.sizes.row_block_bytes)
    offsets = count_intervals(owners, block_marks(features), job.num_parts, job.sizes.interval_rows, job.runner)
    nodes = NumberedNodes(np.stack([offsets[name].totals for name in owners], axis=1), offsets, {})
    masks = wanted_masks(job, features) if kind == "node" else []
    marked = count_marked(job, masks, nodes) if masks else {}
    num_marked = {**sizes.num_marked, **{key: of_mask.sum(axis=0) for key, of_mask in marked.items()}}
    sizes = replace(sizes, num_marked={key: num_marked[key] for key in sizes.schema.masks})
    places = lay_out(job, sizes)
    ends = _files_of_ends(job, sizes)
    kept = {name: of for name, of in places.targets.items() if name not in arrays}
    job.runner.run(_copy_pass(job, parts, kept, ends))
    move_features(job, features, owners, offsets, places.rows, {}, {})
    if masks:
        split_nids(job, masks, nodes, marked, places.targets)
    return sizes, places


def _sizes(parts: StoredPartitions, content: Mapping[str, Any], changed: Mapping[str, Any]) -> GraphSizes:
    """Sizes of all parts, with features as the manifest has them or as `changed`, by kind and type.

    Those of graphs, which stay as they are, are not needed.
    """
    known, book = parts.schema, parts.book

    def data(kind: str, of_type: str) -> Any:
        return changed[kind][of_type] if kind in changed else data_of(of_type, content[kind])

    node_types = [NodeType(of.name, of.num_nodes, data("node_data", of.name)) for of in known.node_types]
    edge_types = [replace(of, data=data("edge_data", of.name)) for of in known.edge_types]
    schema = GraphSchema(parts.name, tuple(node_types), tuple(edge_types))
    lists = [part.split_regions for part in parts.parts]
    marked = {key: np.array([of[key].num_rows if key in of else 0 for of in lists], np.int64) for key in schema.masks}
    id_maps = {ntype: IdMapFile(path) for ntype, path in _id_maps(parts).items()}
    halo, extra = np.array(content["num_halo_nodes"], np.int64), np.zeros(parts.num_parts, np.int64)
    return GraphSizes(schema, book.node_counts, book.edge_counts, halo, extra, marked, id_maps)


def _described(
    parts: StoredPartitions,
    out: Path,
    content: Mapping[str, Any],
    sizes: GraphSizes,
    checksums: Mapping[str, Any],
    new: list[str],
) -> DispatchedGraph:
    """What layouts learn: what the manifest says, with the new features."""
    quality = recorded_quality(parts)
    assert quality is not None  # `_manifest_of` refuses others
    return DispatchedGraph(
        out=out,
        sizes=sizes,
        book=parts.book,
        quality=quality,
        method=content["method"],
        num_hops=content["num_hops"],
        out_edges=content["out_edges"],
        reshuffle=True,
        checksums=checksums,
        id_maps=IdMaps.of(content, parts.config),
        mapped_features=content.get("mapped_features", {}),
        training=content.get("training", {}),
        constraints=tuple(content.get("constraints", ())),
        added=tuple(dict.fromkeys([*content.get(ADDED, ()), *new])),
    )


@dataclass(frozen=True, slots=True, eq=False)
class CopyUnit:
    """Rows ``[start, stop)`` of an array of a part, and its new place."""

    old: Source
    new: Region
    start: int
    stop: int


def _copy_pass(
    job: Job, parts: StoredPartitions, targets: Mapping[str, tuple[Target, ...]], ends: Mapping[str, str]
) -> Pass[CopyUnit, None, None]:
    """Plan the pass over all arrays that new files take from old ones."""
    units = []
    for part, (name, places) in itertools.product(parts.parts, targets.items()):
        for old in _old_rows(part, name, parts.config.parent / ends.get(name, "").replace("{part}", str(part.part_id))):
            row_nbytes = old.dtype.itemsize * math.prod(old.shape[1:])
            step = max(1, job.sizes.row_block_bytes // max(8, row_nbytes))
            for start in range(0, old.shape[0], step):
                stop = min(start + step, old.shape[0])
                works = [CopyUnit(old, target.region(part.part_id), start, stop) for target in places]
                units += [Unit(work, 2 * row_nbytes * (stop - start), key=name) for work in works]
    return Pass("copy-arrays", copy_rows, units, None)


def _files_of_ends(job: Job, sizes: GraphSizes) -> dict[str, str]:
    """By name of an array that only tables have, the ends of edges by new IDs, the table's path, with ``{part}``."""
    files = [of for layout in job.layouts for of in layout.part_files(sizes, 0).items()]
    return {name: path for path, file in files for name in file.regions if name.startswith(("edge_src", "edge_dst"))}


def _old_rows(part: Any, name: str, table: Location) -> Iterator[Source]:
    """Yield where an array of a part is, if it has any rows."""
    kind, _, key = name.partition("/")
    of_type, _, feature = key.rpartition("/")
    if kind in ("node_data", "edge_data"):
        yield part.rows(kind[:4]).features[of_type][feature]
    elif kind in ("orig_nids", "orig_eids"):
        yield part.rows("node" if kind == "orig_nids" else "edge").originals[key]
    elif kind in COLUMNS:
        header = read_parquet_header(to_key(table))
        file = InputFile(to_key(table), "parquet", " ", header.num_rows, 0, header.row_group_ends)
        yield FileRows((file,), DataSpec(COLUMNS[kind], INT64, ()), (COLUMNS[kind],))
    elif key in part.split_regions:
        yield part.split_regions[key]


def copy_rows(unit: CopyUnit, _: None) -> None:
    """Copy some rows."""
    unit.new.write(np.ascontiguousarray(unit.old.read(unit.start, unit.stop), unit.new.dtype), unit.start)
