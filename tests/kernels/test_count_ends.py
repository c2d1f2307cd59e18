"""The kernel that counts ends of edges, and its twin in plain numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.kernels.count_ends import count_ends


@given(
    num_edges=st.sampled_from((0, 1, 7, 100)),
    num_inner=st.integers(1, 20),
    num_halo=st.integers(0, 20),
    bounds=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    dtype=st.sampled_from((np.uint32, np.int64)),
    seed=st.integers(0, 2**32),
)
def test_ends_are_counted_as_numpy_counts_them(num_edges, num_inner, num_halo, bounds, dtype, seed) -> None:
    rng = np.random.default_rng(seed)
    num_nodes = num_inner + num_halo
    first, stop = sorted(min(bound, num_nodes) for bound in bounds)
    src, dst = rng.integers(0, num_nodes, num_edges), rng.integers(0, num_inner, num_edges)
    types = rng.integers(0, 3, num_edges)
    counts, cut = np.zeros(stop - first, dtype), np.zeros(3, np.int64)
    assert count_ends(src, dst, types, (num_inner, num_nodes), first, counts, cut) == -1
    foreign = src[src >= num_inner]
    expected = np.bincount(dst, minlength=num_nodes) + np.bincount(foreign, minlength=num_nodes)
    assert counts.tolist() == expected[first:stop].tolist()
    in_range = (src >= num_inner) & (src >= first) & (src < stop)
    assert cut.tolist() == np.bincount(types[in_range], minlength=3).tolist()


@given(bad=st.sampled_from(((-1, 0), (5, 0), (0, -1), (0, 3), (0, 5))), where=st.integers(0, 4))
def test_the_first_edge_with_an_end_outside_is_found(bad, where) -> None:
    src, dst = np.zeros(5, np.int64), np.zeros(5, np.int64)
    src[where], dst[where] = bad
    assert (
        count_ends(src, dst, np.zeros(5, np.int64), (3, 5), 0, np.zeros(5, np.uint32), np.zeros(1, np.int64)) == where
    )
