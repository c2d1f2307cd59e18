"""Read users' seeds: nodes, or edges with random negative ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.errors import IdOutOfRangeError, LayoutError, OptionError
from daskgraphpart.extras import pyg_module
from daskgraphpart.ids.fanouts import resolve_type
from daskgraphpart.ids.ranges import as_ids, check_ids, is_tensor, places_by_part, to_array
from daskgraphpart.kernels.hashing import stream_key_of, uniform_ints
from daskgraphpart.partitioned.sampling.sampler import Locator, Seeds
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from daskgraphpart.partitioned.pyg.sampled_source import SampledSource


def split_type(given: Any, names: tuple[str, ...], resolve: Callable[[Any], str], place: str) -> tuple[str, Any]:
    """Split seeds into a type and IDs: ``(type, ids)``, a type, or, with one type, IDs."""
    if isinstance(given, (tuple, list)) and len(given) == 2 and _is_type(given[0]):
        return resolve_type(given[0], resolve, place), given[1]
    if _is_type(given):
        return resolve_type(given, resolve, place), None
    if len(names) > 1:
        expected = f"a type, or a pair of a type and IDs or a mask; types are {', '.join(names)}"
        raise OptionError("the type of the seeds is missing", place=place, expected=expected, found=_shown(given))
    return names[0], given


def _is_type(given: Any) -> bool:
    return isinstance(given, str) or (
        isinstance(given, tuple) and len(given) == 3 and all(isinstance(name, str) for name in given)
    )


def _shown(given: Any) -> str:
    return repr(given) if given is None or isinstance(given, (str, tuple)) else type(given).__name__


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Edges of one type as seeds; node IDs are new and type-wise."""

    etype: str
    pairs: (
        np.ndarray | EndLookup
    )  # int64 (2, seeds): the ends; or where to look them up, if seeds are edges of the graph
    labels: Any  # tensor with a row per seed, or None
    mode: str | None  # of negative edges: "binary", "triplet" or None
    amount: float  # negative edges per seed
    negatives: tuple[tuple[int, int], tuple[int, int]]  # ranges of sources and destinations for negatives

    def ends(self, positions: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Ends of seeds at some positions, or with these type-wise IDs, int64 (2, seeds)."""
        return self.pairs[:, positions] if isinstance(self.pairs, np.ndarray) else self.pairs(ids)

    def draw(self, num_seeds: int, key: np.uint64) -> tuple[np.ndarray, np.ndarray]:
        """Draw the ends of negative edges uniformly; for triplets only destinations."""
        count = 0 if self.mode is None else math.ceil(num_seeds * self.amount)
        ends = np.empty((2, count), np.int64)
        for number, (first, stop) in enumerate(self.negatives):
            uniform_ints(stream_key_of(key, -1 - number), 0, stop - first, ends[number])
            ends[number] += first
        return (ends[0, :0] if self.mode == "triplet" else ends[0]), ends[1]


class EndLookup:
    """Look up the ends of edges of a type, in the COO of their owners."""

    def __init__(self, source: SampledSource, etype: str) -> None:
        self.edges, self.etype = source.book.edges, etype
        self.owner_of, self.node_of = Locator(source.book.edges), Locator(source.book.nodes)
        self.columns = {part.part_id: part for part in source.columns}
        self.coo = {}
        for part, graph in zip(source.columns, source.graphs, strict=True):
            if "coo" not in graph.formats:
                raise LayoutError(
                    "the ends of edges are not stored by ID",
                    file=part.path,
                    expected="the graph format coo",
                    found=", ".join(graph.formats),
                    hint="give the ends of the edges as two rows of node IDs, or partition with graph_formats=coo,csc",
                )
            self.coo[part.part_id] = [np.asarray(graph.formats["coo"][name].memmap()) for name in ("row", "col")]

    def __call__(self, ids: np.ndarray) -> np.ndarray:
        """Type-wise IDs of sources and destinations, int64 (2, edges), by those of edges."""
        eids = self.edges.homogeneous(ids, self.etype)
        ends = np.empty((2, eids.size), np.int64)
        for number, places in places_by_part(self.owner_of(eids).owners):
            part = self.columns[number]
            for row, stored in zip(ends, self.coo[number], strict=True):
                local = stored[eids[places] - part.first_eid]
                check_ids(local, part.new_nids.size, f"{part.path}: local node")
                row[places] = part.new_nids[local]
        return np.stack([self.node_of(row).ids for row in ends])


def read_links(source: SampledSource, etype: str, given: Any, labels: Any, negative: Any) -> tuple[Links, Seeds]:
    """Read the arguments of an edge loader: pairs of node IDs, edge IDs, a mask of edges, or None for all."""
    place = "edge_label_index"
    src, _, dst = canonical_tuple(etype)
    ranges = source.id_range(src), source.id_range(dst)
    links = given if given is None or is_tensor(given) else np.asarray(given)
    if links is not None and links.ndim == 2:
        if len(links) != 2:
            raise OptionError("not pairs of nodes", place=place, expected="shape (2, edges)", found=tuple(links.shape))
        rows = [seeds_of(source, ntype, row, place).ids for ntype, row in zip((src, dst), links, strict=True)]
        pairs: Any = np.array(rows, np.int64)
        seeds = Seeds(0, pairs.shape[1])
    else:
        seeds = seeds_of(source, etype, links, place)
        pairs = EndLookup(source, etype)
    mode, amount = read_negative_sampling(negative)
    if mode is not None and any(first == stop for first, stop in ranges):
        raise OptionError(
            "no nodes to draw negative edges from", place="neg_sampling", found=f"no node of {src} or {dst}"
        )
    return Links(etype, pairs, _read_labels(labels, seeds.count, mode), mode, amount, ranges), seeds


def seeds_of(source: SampledSource, kind: str, given: Any, place: str) -> Seeds:
    """Read type-wise IDs or a mask of nodes or edges: an array, a tensor, a list, or a dask array.

    Masks have a row for every node or edge of the graph. One part has seeds only among those that it owns.
    """
    first, stop = source.id_range(kind)
    if given is None:
        return Seeds(first, stop - first)
    num_rows = source.book.part_range(source.book.num_parts - 1, kind)[1]
    array: Any = given if is_tensor(given) else np.asarray(given)
    if array.ndim != 1:
        raise OptionError(
            f"not {kind}", place=place, expected="one row of IDs, or a mask", found=f"shape {array.shape}"
        )
    is_mask = str(array.dtype) in ("bool", "torch.bool")
    if is_mask and len(array) != num_rows:
        expected = f"{num_rows:,}, one for each of {kind}"
        raise OptionError("wrong length of a mask", place=place, expected=expected, found=f"{len(array):,}")
    try:
        ids = np.flatnonzero(to_array(array) if is_tensor(array) else array) if is_mask else as_ids(array)
        check_ids(ids, num_rows, kind)
    except IdOutOfRangeError as fault:
        raise fault.restated(IdOutOfRangeError, place=place) from None
    own = (ids >= first) & (ids < stop)
    if not is_mask and not own.all():
        expected = f"[{first:,}, {stop:,}), of {kind} in part {source.part_id}"
        raise OptionError("not owned by the part", place=place, expected=expected, found=int(ids[~own][0]))
    return Seeds(0, int(own.sum()), ids if own.all() else ids[own], is_listed=not is_mask)


def read_negative_sampling(given: Any) -> tuple[str | None, float]:
    """Read PyG's `neg_sampling`: mode and amount."""
    if given is None:
        return None, 0.0
    try:
        sampling = pyg_module("torch_geometric.sampler").NegativeSampling.cast(given)
    except (ValueError, TypeError) as fault:
        expected = '"binary", "triplet", or torch_geometric.sampler.NegativeSampling'
        raise OptionError("unknown", place="neg_sampling", expected=expected, found=repr(given)) from fault
    if sampling.src_weight is not None or sampling.dst_weight is not None:
        raise OptionError("negative edges are drawn uniformly", place="neg_sampling", found="node weights")
    return str(sampling.mode.value), float(sampling.amount)


def _read_labels(labels: Any, num_seeds: int, mode: str | None) -> Any:
    if labels is None:
        return None
    torch = pyg_module("torch")
    labels = labels if is_tensor(labels) else torch.as_tensor(labels)
    if len(labels) != num_seeds:
        raise OptionError("wrong number of labels", place="edge_label", expected=f"{num_seeds:,}", found=len(labels))
    if mode == "triplet":
        hint = "leave it out, or draw binary negatives"
        raise OptionError("triplets have no labels", place="edge_label", found="edge_label", hint=hint)
    # as in PyG: 0 is the label of negative edges
    return labels + 1 if mode == "binary" and num_seeds and to_array(labels).min() == 0 else labels
