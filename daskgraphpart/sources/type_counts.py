"""Read the schema file of DGL's tools before 1.0: ranges of homogeneous IDs of all types, in JSON.

``{"nid": {ntype: [start, stop]}, "eid": {relation: [start, stop]}}``; the order of the starts is that of the type IDs
(tools/convert_partition.py of DGL 0.6 to 0.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from daskgraphpart.errors import InputFileError, InputFileNotFoundError, MetadataError
from daskgraphpart.schema import EdgeType, GraphSchema, NodeType, check_name
from daskgraphpart.storage.json_file import convert_json, read_json_object

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class _Ranges(msgspec.Struct):
    nid: dict[str, tuple[int, int]]
    eid: dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class TypeCounts:
    """Names of node types and of edge types (canonical, or plain relations), in ID order, with their counts."""

    path: str
    nodes: dict[str, int]
    edges: dict[str, int]

    @property
    def node_starts(self) -> np.ndarray:
        """First homogeneous ID of each node type, then the total."""
        return np.cumsum([0, *self.nodes.values()])

    @property
    def edge_starts(self) -> np.ndarray:
        """First homogeneous ID of each edge type, then the total."""
        return np.cumsum([0, *self.edges.values()])


def read_type_counts(path: Path) -> TypeCounts:
    """Read and check a schema file."""
    if not path.is_file():
        hint = 'give the schema: {"nid": {ntype: [start, stop]}, "eid": ...}'
        raise InputFileNotFoundError("no such file", file=str(path), hint=hint)
    content, what = read_json_object(path, MetadataError), "not the ranges of the types"
    ranges = convert_json(content, _Ranges, MetadataError, what, file=str(path), expected="{type: [start, stop]}")
    nodes, edges = _counts(path, "nid", ranges.nid), _counts(path, "eid", ranges.eid)
    if not nodes:
        raise MetadataError("no node type", file=str(path), place="nid", expected="at least one")
    for key, names in (("nid", nodes), ("eid", edges)):
        for name in names:
            _check_name(str(path), key, name, nodes)
    return TypeCounts(str(path), nodes, edges)


def _counts(path: Path, key: str, ranges: dict[str, tuple[int, int]]) -> dict[str, int]:
    end, counts = 0, {}
    for name, (start, stop) in sorted(ranges.items(), key=lambda item: item[1]):
        if start != end or stop < start:
            what, place, expected = "the ranges do not follow each other", f"{key}.{name}", f"[{end}, {end} or more]"
            raise MetadataError(what, file=str(path), place=place, expected=expected, found=[start, stop])
        counts[name], end = stop - start, stop
    return counts


def _check_name(path: str, key: str, name: str, ntypes: dict[str, int]) -> None:
    ends = name.split(":") if key == "eid" else [name]
    place = f"{key}.{name}"
    if len(ends) not in (1, 3) or (len(ends) == 3 and not {ends[0], ends[2]} <= set(ntypes)):
        expected = f"a relation, or src:relation:dst with ends among {', '.join(ntypes)}"
        raise MetadataError("not an edge type", file=path, place=place, expected=expected)
    for word in ends:
        check_name(word, "name", file=path, place=place)


def join_types(counts: TypeCounts, joined: Iterable[tuple[int, int, int]], name: str, source: str) -> GraphSchema:
    """Build the schema of a graph, given which (edge type, source type, destination type) its edges have, by number."""
    ntypes, joined = list(counts.nodes), list(joined)
    edge_types = []
    for number, (edge_type, num_edges) in enumerate(counts.edges.items()):
        src, _, dst = edge_type.split(":") if ":" in edge_type else ("", "", "")
        ends = [(ntypes[s], ntypes[d]) for e, s, d in joined if e == number]
        if not src and not ends and len(ntypes) == 1:
            ends = [(ntypes[0], ntypes[0])]
        if not src and not ends:
            raise MetadataError(
                f"no edge tells which node types relation {edge_type!r} joins",
                file=counts.path,
                place=f"eid.{edge_type}",
                hint="name it src:relation:dst",
            )
        if len(ends) > 1 or (src and ends and ends != [(src, dst)]):
            raise InputFileError(
                f"edges of type {edge_type!r} join other node types",
                file=source,
                expected=f"{src} to {dst}" if src else "the same two for all",
                found=" and ".join(f"{s} to {d}" for s, d in ends[:3]),
            )
        relation = edge_type.split(":")[1] if src else edge_type
        edge_types.append(EdgeType(src or ends[0][0], relation, dst or ends[0][1], num_edges))
    return GraphSchema(name, tuple(NodeType(*of_type) for of_type in counts.nodes.items()), tuple(edge_types))
