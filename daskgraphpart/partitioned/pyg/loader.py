"""Open loaders of local partitions, and make batches in order: the same for a seed, with any number of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from daskgraphpart.errors import OptionError, check_choice
from daskgraphpart.extras import pyg_module
from daskgraphpart.ids.fanouts import read_fanouts
from daskgraphpart.kernels.hashing import stream_key, stream_key_of
from daskgraphpart.layouts.manifest_reader import find_manifest
from daskgraphpart.partitioned.hot_rows import CacheUse
from daskgraphpart.partitioned.pyg.sampled_source import LoaderOptions, SampledSource
from daskgraphpart.partitioned.pyg.seeds import read_links, seeds_of, split_type
from daskgraphpart.partitioned.sampling.part_columns import PartColumns, open_columns
from daskgraphpart.partitioned.sampling.sampled_rows import FeatureRows, open_rows
from daskgraphpart.partitioned.sampling.sampler import Sampler, Seeds
from daskgraphpart.public import Public
from daskgraphpart.storage.files import file_state
from daskgraphpart.storage.paths import require_local

if TYPE_CHECKING:
    from daskgraphpart.partitioned.pyg.batches import Assembler


_columns: WeakKeyDictionary[Any, dict[int, PartColumns]] = WeakKeyDictionary()
"""In-edges of the parts that loaders have opened: they may have been sorted for it."""


def load_nodes(graph: Any, part_id: int | None, num_neighbors: Any, input_nodes: Any, options: LoaderOptions) -> Loader:
    """Open the loader of `pyg_methods.neighbor_loader`."""
    assembler = _open(graph, part_id, num_neighbors, options)
    ntype, seeds = read_nodes(graph, assembler.source, input_nodes)
    return Loader(assembler, seeds, options, partial(assembler.node_batch, ntype, seeds.is_listed))


def load_links(
    graph: Any, part_id: int | None, num_neighbors: Any, links: tuple[Any, Any, Any], options: LoaderOptions
) -> Loader:
    """Open the loader of `pyg_methods.link_neighbor_loader`; `links` are seeds, labels and negative sampling."""
    edges, labels, negative = links
    etype, given = split_type(edges, graph.etypes, graph.book.canonical_etype, "edge_label_index")
    assembler = _open(graph, part_id, num_neighbors, options)
    read, seeds = read_links(assembler.source, etype, given, labels, negative)
    return Loader(assembler, seeds, options, partial(assembler.link_batch, read, seeds.is_listed))


def _open(graph: Any, part_id: int | None, num_neighbors: Any, options: LoaderOptions) -> Assembler:
    """Open what makes batches of samples."""
    pyg_module("torch_geometric")
    from daskgraphpart.partitioned.pyg.batches import Assembler  # imports torch_geometric

    fanouts, source = read_fanouts(num_neighbors, graph.book.etypes), open_source(graph, part_id, options)
    if options.cache is not None:
        options.cache.check_files(part_id, source.files)
    sampler = Sampler(graph.book, source.columns, fanouts, options.replace)
    return Assembler(source, sampler, CacheUse(options.cache))


def open_source(graph: Any, part_id: int | None, options: LoaderOptions) -> SampledSource:
    """Open all parts, or one, for sampling, with the features of all parts."""
    require_local(graph.config, "what is sampled", "copy the partitions to this machine")
    numbers = [*range(graph.num_parts)] if part_id is None else [part_id]
    parts, opened = [graph.part(number) for number in numbers], _columns.setdefault(graph, {})
    new = [part for part in parts if part.part_id not in opened]
    is_ours = find_manifest(graph.config.parent, graph.name) is not None
    opened.update(open_columns(new, is_sorted=is_ours, workspace=options.workspace))
    features = [*_features(graph, "node_data", graph.nodes.values(), options.node_data)]
    features += _features(graph, "edge_data", graph.edges.values(), options.edge_data)
    files = [part.graph_path for part in parts]
    files += [path for part in graph.parts for path in (part.node_feats_path, part.edge_feats_path)]
    states = {path: file_state(path) for path in map(str, files)}
    if graph.state is not None:
        states[str(graph.config)] = graph.state
    graphs = [part.graph for part in parts]
    source = SampledSource(graph.book, part_id, graphs, [opened[number] for number in numbers], features, states)
    source.check_unchanged()
    return source


def read_nodes(graph: Any, source: SampledSource, given: Any) -> tuple[str, Seeds]:
    """Type and IDs of the seeds; a named mask comes from the parts' files."""
    ntypes, place = graph.ntypes, "input_nodes"
    if isinstance(given, str) and given not in ntypes and len(ntypes) == 1:
        given = (ntypes[0], given)
    ntype, chosen = split_type(given, ntypes, str, place)
    check_choice("node type", place, ntype, ntypes)
    if not isinstance(chosen, str):
        return ntype, seeds_of(source, ntype, chosen, place)
    parts = graph.parts if source.part_id is None else (graph.part(source.part_id),)
    known = [key.partition("/")[2] for key in parts[0].split_nids if key.startswith(f"{ntype}/")]
    check_choice(f"mask of {ntype}", place, chosen, known)
    ids = np.concatenate([part.split_nids[f"{ntype}/{chosen}"] for part in parts])
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


class Loader(Public):
    """Batches of a partitioned graph: an iterable, with each iteration another epoch.

    Epoch e has the same batches in every loader with the same seed and options. Set `epoch` to continue with another
    one.

    Attributes
    ----------
    epoch : int
        Number of the next epoch; random numbers depend on it.
    """

    def __init__(
        self,
        assembler: Assembler,
        seeds: Seeds,
        options: LoaderOptions,
        make: Callable[[np.ndarray, np.ndarray, np.uint64], Any],
    ) -> None:
        self.epoch = 0
        self._source, self._seeds, self._options, self._make = assembler.source, seeds, options, make
        self._cache = assembler.cache

    @property
    def rows_asked(self) -> int:
        """Rows of other parts that batches made so far needed, of node types in the `cache`; 0 without one."""
        return self._cache.asked

    @property
    def rows_found(self) -> int:
        """Those of them that were in the `cache`."""
        return self._cache.found

    def __len__(self) -> int:
        """Batches per epoch."""
        full, rest = divmod(self._seeds.count, self._options.batch_size)
        return full + (rest > 0 and not self._options.drop_last)

    def __iter__(self) -> Iterator[Any]:
        """Begin the next epoch."""
        self._source.check_unchanged()
        epoch, self.epoch = self.epoch, self.epoch + 1
        return self._batches(stream_key_of(stream_key(self._options.seed, "sampling"), epoch))

    def _batches(self, key: np.uint64) -> Iterator[Any]:
        numbers, threads = range(len(self)), self._options.num_workers
        if not threads:
            for number in numbers:
                yield self._batch(number, key)
            return
        ahead: deque[Any] = deque()
        with ThreadPoolExecutor(threads, "daskgraphpart-loader") as pool:
            try:
                for number in numbers:
                    ahead.append(pool.submit(self._batch, number, key))
                    if len(ahead) > threads * self._options.prefetch_factor:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for batch in ahead:
                    batch.cancel()

    def _batch(self, number: int, key: np.uint64) -> Any:
        options = self._options
        numbers, ids = self._seeds.batch(number, options.batch_size, key if options.shuffle else None)
        made = self._make(numbers, ids, stream_key_of(key, number + 1))
        return made if options.transform is None else options.transform(made)

    def __repr__(self) -> str:
        asked, hits = self.rows_asked, self.rows_found
        used = f", {hits:,} of {asked:,} rows of other parts found in the cache" if asked else ""
        return f"<Loader: {len(self):,} batches of {self._options.batch_size:,} of {self._seeds.count:,} seeds{used}>"
