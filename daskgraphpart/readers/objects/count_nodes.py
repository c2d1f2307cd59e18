"""Count what was not given: rows of frames in the pass `count-rows`, nodes by largest edge IDs in `count-nodes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.runner import Pass, Unit
from daskgraphpart.graph.dask_sources import ends_of_frame, return_unchanged, run_collections
from daskgraphpart.graph.metadata import MAX_ROWS
from daskgraphpart.source import Input, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from daskgraphpart.engine.runner import Runner

EDGES_PER_UNIT = 1 << 18


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of each dask partition of a frame; for edges also the largest ID of either end, -1 if none."""

    lengths: tuple[int, ...]
    largest: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, slots=True)
class FrameUnit:
    """A dask partition of a frame, its name, and whether it has edges."""

    block: Input[Any]
    what: str
    is_edges: bool


def count_frames(frames: Mapping[str, Any], edges: Mapping[str, Any], runner: Runner) -> dict[str, Counted]:
    """Compute all dask partitions of frames and series, and of edge frames by type, once each."""
    units = [
        Unit(FrameUnit(Input(return_unchanged, partition), f"partition {i} of {what!r}", is_edges), 1, key=what)
        for is_edges, named in ((False, frames), (True, edges))
        for what, frame in named.items()
        for i, partition in enumerate(frame.to_delayed())
    ]
    counted = run_collections(runner, Pass("count-rows", count_partition, units, None))
    by_key: dict[str, list[tuple[int, ...]]] = {what: [] for what in (*frames, *edges)}
    for unit, of_partition in zip(units, counted, strict=True):
        by_key[unit.key].append(tuple(of_partition))
    return {
        what: Counted(tuple(n for n, *_ in of), (max(src for _, src, _ in of), max(dst for *_, dst in of)))
        for what, of in by_key.items()
    }


def count_partition(unit: FrameUnit, _: None) -> tuple[int, int, int]:
    """Return the rows of a dask partition, and the largest IDs of edges."""
    values = unit.block.read()
    if not unit.is_edges or not len(values):
        return len(values), -1, -1
    src, dst = ends_of_frame(values, unit.what)
    return len(values), int(src.max()), int(dst.max())


def count_nodes(
    given: Mapping[str, int | None],
    edges: Mapping[str, Source],
    data: Mapping[str, Mapping[str, Any]],
    runner: Runner,
    counted: Mapping[str, Counted],
) -> dict[str, int]:
    """Return all numbers of nodes: as given, else the rows of a feature, else the largest ID plus one.

    Edge frames are counted already.
    """
    counts = {ntype: _known(count, data.get(ntype, {})) for ntype, count in given.items()}
    wanted = {etype: rows for etype, rows in edges.items() if None in map(counts.get, etype.split(":")[::2])}
    units = [
        Unit(block.load, 16 * block.num_rows, key=etype)
        for etype, rows in wanted.items()
        if etype not in counted
        for block in rows.blocks(EDGES_PER_UNIT)
    ]
    largest = [(unit.key, *ids) for unit, ids in zip(units, runner.run(_pass(units)), strict=True)]
    largest += [(etype, *counted[etype].largest) for etype in wanted if etype in counted]
    missing = {ntype: 0 for ntype, count in counts.items() if count is None}
    for etype, *ids in largest:
        for ntype, most in zip(etype.split(":")[::2], ids, strict=True):
            if ntype in missing:
                missing[ntype] = max(missing[ntype], min(MAX_ROWS, most + 1))
    return {ntype: missing[ntype] if count is None else count for ntype, count in counts.items()}


def _pass(units: list[Unit[Callable[..., Any]]]) -> Pass[Callable[..., Any], None, tuple[int, int]]:
    return Pass("count-nodes", largest_ids, units, None)


def _known(count: int | None, features: Mapping[str, Any]) -> int | None:
    if count is not None:
        return int(count)
    return next((int(rows.shape[0]) for rows in features.values()), None)


def largest_ids(read: Callable[..., Any], _: None) -> tuple[int, int]:
    """Return the largest ID of either end."""
    edges = read()
    src, dst = edges if isinstance(edges, tuple) else edges.T
    return int(src.max()), int(dst.max())
