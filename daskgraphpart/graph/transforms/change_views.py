"""Changes of a graph that need no reading: sources of changed features, and of reverse edges."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from daskgraphpart.graph.metadata import CATEGORIES
from daskgraphpart.graph.rows import CastRows, ConstantRows, JoinedRows, ReversedEdges, SelfLoops
from daskgraphpart.graph.transforms.check_changes import doubled_types, dtype_of, reverse_types, split_feature
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.source import FilePath, Source


def cast_features(changes: GraphChanges, data: Mapping[str, Mapping[str, Source]]) -> dict[str, dict[str, Source]]:
    """Return features in their new dtypes."""
    by_type: dict[str, dict[str, Source]] = {of_type: dict(features) for of_type, features in data.items()}
    for of_type, features in data.items():
        for name, rows in features.items():
            if (dtype := dtype_of(changes, of_type, name)) is not None:
                by_type[of_type][name] = CastRows(rows, f"{of_type}/{name}", dtype.name)
    return by_type


def double_edges(
    changes: GraphChanges, ntypes: Collection[str], edges: dict[str, Source], data: dict[str, dict[str, Source]]
) -> None:
    """Append reverse edges, with the same features or zeros, to types with both directions."""
    for etype in doubled_types(changes, ntypes, edges):
        edges[etype] = JoinedRows((edges[etype], ReversedEdges(edges[etype])))
        for name, rows in data.get(etype, {}).items():
            is_copied = changes.copy_edge_data or name == split_feature(changes, etype)
            of_reverse = rows if is_copied else ConstantRows(rows.dtype, rows.shape, 0)
            data[etype][name] = JoinedRows((rows, of_reverse))


def append_loops(edges: Source, features: Mapping[str, Source], num_nodes: int) -> tuple[Source, dict[str, Source]]:
    """Return edges, then a self-loop per node, and their features, of which those of self-loops are 1, as in DGL."""
    of_loops = {n: ConstantRows(rows.dtype, (num_nodes, *rows.shape[1:]), 1) for n, rows in features.items()}
    joined = {name: JoinedRows((rows, of_loops[name])) for name, rows in features.items()}
    return JoinedRows((edges, SelfLoops(num_nodes))), {**joined}


def add_reverse_types(
    changes: GraphChanges,
    ntypes: Collection[str],
    edges: Mapping[str, Source],
    data: dict[str, dict[str, Source]],
    companions: dict[str, FilePath],
) -> dict[str, Source]:
    """Return the edges with a reverse type after every type without both directions; copied features go to `data`."""
    reverses = reverse_types(changes, ntypes, edges)
    doubled: dict[str, Source] = {}
    for etype, rows in edges.items():
        doubled[etype] = rows
        if (reverse := reverses.get(etype)) is not None:
            doubled[reverse] = ReversedEdges(rows)
            if changes.copy_edge_data:
                data[reverse] = data.get(etype, {})
                copy_codes(companions, etype, reverse)
    if changes.add_reverse == "graphstorm":  # which sorts types, as DGL does
        doubled = {etype: doubled[etype] for etype in sorted(doubled, key=canonical_tuple)}
    return doubled


def copy_codes(companions: dict[str, FilePath], etype: str, other: str) -> None:
    """Share the category files of one edge type with its reverse."""
    start = f"{CATEGORIES}/{etype}/"
    for name in [name for name in companions if name.startswith(start)]:
        companions[f"{CATEGORIES}/{other}/{name.removeprefix(start)}"] = companions[name]


def remove_codes(companions: dict[str, FilePath], etype: str) -> None:
    """Remove the category files of an edge type."""
    for name in [name for name in companions if name.startswith(f"{CATEGORIES}/{etype}/")]:
        del companions[name]
