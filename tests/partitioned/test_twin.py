"""The sampler picks what its twin in plain Python picks: nodes, edges, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chi_square import chance
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.ids.book import PartitionBook
from daskgraphpart.kernels.copy_rows import copy_rows
from daskgraphpart.kernels.hashing import GOLDEN, stream_key, stream_key_of
from daskgraphpart.kernels.sample import shuffled
from daskgraphpart.partitioned.sampling.part_columns import PartColumns
from daskgraphpart.partitioned.sampling.sampler import Sampler
from daskgraphpart.schema import canonical_tuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MASK = (1 << 64) - 1
OF_TYPE = 0xD6E8FEB86659FD93


def splitmix64(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def picks(stream: int, degree: int, fanout: int, replace: bool) -> list[int]:
    """Places that are picked in a column."""
    if degree == 0 or fanout == 0:
        return []
    if fanout < 0 or (not replace and degree <= fanout):
        return [*range(degree)]
    if replace:
        return [splitmix64((stream + (number + 1) * GOLDEN) & MASK) % degree for number in range(fanout)]
    found: list[int] = []
    for number in range(fanout):
        last = degree - fanout + number
        pick = splitmix64((stream + (number + 1) * GOLDEN) & MASK) % (last + 1)
        found.append(last if pick in found else pick)
    return found


def twin(
    book: PartitionBook,
    src: np.ndarray,
    dst: np.ndarray,
    fanouts: np.ndarray,
    seeds: Sequence[int],
    key: Any,
    **how: bool,
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Nodes, and edges (row, column, ID), given the ends of all edges by new homogeneous ID."""
    types = book.edges.per_type(np.arange(src.size))[0] if src.size else np.zeros(0, int)
    nodes, first = [*seeds], 0
    places: dict[int, int] = {}
    for place, node in enumerate(nodes):
        places.setdefault(node, place)
    edges = []
    for hop, of_types in enumerate(fanouts.tolist()):
        hop_key, frontier = int(stream_key_of(key, hop)), [*enumerate(nodes)][first:]
        first = 0 if how.get("from_all") else len(nodes)
        for place, node in frontier:
            for etype, fanout in enumerate(of_types):
                column = np.flatnonzero((dst == node) & (types == etype))
                stream = splitmix64((hop_key + node * GOLDEN) & MASK) + etype * OF_TYPE & MASK
                for pick in picks(stream, column.size, fanout, how.get("replace", False)):
                    eid = int(column[pick])
                    source = int(src[eid])
                    if source not in places:
                        places[source] = len(nodes)
                        nodes.append(source)
                    edges.append((places[source], place, eid))
    return nodes, edges


def random_parts(
    rng: np.random.Generator, num_parts: int, etypes: Sequence[str], num_edges: int, dtype: type
) -> tuple[PartitionBook, np.ndarray, np.ndarray, list[PartColumns]]:
    """A book, all edges by new homogeneous ID, and the CSC of each part with its halo nodes."""
    ntypes = sorted({end for etype in etypes for end in canonical_tuple(etype)[::2]})
    node_counts = rng.integers(1, 5, (num_parts, len(ntypes)))
    edge_counts = rng.multinomial(num_edges, np.ones(num_parts * len(etypes)) / num_parts / len(etypes))
    book = PartitionBook.from_counts(ntypes, etypes, node_counts, edge_counts.reshape(num_parts, -1))
    src, dst = np.empty((2, num_edges), np.int64)
    for part in range(num_parts):
        for number, etype in enumerate(etypes):
            low, high = book.edge_ranges[part, number]
            begin, _, end = canonical_tuple(etype)
            size, own = book.part_range(num_parts - 1, begin)[1], book.node_ranges[part, ntypes.index(end)]
            src[low:high] = book.nodes.homogeneous(rng.integers(0, size, high - low), begin)
            dst[low:high] = rng.integers(*own, high - low)
    columns = [_columns(book, part, src, dst, rng, dtype) for part in range(num_parts)]
    return book, src, dst, columns


def _columns(
    book: PartitionBook, part: int, src: np.ndarray, dst: np.ndarray, rng: np.random.Generator, dtype: type
) -> PartColumns:
    nids, eids = book.nodes.part_range(part), book.edges.part_range(part)
    halo = np.setdiff1d(src[slice(*eids)], np.arange(*nids))
    # with the in-edges of its halo nodes, as with two hops; their sources may be halo nodes, too
    extra = np.flatnonzero(np.isin(dst, halo))
    halo = np.union1d(halo, np.setdiff1d(src[extra], np.arange(*nids)))
    new_nids, new_eids = np.concatenate([np.arange(*nids), halo]), np.concatenate([np.arange(*eids), extra])
    local = {int(node): place for place, node in enumerate(new_nids)}
    order = np.argsort([local[int(node)] for node in dst[new_eids]], kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount([local[int(node)] for node in dst[new_eids]], minlength=len(local))))
    indices = np.array([local[int(node)] for node in src[new_eids[order]]], dtype)
    is_empty = bool(rng.integers(0, 2)) and np.array_equal(order, np.arange(order.size))
    data = (order[:0] if is_empty else order).astype(dtype)
    return PartColumns(part, "graph.dgl", indptr.astype(dtype), indices, data, new_nids, new_eids, *nids, *eids)


@given(
    st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.integers(0, 60), st.booleans(), st.booleans(),
    st.sampled_from([["n:r:n"], ["u:r:v"], ["u:r:v", "v:s:u", "u:t:v"]]), st.sampled_from([np.int64, np.int32]),
)  # fmt: skip
def test_the_sampler_equals_its_twin(seed, num_parts, num_edges, replace, from_all, etypes, dtype) -> None:
    rng = np.random.default_rng(seed)
    book, src, dst, columns = random_parts(rng, num_parts, etypes, num_edges, dtype)
    fanouts = rng.choice([-1, 0, 1, 2, 5], (int(rng.integers(1, 4)), len(etypes)))
    num_nodes = int(book.node_ranges.max())
    seeds, key = rng.integers(0, num_nodes, int(rng.integers(1, 6))), stream_key(seed, "test")
    how = {"replace": replace, "from_all": from_all}
    sampled = Sampler(book, columns, fanouts, **how).sample(seeds, key)
    nodes, edges = twin(book, src, dst, fanouts, seeds.tolist(), key, **how)
    assert sampled.nodes.tolist() == nodes
    found = zip(sampled.rows.tolist(), sampled.cols.tolist(), sampled.eids.tolist(), strict=True)
    assert [*found] == edges
    assert sampled.node_ends[-1] == len(nodes)
    assert sampled.edge_ends[-1] == len(edges)
    if num_parts == 1:
        return
    # one part, whose nodes' neighbours have all of theirs: two hops are those of the whole graph
    part = int(rng.integers(num_parts))
    own = rng.integers(*book.nodes.part_range(part), 3)
    alone = Sampler(book, columns[part : part + 1], fanouts[:2], **how).sample(own, key)
    nodes, edges = twin(book, src, dst, fanouts[:2], own.tolist(), key, **how)
    assert alone.nodes.tolist() == nodes
    assert [*zip(alone.rows.tolist(), alone.cols.tolist(), alone.eids.tolist(), strict=True)] == edges


@given(st.integers(0, 10**6), st.integers(1, 70_000), st.integers(1, 50))
def test_a_shuffle_is_an_order_of_all_items_however_it_is_cut(seed: int, num_items: int, cuts: int) -> None:
    key, order = stream_key(seed, "shuffle"), np.empty(num_items, np.int64)
    shuffled(key, 0, num_items, order)
    assert np.array_equal(np.sort(order), np.arange(num_items))
    first = num_items * (cuts - 1) // cuts
    rest = np.empty(num_items - first, np.int64)
    shuffled(key, first, num_items, rest)
    assert rest.tolist() == order[first:].tolist()


@pytest.mark.parametrize("num_items", [7, 1000, 70_000])
def test_every_item_is_as_likely_at_every_place(num_items: int) -> None:
    first = np.empty(2, np.int64)
    found = []
    for seed in range(5_000):
        shuffled(stream_key(seed, "shuffle"), 0, num_items, first)
        found.append(first * 7 // num_items)
    counts = np.bincount(np.array(found) @ np.array([1, 7]), minlength=49).astype(float)
    groups = np.bincount(np.arange(num_items) * 7 // num_items)
    pairs = np.outer(groups, groups) - np.diag(groups)
    wanted = (pairs.T / pairs.sum() * 5_000).reshape(-1)
    assert chance(counts[wanted > 0], wanted[wanted > 0]) > 0.001


def test_rows_that_are_not_there_are_found() -> None:
    source, out = np.arange(12, dtype=np.uint8).reshape(4, 3), np.zeros((3, 3), np.uint8)
    assert copy_rows(source, np.array([3, 0]), np.array([0, 2]), out) == -1
    assert out.tolist() == [[9, 10, 11], [0, 0, 0], [0, 1, 2]]
    for bad in (-1, 4):
        assert copy_rows(source, np.array([0, bad]), np.array([0, 1]), out) == 1
