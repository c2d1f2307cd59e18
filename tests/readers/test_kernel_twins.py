"""The generator's kernels equal their twins in plain numpy, and draw what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import RMAT_THRESHOLDS

from daskgraphpart.kernels.hashing import distinct_words, stream_key, uniform_ints
from daskgraphpart.kernels.synthetic import rmat_edges, skewed_ids, uniform_floats, uniform_shares

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = st.integers(0, 2**40)
SIZES = st.integers(0, 40)
SEEDS = st.integers(-(2**63), 2**63 - 1)


def splitmix64_twin(words: np.ndarray) -> np.ndarray:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def words_twin(key: np.uint64, first: int, size: int) -> np.ndarray:
    return splitmix64_twin(np.full(size, key) + (np.arange(size, dtype=np.uint64) + np.uint64(first)) * GOLDEN)


def rmat_twin(key: np.uint64, first: int, num_nodes: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    levels = (num_nodes - 1).bit_length()
    first_third, half, second_third = RMAT_THRESHOLDS
    state = words_twin(key, first, size)
    src, dst = np.zeros(size, np.int64), np.zeros(size, np.int64)
    left = np.arange(size)
    while left.size:
        row, column = np.zeros(left.size, np.int64), np.zeros(left.size, np.int64)
        for level in range(levels):
            if level % 4 == 0:
                state[left] += GOLDEN
                words = splitmix64_twin(state[left])
            draws = (words >> np.uint64(16 * (level % 4)) & np.uint64(0xFFFF)).astype(np.int64)
            row = 2 * row + (draws >= half)
            column = 2 * column + (((draws >= first_third) & (draws < half)) | (draws >= second_third))
        src[left], dst[left] = row, column
        left = left[(row >= num_nodes) | (column >= num_nodes)]
    return src, dst


@given(SEEDS, FIRST, st.integers(1, 2**33), SIZES)
def test_rmat_edges_equal_their_twin(seed: int, first: int, num_nodes: int, size: int) -> None:
    key = stream_key(seed, "edges")
    src, dst = np.empty(size, np.int64), np.empty(size, np.int64)
    rmat_edges(key, first, num_nodes, RMAT_THRESHOLDS, src, dst)
    expected = rmat_twin(key, first, num_nodes, size)
    assert [ids.tolist() for ids in expected] == [src.tolist(), dst.tolist()]
    assert size == 0 or 0 <= min(src.min(), dst.min()) <= max(src.max(), dst.max()) < num_nodes


@given(SEEDS, FIRST, st.integers(1, 2**31), SIZES)
def test_uniform_integers_equal_their_twin(seed: int, first: int, bound: int, size: int) -> None:
    key, out = stream_key(seed, "ints"), np.empty(size, np.int64)
    uniform_ints(key, first, bound, out)
    assert (
        (words_twin(key, first, size) >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32)
    ).tolist() == out.tolist()


@given(SEEDS, FIRST, SIZES)
def test_distinct_words_equal_their_twin(seed: int, first: int, size: int) -> None:
    key, out = stream_key(seed, "words"), np.empty(size, np.uint64)
    distinct_words(key, first, out)
    assert words_twin(key, first, size).tolist() == out.tolist()
    assert len({*out.tolist()}) == size


@given(SEEDS, FIRST, SIZES)
def test_uniform_floats_equal_their_twin(seed: int, half_of_first: int, size: int) -> None:
    key, out = stream_key(seed, "floats"), np.empty(size, np.float32)
    uniform_floats(key, 2 * half_of_first, out)
    words = words_twin(key, half_of_first, (size + 1) // 2)
    pairs = np.stack([words >> np.uint64(40), words & np.uint64(0xFFFFFF)], axis=1)
    assert (pairs.reshape(-1)[:size] / 2**24).astype(np.float32).tolist() == out.tolist()


@given(SEEDS, FIRST, SIZES)
def test_uniform_shares_equal_their_twin(seed: int, first: int, size: int) -> None:
    key, out = stream_key(seed, "shares"), np.empty(size)
    uniform_shares(key, np.arange(first, first + size), out)
    assert ((words_twin(key, first, size) >> np.uint64(11)) / 2.0**53).tolist() == out.tolist()


@given(SEEDS, FIRST, st.integers(1, 2**33), st.sampled_from([1.0, 2.0, 2.5, 3.0]), SIZES)
def test_skewed_ids_equal_their_twin(seed: int, first: int, num_nodes: int, skew: float, size: int) -> None:
    key, out = stream_key(seed, "skewed"), np.empty(size, np.int64)
    skewed_ids(key, first, num_nodes, skew, out)
    shares = (words_twin(key, first, size) >> np.uint64(11)) / 2.0**53
    expected = np.minimum(num_nodes - 1, (num_nodes * shares**skew).astype(np.int64))
    # numpy and the compiler may round the last bit of a power differently
    assert np.abs(expected - out).max(initial=0) <= 1
    assert size == 0 or (out.min() >= 0 and out.max() < num_nodes)


@pytest.mark.parametrize("num_nodes", [1 << 10, 1000])
def test_quadrants_of_rmat_have_their_shares(num_nodes: int) -> None:
    src, dst = np.empty(200_000, np.int64), np.empty(200_000, np.int64)
    rmat_edges(stream_key(0, "quadrants"), 0, 1 << 10, RMAT_THRESHOLDS, src, dst)
    kept = (src < num_nodes) & (dst < num_nodes)
    expected = np.histogram2d(src[kept], dst[kept], bins=2, range=[[0, 1024]] * 2)[0] / kept.sum()
    if num_nodes == 1 << 10:
        assert np.abs(expected - [[0.57, 0.19], [0.19, 0.05]]).max() < 0.005
    rmat_edges(stream_key(1, "quadrants"), 0, num_nodes, RMAT_THRESHOLDS, src, dst)
    found = np.histogram2d(src, dst, bins=2, range=[[0, 1024]] * 2)[0] / src.size
    # drawing again what is out of range keeps the proportions of what is in range
    assert np.abs(expected - found).max() < 0.005
