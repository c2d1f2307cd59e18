"""The kernels that find repeated edges equal their twins in plain numpy and Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daskgraphpart.kernels.repeated_pairs import bucket_pairs, empty_table, mark_repeats


@given(st.integers(0, 300), st.sampled_from((1, 3, 2**31 - 1)), st.sampled_from(("<i4", "<i8")), st.integers(0, 99))
def test_repeats_are_those_numpy_finds(size: int, num_ids: int, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = (rng.integers(0, num_ids, size).astype(dtype) for _ in range(2))
    _, first = np.unique(np.stack([src, dst]), axis=1, return_index=True)
    expected = np.ones(size, bool)
    expected[first] = False
    removed = np.zeros(size, np.uint8)
    mark_repeats(src, dst, removed, empty_table(size))
    assert removed.astype(bool).tolist() == expected.tolist()


def test_what_is_marked_already_is_passed_over() -> None:
    src, dst, removed = np.array([1, 1, 1]), np.array([2, 2, 2]), np.array([1, 0, 0], np.uint8)
    mark_repeats(src, dst, removed, empty_table(3))
    assert removed.tolist() == [1, 0, 1]


def test_equal_pairs_share_a_bucket_and_others_are_spread_evenly() -> None:
    src, dst = (axis.ravel() for axis in np.meshgrid(np.arange(300), np.arange(300)))
    of_wide, of_narrow = np.empty(src.size, np.uint32), np.empty(src.size, np.uint32)
    bucket_pairs(src, dst, 16, of_wide)
    bucket_pairs(src.astype(np.int32), dst.astype(np.int32), 16, of_narrow)
    assert of_wide.tolist() == of_narrow.tolist()
    counts = np.bincount(of_wide, minlength=16)
    assert counts.min() > 0.9 * src.size / 16 and counts.max() < 1.1 * src.size / 16
