"""Passes `write-owners` and `read-owners`: parts of homogeneous nodes into owner files by node type, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.storage.region import Region

ROWS_PER_UNIT = 1 << 22


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive nodes of one type, and the homogeneous ID of the type's first node."""

    ntype: str
    first: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class SpanConfig:
    """Parts of all nodes, owners of each type, and by what parts are divided to give owners."""

    parts: Region
    owners: Mapping[str, Region]
    divisor: int


def write_owners(parts: Region, owners: Mapping[str, Region], divisor: int, runner: Runner) -> None:
    """Write the owners of all nodes: their parts, divided by the number of trainers per machine."""
    units = spans_of(owners)
    config = SpanConfig(parts, owners, divisor)
    runner.run(Pass("write-owners", write_span, units, config, [4 * (u.stop - u.start) for u in units]))


def read_owners(owners: Mapping[str, Region], parts: Region, runner: Runner) -> None:
    """Write the owners of all types one after another, as parts."""
    units = spans_of(owners)
    config = SpanConfig(parts, owners, 1)
    runner.run(Pass("read-owners", read_span, units, config, [4 * (u.stop - u.start) for u in units]))


def spans_of(owners: Mapping[str, Region]) -> list[Span]:
    """Cut the nodes of every type, in the order of types."""
    spans, first = [], 0
    for ntype, region in owners.items():
        starts = range(0, region.num_rows, ROWS_PER_UNIT)
        spans += [Span(ntype, first, start, min(start + ROWS_PER_UNIT, region.num_rows)) for start in starts]
        first += region.num_rows
    return spans


def write_span(unit: Span, config: SpanConfig) -> None:
    """Task of the pass `write-owners`."""
    parts = config.parts.read(unit.first + unit.start, unit.first + unit.stop)
    region = config.owners[unit.ntype]
    region.write((parts // config.divisor).astype(region.dtype), unit.start)


def read_span(unit: Span, config: SpanConfig) -> None:
    """Task of the pass `read-owners`."""
    owners = config.owners[unit.ntype].read(unit.start, unit.stop)
    config.parts.write(owners.astype(np.int32), unit.first + unit.start)
