"""Files that many tasks write at offsets, in a store that cannot: each task's writes are one object.

An *index* says where each stretch of such a file lies: a small object, put when the file is created and after every
pass that wrote to it. What no task wrote is zero, as in a file with holes. Ranges that lie close to each other are one
request.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.errors import ResumeError
from daskgraphpart.storage.object_store import MAX_GAP_NBYTES, MAX_REQUEST_NBYTES, open_store, wrong_number_of_bytes

if TYPE_CHECKING:
    from upath import UPath


FORMAT = {"format": "daskgraphpart pieces", "version": 2}
OBJECT, POSITION, OFFSET, NBYTES = range(4)


MAX_RANGES = 64
"""Ranges of objects that are asked for at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class PiecedFile:
    """A file's size, constant bytes by offset, names of objects, and stretches int64 (n, 4), by offset."""

    nbytes: int
    version: str  # changes with the content
    constants: tuple[tuple[int, bytes], ...]
    objects: tuple[str, ...]
    stretches: np.ndarray

    def read_into(
        self, buffer: memoryview, start: int, read: Callable[[Sequence[Request]], Sequence[memoryview]]
    ) -> None:
        """Fill a buffer from an offset of the file; `read` fetches ranges of objects."""
        stop = start + len(buffer)
        buffer[:] = bytes(len(buffer))
        for offset, constant in self.constants:
            low, high = max(offset, start), min(offset + len(constant), stop)
            if low < high:
                buffer[low - start : high - start] = constant[low - offset : high - offset]
        wanted = list(self._within(start, stop))
        contents = read([(name, position, position + nbytes) for name, position, _, nbytes in wanted])
        for (_, _, offset, nbytes), content in zip(wanted, contents, strict=True):
            buffer[offset - start : offset - start + nbytes] = content

    def _within(self, start: int, stop: int) -> Iterator[tuple[str, int, int, int]]:
        """Object, position, offset and bytes of what lies between two offsets."""
        offsets = self.stretches[:, OFFSET]
        first = int(np.searchsorted(offsets + self.stretches[:, NBYTES], start, side="right"))
        last = int(np.searchsorted(offsets, stop, side="left"))
        for number, position, offset, nbytes in self.stretches[first:last].tolist():
            low, high = max(offset, start), min(offset + nbytes, stop)
            yield self.objects[number], position + low - offset, low, high - low


Request: TypeAlias = "tuple[str, int, int]"
"""A name, and a range of bytes."""


def new_index(nbytes: int, constants: Sequence[tuple[int, bytes]], number: int) -> dict[str, Any]:
    """Describe a file that no task has written to, as JSON; `number` is that of the pass that follows."""
    encoded = [[offset, base64.b64encode(content).decode("ascii")] for offset, content in constants]
    return {**FORMAT, "nbytes": nbytes, "created": number, "constants": encoded, "passes": {}}


def with_writes(index: Mapping[str, Any], number: int, writes: Sequence[tuple[str, list[list[int]]]]) -> dict[str, Any]:
    """Add what a pass of that number wrote to the file: objects and stretches; the same again changes nothing."""
    return {**index, "passes": {**index["passes"], str(number): [[name, places] for name, places in writes]}}


def dump_index(index: Mapping[str, Any]) -> bytes:
    """Write an index as bytes, after their CRC-32."""
    content = json.dumps(index, separators=(",", ":")).encode()
    return b"%08x %s" % (zlib.crc32(content), content)


def load_index(content: bytes, path: UPath) -> dict[str, Any]:
    """Read an index; `ResumeError` if it is not as it was written."""
    if content[:9] != b"%08x " % zlib.crc32(content[9:]):
        what, hint = "an index of the unfinished run is damaged", "add --restart to start over"
        raise ResumeError(what, file=path, hint=hint)
    index: dict[str, Any] = json.loads(content[9:])
    assert index.items() >= FORMAT.items(), "an index of another version, which the journal would have refused"
    return index


def pieces_of(index: Mapping[str, Any]) -> PiecedFile:
    """Return the file that an index describes."""
    objects: list[str] = []
    stretches: list[list[int]] = []
    for of_pass in index["passes"].values():
        for name, places in of_pass:
            stretches += [[len(objects), *place] for place in places]
            objects.append(name)
    table = np.array(stretches, np.int64).reshape(-1, 4)
    constants = tuple((offset, base64.b64decode(content)) for offset, content in index["constants"])
    order = np.argsort(table[:, OFFSET], kind="stable")
    version = "-".join([str(index["created"]), *index["passes"]])
    return PiecedFile(index["nbytes"], version, constants, tuple(objects), table[order])


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
