"""GraphStorm's layout: what GSPartition leaves for training, in `dist_graph/` and `partition_assignment/`.

``dist_graph/part<i>/`` holds DGL's files, once: `dist_graph/metadata.json` names them to GraphStorm, and the config
above to DGL. `raw_id_mappings/<ntype>/*.parquet` (columns `orig` and `new`) brings results back to the user's IDs;
`data_transform_new.json` is there if the input has it. Text files in `partition_assignment/` have the part of each
node, one per line. As of GraphStorm 0.5: gpartition/dist_partition_graph.py writes it, and `load_dist_nid_map` of
model/utils.py takes anything in `dist_graph/` that begins with "part" for a part.

A GSProcessing graph has IDs from before GSProcessing, and a configuration with transformations that
`launch_arguments.json` names; as in gpartition/dist_partition_graph.py and gpartition/post_hard_negative.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from daskgraphpart.errors import InputFileError, MetadataError, OptionError
from daskgraphpart.graph.companion_files import copy_file
from daskgraphpart.graph.metadata import LABEL_COUNTS, TRANSFORMED
from daskgraphpart.graph.output import parquet_writer
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.ids.id_map import IDS_PER_GROUP, id_batches
from daskgraphpart.layouts.known_outputs import ASSIGNMENT, ASSIGNMENT_META, DIST_GRAPH, RAW_IDS, TRANSFORMATIONS
from daskgraphpart.layouts.layout import ArraySpec, DispatchedGraph, FileLayout, GraphSizes, Layout, raw_file_layout
from daskgraphpart.layouts.part_arrays import check_file_names, refuse_bfloat16
from daskgraphpart.storage.atomic import json_bytes, whole_file
from daskgraphpart.storage.files import is_file, read_file
from daskgraphpart.storage.json_file import convert_json, read_json_object
from daskgraphpart.storage.paths import Location, leads_outside, to_path
from daskgraphpart.storage.text import number_lines

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.layouts.dgl import DglLayout
    from daskgraphpart.schema import GraphSchema, NodeType
    from daskgraphpart.source import FilePath
    from daskgraphpart.storage.region import Region

NAME = "graphstorm"
ROWS_PER_PIECE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class GraphStormLayout(Layout):
    """Formats and graphs as in `DglLayout`; beside them files of original IDs and transformations."""

    layout: DglLayout

    @classmethod
    def wrap(cls, layout: DglLayout, graph: Graph | None) -> Self:
        """Put DGL's files elsewhere, and those of a graph beside; of one that is not read yet, none are known."""
        return cls(layout=layout, companions={} if graph is None else graphstorm_files(graph))

    @staticmethod
    def mapped_features(graph: Graph) -> Iterator[str]:
        """Hard negatives of GSProcessing and construction configs, in the form of the option `map_feature`."""
        return hard_negatives(graph)

    def wants(self, schema: GraphSchema) -> Collection[str]:
        return self.layout.wants(schema)

    @property
    def dgl(self) -> DglLayout:
        """The files of parts, and DGL's config."""
        return replace(self.layout, parts=f"{DIST_GRAPH}/")

    @property
    def dist_graph(self) -> DglLayout:
        """GraphStorm's config."""
        return replace(self.layout, config_name="metadata.json", directory=f"{DIST_GRAPH}/")

    def check_fits(self, schema: GraphSchema) -> None:
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
        if graph_name.startswith("part") or not re.sub(r"^\d+", "", graph_name).replace("-", "_").isidentifier():
            raise OptionError(
                "GraphStorm cannot train on a graph of this name",
                place=f"layout {NAME}",
                expected="letters, digits, - and _, at least one letter, not beginning with 'part'",
                found=graph_name,
                hint="change graph_name in the metadata, or write the layout dgl",
            )

    def part_files(self, sizes: GraphSizes, part: int) -> dict[str, FileLayout]:
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


LAUNCH_ARGUMENTS = "launch_arguments.json"
HARD_NEGATIVES = "edge_dst_hard_negative"
COLUMNS = ("orig", "new")


def graphstorm_files(graph: Graph) -> dict[str, FileLayout]:
    """Files of all nodes' original IDs, and of the transformations, by path below the output."""
    layouts: dict[str, FileLayout] = {}
    for kind in graph.schema.node_types:
        layouts |= {f"{RAW_IDS}/{kind.name}/{name}": layout for name, layout in _raw_ids(graph, kind).items()}
    path = _find_transformations(graph)
    if path is not None:
        content = read_file(path)
        layouts[TRANSFORMATIONS] = FileLayout(((0, content),), {}, len(content))
    for name in LABEL_COUNTS:
        if name in graph.companions:
            content = read_file(to_path(graph.companions[name]))
            layouts[f"{DIST_GRAPH}/{name}"] = FileLayout(((0, content),), {}, len(content))
    return layouts


def _raw_ids(graph: Graph, kind: NodeType) -> dict[str, FileLayout]:
    """Original-ID files of a node type: GSProcessing's, or one from our ID map, or of numbers."""
    paths = graph.raw_ids.get(kind.name, ())
    if paths:
        _check_raw_ids(paths, kind)
        return {PurePath(str(path)).name: raw_file_layout((), partial(copy_file, path)) for path in paths}
    id_map = graph.id_maps.get(kind.name)
    next(id_batches(id_map, kind.num_nodes, 1))  # refuses another graph's map
    return {"part-00000.parquet": raw_file_layout((), RawIds(kind.num_nodes, id_map))}


def _check_raw_ids(paths: tuple[FilePath, ...], kind: NodeType) -> None:
    """Refuse files that GraphStorm cannot read, or of other nodes."""
    num_ids = 0
    for path in paths:
        header = read_parquet_header(path)
        num_ids += header.num_rows
        if not {*COLUMNS} <= {*header.schema.names}:
            names = ", ".join(header.schema.names)
            raise InputFileError("not a file of IDs", file=path, expected="columns orig and new", found=names)
    if num_ids != kind.num_nodes:
        what = f"the number of IDs differs from that of {kind.name!r} nodes"
        expected = f"{kind.num_nodes:,} in all files"
        hint = "list all files in raw_id_mappings of the metadata, or none"
        raise InputFileError(what, file=paths[0], expected=expected, found=f"{num_ids:,}", hint=hint)


@dataclass(frozen=True, slots=True)
class RawIds:
    """Encodes a table of `orig`, IDs from our map (or numbers), and `new`, the nodes."""

    num_nodes: int
    id_map: Location | None

    def __call__(self, _: Mapping[str, Any], path: str) -> None:
        """Write the table."""
        import pyarrow as pa

        batches, done = id_batches(self.id_map, self.num_nodes, IDS_PER_GROUP), 0
        schema = pa.schema(zip(COLUMNS, (next(batches), pa.int64()), strict=True))
        with whole_file(path) as temporary, parquet_writer(temporary, schema) as writer:
            for ids in batches:
                new = pa.array(np.arange(done, done + len(ids)))
                writer.write_table(pa.table([ids, new], schema=schema))
                done += len(ids)


class _Named(msgspec.Struct, frozen=True):
    type: str = ""
    name: str = ""


class _Feature(msgspec.Struct):
    column: Any = ""
    name: str = ""
    transformation: _Named = _Named()


class _Constructed(msgspec.Struct):
    feature_col: Any = ""
    feature_name: str = ""
    transform: _Named = _Named()


class _Relation(msgspec.Struct):
    relation: list[str]
    features: list[_Constructed] = []


class _Edges(msgspec.Struct):
    source: _Named
    relation: _Named
    dest: _Named
    features: list[_Feature] = []


def hard_negatives(graph: Graph) -> Iterator[str]:
    """Edge features that hold destination node IDs, in the form of `map_feature`."""
    path = _find_transformations(graph)
    content = {} if path is None else read_json_object(path, MetadataError)
    if path is not None and path.name == TRANSFORMED:
        yield from _of_relations(content, str(path))
        return
    edges = (content.get("graph") or content).get("edges", [])
    what = "not the edges of a configuration of GSProcessing"
    for of_type in convert_json(edges, list[_Edges], MetadataError, what, file=str(path), place="edges"):
        for feature in of_type.features:
            if feature.transformation.name == HARD_NEGATIVES:
                etype = ":".join(end.type for end in (of_type.source, of_type.relation, of_type.dest))
                yield f"{etype}/{feature.name or feature.column}={of_type.dest.type}"


def _of_relations(content: dict[str, Any], file: str) -> Iterator[str]:
    """Edge features of a gconstruct config that hold destination node IDs."""
    what = "not the edges of a construction config"
    edges = content.get("edges", [])
    for of_type in convert_json(edges, list[_Relation], MetadataError, what, file=file, place="edges"):
        for feature in of_type.features:
            if feature.transform.name == HARD_NEGATIVES:
                name = feature.feature_name or feature.feature_col
                yield f"{':'.join(of_type.relation)}/{name}={of_type.relation[-1]}"


def _find_transformations(graph: Graph) -> Location | None:
    """Find the config with transformations that `build` or GSProcessing left in a graph's directory."""
    if TRANSFORMED in graph.companions:
        return to_path(graph.companions[TRANSFORMED])
    directory = to_path(graph.directory)
    arguments = directory / LAUNCH_ARGUMENTS
    if not graph.directory or not is_file(arguments):
        return None
    given = read_json_object(arguments, MetadataError).get("config_filename")
    path = directory / f"{str(given).removesuffix('.json')}_with_transformations.json"
    if not isinstance(given, str) or leads_outside(path, directory) is not None or not is_file(path):
        raise MetadataError(
            "the configuration with transformations is missing",
            file=str(arguments),
            place="config_filename",
            expected=f"a file {path.name} beside it",
            found=given,
            hint=f"copy it from the output of GSProcessing, or remove {LAUNCH_ARGUMENTS}",
        )
    return path
