"""Ask for ranges of objects that lie close to each other by one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.storage.object_store import (
    MAX_GAP_NBYTES,
    MAX_REQUEST_NBYTES,
    open_store,
    wrong_number_of_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

    from daskgraphpart.storage.store_workspace.pieced_file import Request

MAX_RANGES = 64
"""Ranges of objects that are asked for at a time."""


def read_merged(directory: UPath, requests: Sequence[Request]) -> list[memoryview]:
    """Read ranges of objects in a directory, some at a time; neighbours are one request."""
    spans = merge_ranges(requests)
    contents: list[bytes] = []
    for first in range(0, len(spans), MAX_RANGES):
        names, starts, stops = ([*column] for column in zip(*spans[first : first + MAX_RANGES], strict=True))
        with open_store(directory) as fs:
            paths = [f"{directory.path}/{name}" for name in names]
            contents += fs.cat_ranges(paths, starts, stops, on_error="raise")
    for content, (name, start, stop) in zip(contents, spans, strict=True):
        if len(content) != stop - start:
            raise wrong_number_of_bytes(directory / name, stop - start, len(content))
    return cut_ranges(requests, spans, contents)


def merge_ranges(requests: Sequence[Request]) -> list[Request]:
    """Return ranges that hold all requested ones, sorted; none is longer than a request need be."""
    spans: list[Request] = []
    for name, start, stop in sorted(requests):
        if spans and spans[-1][0] == name:
            _, first, last = spans[-1]
            if start <= last + MAX_GAP_NBYTES and max(stop, last) - first <= MAX_REQUEST_NBYTES:
                spans[-1] = name, first, max(stop, last)
                continue
        spans.append((name, start, stop))
    return spans


def cut_ranges(requests: Sequence[Request], spans: Sequence[Request], contents: Sequence[bytes]) -> list[memoryview]:
    """Return what was requested, in order, from the contents of `merge_ranges`."""
    pieces = [memoryview(b"")] * len(requests)
    span = 0
    for number in sorted(range(len(requests)), key=lambda number: requests[number]):
        name, start, stop = requests[number]
        while not (spans[span][0] == name and start >= spans[span][1] and stop <= spans[span][2]):
            span += 1
        first = spans[span][1]
        pieces[number] = memoryview(contents[span])[start - first : stop - first]
    return pieces
