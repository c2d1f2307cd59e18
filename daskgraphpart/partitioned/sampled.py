"""Open what loaders sample from local partitions: in-edges, features, seeds.

`graph` is a `PartitionedGraph` and views are its own; their modules import this one through parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.extras import pyg_module
from daskgraphpart.layouts.manifest import find_manifest
from daskgraphpart.sampling.columns import PartColumns, open_columns
from daskgraphpart.sampling.links import read_links, seeds_of
from daskgraphpart.sampling.loader import BatchOptions, Loader
from daskgraphpart.sampling.rows import FeatureRows, open_rows
from daskgraphpart.sampling.sampler import Sampler
from daskgraphpart.sampling.seeds import Seeds, read_fanouts, split_type
from daskgraphpart.sampling.source import Source, file_states
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    Wanted = tuple[Iterable[str] | None, Iterable[str] | None, str | os.PathLike[str] | None]
    """Names of features of nodes and of edges, or None for all; and a directory for temporary files."""

_columns: WeakKeyDictionary[Any, dict[int, PartColumns]] = WeakKeyDictionary()
"""In-edges of the parts that loaders have opened: they may have been sorted for it."""


def load_nodes(
    graph: Any,
    part_id: int | None,
    num_neighbors: Any,
    replace: bool,
    input_nodes: Any,
    batches: tuple[Any, ...],
    wanted: Wanted,
) -> Loader:
    """Open the loader of `Loaders.neighbor_loader`; `batches` are the fields of `BatchOptions`."""
    options, assembly = BatchOptions(*batches), _assembly()
    fanouts = read_fanouts(num_neighbors, graph.book)
    source = open_source(graph, part_id, wanted)
    ntype, seeds = _read_nodes(graph, source, input_nodes)
    sampler = Sampler(graph.book, source.columns, fanouts, replace)
    return Loader(source, seeds, options, assembly.node_batches(source, sampler, ntype, seeds))


def load_links(
    graph: Any,
    part_id: int | None,
    num_neighbors: Any,
    replace: bool,
    links: tuple[Any, Any, Any],
    batches: tuple[Any, ...],
    wanted: Wanted,
) -> Loader:
    """Open the loader of `Loaders.link_neighbor_loader`; `links` are seeds, labels and negative sampling."""
    options, assembly = BatchOptions(*batches), _assembly()
    fanouts, (edges, labels, negative) = read_fanouts(num_neighbors, graph.book), links
    etype, given = split_type(edges, graph.etypes, graph.book.canonical_etype, "edge_label_index")
    source = open_source(graph, part_id, wanted)
    read, seeds = read_links(source, etype, given, labels, negative)
    sampler = Sampler(graph.book, source.columns, fanouts, replace)
    return Loader(source, seeds, options, assembly.link_batches(source, sampler, read, seeds))


def _assembly() -> Any:
    pyg_module("torch_geometric")
    return import_module("daskgraphpart.sampling.pyg")


def open_source(graph: Any, part_id: int | None, wanted: Wanted) -> Source:
    """Open all parts, or one, for sampling, with the features of all parts."""
    require_local(graph.config, "what is sampled", "copy the partitions to this machine")
    numbers = [*range(graph.num_parts)] if part_id is None else [part_id]
    parts, opened = [graph.part(number) for number in numbers], _columns.setdefault(graph, {})
    new = [part for part in parts if part.part_id not in opened]
    is_ours, workspace = find_manifest(graph.config.parent, graph.name) is not None, wanted[2]
    columns = open_columns(
        [part.graph for part in new],
        graph.book,
        [part.part_id for part in new],
        is_sorted=is_ours,
        workspace=None if workspace is None else str(workspace),
    )
    opened.update({part.part_id: part for part in columns})
    features = [*_features(graph, "node_data", graph.nodes.values(), wanted[0])]
    features += _features(graph, "edge_data", graph.edges.values(), wanted[1])
    files = [part.graph_path for part in parts]
    files += [path for part in graph.parts for path in (part.node_feats_path, part.edge_feats_path)]
    states = file_states(map(str, files))
    if graph.state is not None:
        states[str(graph.config)] = graph.state
    graphs = [part.graph for part in parts]
    source = Source(graph.book, part_id, graphs, [opened[number] for number in numbers], features, states)
    source.check_unchanged()
    return source


def _read_nodes(graph: Any, source: Source, given: Any) -> tuple[str, Seeds]:
    """Type and IDs of the seeds; a named mask comes from the parts' files."""
    ntypes, place = graph.ntypes, "input_nodes"
    if isinstance(given, str) and given not in ntypes and len(ntypes) == 1:
        given = (ntypes[0], given)
    ntype, chosen = split_type(given, ntypes, str, place)
    check_choice("node type", place, ntype, ntypes)
    if not isinstance(chosen, str):
        return ntype, seeds_of(source, ntype, chosen, place)
    parts = graph.parts if source.part_id is None else (graph.part(source.part_id),)
    known = [key for key in parts[0].split_nids if key.startswith(f"{ntype}/")]
    if (key := f"{ntype}/{chosen}") not in known:
        expected = f"one of {', '.join(name.partition('/')[2] for name in known) or 'none'}"
        raise OptionError("no such mask", place=place, expected=expected, found=chosen)
    ids = np.concatenate([part.split_nids[key] for part in parts])
    return ntype, Seeds(0, ids.size, ids)


def _features(graph: Any, place: str, views: Iterable[Any], wanted: Iterable[str] | None) -> Iterator[FeatureRows]:
    """Find features of nodes or edges by name, or by ``<type>/<name>``."""
    if isinstance(wanted, str):
        raise OptionError("not a list of names", place=place, expected=f"[{wanted!r}]", found=repr(wanted))
    marked, names = graph.part(0).split_nids, None if wanted is None else dict.fromkeys(wanted, False)
    known: dict[str, tuple[Any, str]] = {}
    for view in views:
        known |= {f"{view.name}/{name}": (view, name) for name in view.data}
    for key, (view, name) in known.items():
        if names is None or name in names or key in names:
            of_parts = {part.part_id: part.rows(view.kind).features.get(view.name, {}) for part in graph.parts}
            held = {number: of_part[name] for number, of_part in of_parts.items() if name in of_part}
            counts = np.array([part.rows(view.kind).counts[view.name] for part in graph.parts])
            yield open_rows(view.name, name, key in marked, held, counts)
    unknown = [name for name in names or () if name not in known and all(name != of for _, of in known.values())]
    if unknown:
        expected = f"some of {', '.join(known) or 'none'}"
        raise OptionError("no such features", place=place, expected=expected, found=", ".join(unknown))
