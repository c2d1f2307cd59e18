"""Bring rows that come in any order to their places in npy files, in bounded memory.

`split` passes read a block of lines each and write its rows in the order of their keys; `place` passes take one range
of keys at a time, check that each of its keys is there once, and write its rows where they belong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError
from daskgraphpart.storage.atomic import scratch_directory
from daskgraphpart.storage.region import open_npy, save_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.parmetis_text import NumberedBlock
    from daskgraphpart.storage.region import Region

ReadRows = Callable[["NumberedBlock"], tuple[np.ndarray, np.ndarray, set[Any]]]
"""Picklable; reads a block: keys (rows,), rows (rows, ...), and a set of facts for the caller of `place_rows`."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where rows come from, and where they go: to the files of types, whose keys follow each other."""

    name: str  # what a row is about, for messages and names of passes
    read: ReadRows
    targets: Mapping[str, Region]
    task_memory: int
    source: str  # file or directory that is read, and what to do where the number of rows is wrong, for messages
    hint: str

    @property
    def starts(self) -> list[int]:
        """First key of each type, then the number of keys."""
        starts: list[int] = np.cumsum([0, *(region.num_rows for region in self.targets.values())]).tolist()
        return starts

    @property
    def cuts(self) -> list[int]:
        """First key of each range, then the number of keys; rows of a range are held as read and as written."""
        widest = max((region.row_nbytes for region in self.targets.values()), default=0)
        step = max(1, self.task_memory // (4 * (widest + 8)))
        return [*range(0, self.starts[-1], step), self.starts[-1]]


Config = tuple[Placement, str]
"""The placement, and the directory of what blocks have written."""


def place_rows(blocks: Sequence[NumberedBlock], placement: Placement, workspace: Path, runner: Runner) -> set[Any]:
    """Run both passes; return what all blocks have told."""
    name, cuts = placement.name, placement.cuts
    with scratch_directory(workspace) as scratch:
        config = placement, str(scratch)
        tasks, nbytes = list(enumerate(blocks)), [block.stop - block.start for _, block in blocks]
        results = runner.run(Pass(f"split-{name}s", split, tasks, config, nbytes))
        found = sum(ends[-1] for ends, _ in results)
        if found != cuts[-1]:
            raise AssignmentError(
                f"wrong number of {name}s",
                file=placement.source,
                expected=f"{cuts[-1]:,}, a line for each",
                found=f"{found:,}",
                hint=placement.hint,
            )
        ranges = [
            (number, [(i, *ends[number : number + 2]) for i, (ends, _) in enumerate(results)])
            for number in range(len(cuts) - 1)
        ]
        sizes = [rows * next(iter(placement.targets.values())).row_nbytes for rows in np.diff(cuts).tolist()]
        runner.run(Pass(f"place-{name}s", place, ranges, config, sizes))
    return set().union(*(facts for _, facts in results))


def split(unit: tuple[int, NumberedBlock], config: Config) -> tuple[list[int], set[Any]]:
    """Write the rows of a block in the order of their keys; return where each range ends in them, and facts."""
    index, block = unit
    placement, scratch = config
    keys, rows, facts = placement.read(block)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    save_npy(f"{scratch}/{index}-keys.npy", keys)
    save_npy(f"{scratch}/{index}-rows.npy", rows[order])
    ends: list[int] = np.searchsorted(keys, placement.cuts).tolist()
    return ends, facts


def place(unit: tuple[int, list[tuple[int, int, int]]], config: Config) -> None:
    """Write the rows of one range of keys, which are rows ``[start, stop)`` of what each block has written."""
    number, slices = unit
    placement, scratch = config
    first, last = placement.cuts[number : number + 2]
    target = next(iter(placement.targets.values()))
    rows, counts = np.empty((last - first, *target.shape[1:]), target.dtype), np.zeros(last - first, np.int64)
    for index, start, stop in slices:
        if start < stop:
            keys = open_npy(f"{scratch}/{index}-keys.npy").read(start, stop) - first
            rows[keys] = open_npy(f"{scratch}/{index}-rows.npy").read(start, stop)
            counts += np.bincount(keys, minlength=counts.size)
    starts = placement.starts
    for (name, region), begin, end in zip(placement.targets.items(), starts, starts[1:], strict=False):
        low, high = max(first, begin), min(last, end)
        for bad in np.flatnonzero(counts[low - first : max(low, high) - first] > 1)[:1].tolist():
            what, expected = f"{placement.name} is listed twice", f"every {placement.name} once"
            found = f"{name!r} {placement.name} {low - begin + bad:,} again"  # so another is missing
            raise AssignmentError(what, file=placement.source, expected=expected, found=found)
        if low < high:
            region.write(rows[low - first : high - first], low - begin)
