"""What a GSProcessing graph has besides nodes, edges and features, for the layout graphstorm.

That is the IDs before GSProcessing (`raw_id_mappings`), and the configuration with transformations named in
`launch_arguments.json`; as in GraphStorm 0.5 (gpartition/dist_partition_graph.py, gpartition/post_hard_negative.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from daskgraphpart.errors import InputFileError, MetadataError
from daskgraphpart.graph.companion_files import copy_file
from daskgraphpart.graph.metadata import LABEL_COUNTS, TRANSFORMED
from daskgraphpart.graph.output import parquet_writer
from daskgraphpart.graph.read_parquet import read_parquet_header
from daskgraphpart.ids.id_map import IDS_PER_GROUP, id_batches
from daskgraphpart.layouts.known_outputs import DIST_GRAPH, RAW_IDS, TRANSFORMATIONS
from daskgraphpart.layouts.layout import FileLayout, raw_file_layout
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.files import is_file, read_file
from daskgraphpart.storage.json_file import convert_json, read_json_object
from daskgraphpart.storage.paths import Location, leads_outside, to_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.schema import NodeType
    from daskgraphpart.source import FilePath

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
        what, expected = (
            f"the number of IDs differs from that of {kind.name!r} nodes",
            f"{kind.num_nodes:,} in all files",
        )
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
