"""Bring rows that come in any order to their places in npy files, in bounded memory.

`split` passes read a block of lines each and write its rows grouped by range of keys; `place` passes take one range at
a time, check that each of its keys is there once, and write its rows where they belong.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.errors import AssignmentError
from daskgraphpart.storage.region import open_npy, save_npy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.sources.parmetis_text import NumberedBlock
    from daskgraphpart.storage.region import Region


ReadRows = Callable[["NumberedBlock"], tuple[np.ndarray, np.ndarray, set[Any]]]
"""Picklable; reads a block: keys (rows,), rows (rows, ...), and a set of facts for the caller of `place_rows`."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where rows come from, and where they go: to the files of types whose keys follow each other."""

    name: str  # what a row is about, for messages and names of passes
    read: ReadRows
    types: tuple[str, ...]
    targets: tuple[Region, ...]
    task_memory: int
    workspace: Path
    source: str  # file or directory that is read, and what to do where the number of rows is wrong, for messages
    hint: str

    @property
    def starts(self) -> np.ndarray:
        """First key of each type, then the number of keys."""
        return np.cumsum([0, *(region.num_rows for region in self.targets)])

    @property
    def keys_per_range(self) -> int:
        """How many rows a task can bring into order: they are held as they are read and as they are written."""
        widest = max((region.row_nbytes for region in self.targets), default=0)
        return max(1, self.task_memory // (4 * (widest + 8)))

    @property
    def scratch(self) -> Path:
        """Directory of what blocks have written."""
        return self.workspace / ".split"

    def run(self, index: int) -> tuple[str, str]:
        """Paths of the keys and the rows of a block, grouped by range."""
        return f"{self.scratch}/{self.name}-{index}-keys.npy", f"{self.scratch}/{self.name}-{index}-rows.npy"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys ``[start, stop)``, and their rows in the runs: (number of the block, first row, row after the last)."""

    start: int
    stop: int
    slices: tuple[tuple[int, int, int], ...]


def place_rows(blocks: Sequence[NumberedBlock], placement: Placement, runner: Runner) -> set[Any]:
    """Run both passes; return what all blocks have told."""
    shutil.rmtree(placement.scratch, ignore_errors=True)  # of a run that was killed
    placement.scratch.mkdir(parents=True)
    try:
        return _split_and_place(blocks, placement, runner)
    finally:
        shutil.rmtree(placement.scratch, ignore_errors=True)


def _split_and_place(blocks: Sequence[NumberedBlock], placement: Placement, runner: Runner) -> set[Any]:
    tasks, nbytes = list(enumerate(blocks)), [block.stop - block.start for _, block in blocks]
    results = runner.run(Pass(f"split-{placement.name}s", split, tasks, placement, nbytes))
    num_keys = int(placement.starts[-1])
    found = sum(int(ends[-1]) for ends, _ in results)
    if found != num_keys:
        raise AssignmentError(
            f"wrong number of {placement.name}s",
            file=placement.source,
            expected=f"{num_keys:,}, a line for each",
            found=f"{found:,}",
            hint=placement.hint,
        )
    step = placement.keys_per_range
    ranges = []
    for number, start in enumerate(range(0, num_keys, step)):
        slices = [
            (i, int(ends[number]), int(ends[number + 1]))
            for i, (ends, _) in enumerate(results)
            if ends[number] < ends[number + 1]
        ]
        ranges.append(KeyRange(start, min(start + step, num_keys), tuple(slices)))
    nbytes = [(unit.stop - unit.start) * placement.targets[0].row_nbytes for unit in ranges]
    runner.run(Pass(f"place-{placement.name}s", place, ranges, placement, nbytes))
    return set().union(*(facts for _, facts in results))


def split(unit: tuple[int, NumberedBlock], placement: Placement) -> tuple[np.ndarray, set[Any]]:
    """Write the rows of a block grouped by range; return where each range begins in them, and what was found."""
    index, block = unit
    keys, rows, facts = placement.read(block)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    for path, values in zip(placement.run(index), (keys, rows[order]), strict=True):
        save_npy(path, values)
    num_keys, step = int(placement.starts[-1]), placement.keys_per_range
    return np.searchsorted(keys, np.arange(0, num_keys + step, step)), facts


def place(unit: KeyRange, placement: Placement) -> None:
    """Write the rows of one range of keys."""
    target = placement.targets[0]
    rows = np.empty((unit.stop - unit.start, *target.shape[1:]), target.dtype)
    counts = np.zeros(len(rows), np.int64)
    for index, start, stop in unit.slices:
        of_keys, of_rows = (open_npy(path) for path in placement.run(index))
        keys = of_keys.read(start, stop) - unit.start
        rows[keys] = of_rows.read(start, stop)
        counts += np.bincount(keys, minlength=counts.size)
    if counts.max(initial=0) > 1:  # so another is missing: there are as many rows as keys
        raise _repeated(unit.start + int(np.argmax(counts > 1)), placement)
    for region, first, end in zip(placement.targets, placement.starts[:-1], placement.starts[1:], strict=True):
        low, high = max(unit.start, int(first)), min(unit.stop, int(end))
        if low < high:
            region.write(rows[low - unit.start : high - unit.start], low - int(first))


def _repeated(key: int, placement: Placement) -> AssignmentError:
    number = int(np.searchsorted(placement.starts, key, side="right")) - 1
    return AssignmentError(
        f"{placement.name} is listed twice",
        file=placement.source,
        expected=f"every {placement.name} once",
        found=f"{placement.types[number]!r} {placement.name} {key - placement.starts[number]:,} again",
    )
