"""Make PyG's batches from samples: `Data` or `HeteroData`, with the names of PyG's own loaders.

Imports torch_geometric; call `pyg_module` first for a helpful error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch_geometric.data import Data, HeteroData

from daskgraphpart.errors import LayoutError
from daskgraphpart.ids.ranges import to_tensor
from daskgraphpart.partitioned.sampling.sampled_rows import FeatureRows, group_by_part
from daskgraphpart.partitioned.sampling.sampler import Located, Locator, Sampler
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from daskgraphpart.partitioned.hot_rows import CacheUse
    from daskgraphpart.partitioned.pyg.sampled_source import SampledSource
    from daskgraphpart.partitioned.pyg.seeds import Links

OWN_NAMES = (
    "batch_size", "dst_neg_index", "dst_pos_index", "e_id", "edge_index", "edge_label", "edge_label_index", "input_id",
    "n_id", "num_nodes", "num_sampled_edges", "num_sampled_nodes", "src_index",
)  # fmt: skip


class Assembler:
    """Makes batches of samples, with their features."""

    def __init__(self, source: SampledSource, sampler: Sampler, cache: CacheUse) -> None:
        self.cache = cache
        self.source, self.sampler, self.edges = source, sampler, Locator(source.book.edges)
        self.features: dict[str, list[FeatureRows]] = {}
        for of_kind in source.features:
            self.features.setdefault(of_kind.kind, []).append(of_kind)
        _check_names(source)

    def sample(self, seeds: np.ndarray, key: np.uint64) -> Any:
        """Sample around new homogeneous IDs."""
        sampled = self.sampler.sample(seeds, key)
        book, data = self.source.book, Data() if self.source.is_homogeneous else HeteroData()
        nodes, edges = self.sampler.nodes(sampled.nodes), self.edges(sampled.eids)
        ranks = np.empty(sampled.nodes.size, np.int64)  # position of a node among those of its type
        for number, ntype in enumerate(book.ntypes):
            places, store = _of_type(nodes, number, len(book.ntypes)), self.store(data, ntype)
            ranks[places] = np.arange(places.size)
            store["n_id"], store["num_nodes"] = self._fill(store, ntype, nodes, places), places.size
            store["num_sampled_nodes"] = _per_hop(places, (0, *sampled.node_ends))
        for number, etype in enumerate(book.etypes):
            places, store = _of_type(edges, number, len(book.etypes)), self.store(data, etype)
            ends = np.stack([ranks[sampled.rows[places]], ranks[sampled.cols[places]]])
            store["edge_index"] = torch.from_numpy(ends)
            store["e_id"] = self._fill(store, etype, edges, places)
            store["num_sampled_edges"] = _per_hop(places, sampled.edge_ends)
        return data

    def store(self, data: Any, kind: str) -> Any:
        """Storage of a type's attributes."""
        if self.source.is_homogeneous:
            return data
        return data[canonical_tuple(kind) if kind in self.source.book.etypes else kind]

    def _fill(self, store: Any, kind: str, located: Located, places: np.ndarray) -> Any:
        """Add the features of rows; return their type-wise IDs."""
        ids, owners, features = located.ids[places], located.owners[places], self.features.get(kind, ())
        hot = self.cache.by_type[kind].data if kind in self.cache.by_type else {}
        cached = [feature for feature in features if feature.name in hot]
        if cached:
            here, rows = self.cache.find(kind, ids, owners)
            rest = np.delete(np.arange(ids.size), here)
            groups = [(part, rest[of_part]) for part, of_part in group_by_part(owners[rest])]
            for feature in cached:
                gathered = feature.gather(ids, groups)
                gathered[here] = hot[feature.name][rows]
                store[feature.name] = to_tensor(gathered)
        if len(cached) < len(features):
            groups = [*group_by_part(owners)]
            for feature in features:
                if feature.name not in hot:
                    store[feature.name] = to_tensor(feature.gather(ids, groups))
        return torch.from_numpy(ids)

    def node_batch(self, ntype: str, is_listed: bool, positions: np.ndarray, ids: np.ndarray, key: np.uint64) -> Any:
        """Make a batch of nodes from positions of seeds and type-wise IDs."""
        data = self.sample(self.source.book.nodes.homogeneous(ids, ntype), key)
        store = self.store(data, ntype)
        store["input_id"], store["batch_size"] = torch.from_numpy(positions if is_listed else ids), ids.size
        return data

    def link_batch(self, links: Links, is_listed: bool, positions: np.ndarray, ids: np.ndarray, key: np.uint64) -> Any:
        """Make a batch of edges, likewise, with negative ones."""
        nodes, num_seeds = self.source.book.nodes, ids.size
        src_type, _, dst_type = canonical_tuple(links.etype)
        (src, dst), (negative_src, negative_dst) = links.ends(positions, ids), links.draw(num_seeds, key)
        src, dst = np.concatenate([src, negative_src]), np.concatenate([dst, negative_dst])
        if src_type == dst_type:
            both, places = np.unique(np.concatenate([src, dst]), return_inverse=True)
            seeds, (src_places, dst_places) = nodes.homogeneous(both, src_type), np.split(places, [src.size])
        else:
            (src, src_places), (dst, dst_places) = (np.unique(row, return_inverse=True) for row in (src, dst))
            seeds = np.concatenate([nodes.homogeneous(src, src_type), nodes.homogeneous(dst, dst_type)])
        data = self.sample(seeds, key)
        store = self.store(data, links.etype)
        store["input_id"] = torch.from_numpy(positions if is_listed else ids)
        if links.mode == "triplet":
            of_dst = self.store(data, dst_type)
            self.store(data, src_type)["src_index"] = torch.from_numpy(src_places)
            of_dst["dst_pos_index"] = torch.from_numpy(dst_places[:num_seeds])
            of_dst["dst_neg_index"] = torch.from_numpy(dst_places[num_seeds:]).view(num_seeds, -1).squeeze(-1)
            return data
        store["edge_label_index"] = torch.from_numpy(np.stack([src_places, dst_places]))
        labels = None if links.labels is None else links.labels[torch.from_numpy(positions)]
        if links.mode == "binary":
            labels = torch.ones(num_seeds) if labels is None else labels
            labels = torch.cat([labels, labels.new_zeros((negative_src.size, *labels.shape[1:]))])
        if labels is not None:
            store["edge_label"] = labels
        return data


def _of_type(located: Located, number: int, num_types: int) -> np.ndarray:
    """Positions of a type's rows."""
    return np.arange(located.types.size) if num_types == 1 else np.flatnonzero(located.types == number)


def _per_hop(places: np.ndarray, ends: Sequence[int]) -> list[int]:
    """Rows of each hop; `ends` are row counts of all types before and after it."""
    counts: list[int] = np.diff(np.searchsorted(places, ends)).tolist()
    return counts


def _check_names(source: SampledSource) -> None:
    seen: set[tuple[str, str]] = set()
    for feature in source.features:
        key = ("" if source.is_homogeneous else feature.kind, feature.name)
        if feature.name in OWN_NAMES or key in seen:
            raise LayoutError(
                "the name of this feature is taken",
                place=f"{feature.kind}/{feature.name}",
                expected=f"not {', '.join(OWN_NAMES)}; in a homogeneous graph other names for nodes and edges",
                hint="list the features you want: node_data=[...], edge_data=[...]",
            )
        seen.add(key)
