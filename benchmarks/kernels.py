"""Each kernel against its numpy form, and against the bandwidth of memory."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np
from harness import show

from daskgraphpart.kernels.bitmap import add_foreign, empty_bitmap, local_ids, rank_words
from daskgraphpart.kernels.compress import place_by_key, scatter
from daskgraphpart.kernels.hashing import stream_key, uniform_ints
from daskgraphpart.kernels.owner_sort import count_owners, group_starts, look_up_owners, scatter_edges
from daskgraphpart.kernels.parse_ints import count_lines, parse_edges

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=4e6)
    parser.add_argument("--nodes", type=float, default=5e6)
    parser.add_argument("--parts", type=int, default=8)
    options = parser.parse_args()
    rows, nodes, parts = int(options.rows), int(options.nodes), options.parts
    rng = np.random.default_rng(0)
    src, dst = rng.integers(0, nodes, rows), rng.integers(0, nodes, rows)
    owner_of = np.empty(nodes, np.uint8)
    uniform_ints(stream_key(0, "owners"), 0, parts, owner_of)
    new_ids = rng.permutation(nodes).astype(np.int32)
    owners, counts = owner_of[dst], np.bincount(owner_of[dst], minlength=parts)
    run = np.empty((3, rows), np.int32)
    words, out = empty_bitmap(nodes), np.empty(rows, np.int64)
    add_foreign(src, 0, nodes // parts, words)
    ranks = np.empty(words.size, np.int64)
    rank_words(words, ranks)
    text = np.frombuffer("".join(f"{a} {b}\n" for a, b in zip(src[:200_000], dst, strict=False)).encode(), np.uint8)
    lines = min(rows, 200_000)
    keys, degrees = dst % 1000, np.bincount(dst % 1000, minlength=1000)
    halo = np.unique(src[src >= nodes // parts])

    def sort_numpy() -> None:
        order = np.argsort(owners, kind="stable")
        np.stack([new_ids[src][order], new_ids[dst][order], order.astype(np.int32)])

    def sort_by_key() -> None:
        places = np.empty(rows, np.int64)
        place_by_key(keys, 0, group_starts(degrees)[:-1], places)
        scatter(src, places, 0, out)

    cases: list[tuple[str, int, Callable[[], object], Callable[[], object]]] = [
        (
            "look_up_owners",
            rows,
            lambda: look_up_owners(src, dst, nodes, owner_of, owners.copy(), np.zeros(parts, np.int64)),
            lambda: np.bincount(owner_of[dst]) if dst.min() >= 0 and dst.max() < nodes and src.max() < nodes else None,
        ),
        (
            "scatter_edges",
            rows,
            lambda: scatter_edges((src, dst), (new_ids, new_ids), owners, group_starts(counts)[:-1], run),
            sort_numpy,
        ),
        (
            "count_owners",
            rows,
            lambda: count_owners(owners, parts, np.zeros(parts, np.int64)),
            lambda: np.bincount(owners, minlength=parts),
        ),
        ("add_foreign", rows, lambda: add_foreign(src, 0, nodes // parts, empty_bitmap(nodes)), lambda: np.unique(src)),
        (
            "local_ids",
            rows,
            lambda: local_ids(src, 0, nodes // parts, words, ranks, out),
            lambda: np.where(src < nodes // parts, src, np.searchsorted(halo, src)),
        ),
        (
            "place_by_key, scatter",
            rows,
            sort_by_key,
            lambda: src[np.argsort(keys, kind="stable")],
        ),
        ("count_lines", lines, lambda: count_lines(text), lambda: np.count_nonzero(text == 10)),
        (
            "parse_edges",
            lines,
            lambda: parse_edges(text, 32, (0, 1), 0, np.empty(lines, np.int64), np.empty(lines, np.int64)),
            lambda: np.fromstring(text.tobytes(), np.int64, sep=" "),
        ),
        (
            "uniform_ints",
            rows,
            lambda: uniform_ints(stream_key(0, "x"), 0, parts, np.empty(rows, np.uint8)),
            lambda: rng.integers(0, parts, rows, dtype=np.uint8),
        ),
    ]
    table = []
    for name, count, kernel, numpy_form in cases:
        ours, theirs = fastest(kernel), fastest(numpy_form)
        table.append([name, f"{count / ours / 1e6:.0f}", f"{count / theirs / 1e6:.0f}", f"{theirs / ours:.1f}"])
    show(["kernel", "M rows/s", "numpy, M rows/s", "times faster"], table)
    source = np.ones(64 << 20, np.uint8)
    target = np.empty_like(source)
    print(f"\nmemory copy: {source.size / fastest(lambda: np.copyto(target, source)) / 1e9:.1f} GB/s")
    print(f"parse_edges: {text.size / fastest(cases[-2][2]) / 1e6:.0f} MB/s of text")


def fastest(call: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest of some calls, the first not counted."""
    call()
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


if __name__ == "__main__":
    main()
