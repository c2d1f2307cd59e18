"""Owner files: write them from parts of all nodes, read them back, draw them at random, fill empty parts.

Passes `write-owners`, `write-trainers`, `read-owners`, `assign-METHOD` and `fill-parts`. DGL's servers cannot start on
a part that lacks a type with features.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from daskgraphpart.engine.runner import Pass, Runner, Unit
from daskgraphpart.method import MethodJob, find_method
from daskgraphpart.storage.region import Region, create_files, npy_region

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from daskgraphpart.partitioner.assign_options import AssignOptions
    from daskgraphpart.schema import GraphSchema

ConfigT = TypeVar("ConfigT")
ROWS_PER_UNIT = 1 << 22


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive nodes of one type, and the type's first homogeneous ID."""

    ntype: str
    first: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class SpanConfig:
    """Parts of all nodes, a file per type, and what to divide parts by for the file."""

    parts: Region
    files: Mapping[str, Region]
    divisor: int = 1


def span_pass(
    name: str, task: Callable[[Span, ConfigT], None], files: Mapping[str, Region], config: ConfigT
) -> Pass[Span, ConfigT, None]:
    """Plan a pass over the nodes of every type, in type order."""
    spans, first = [], 0
    for ntype, region in files.items():
        starts = range(0, region.num_rows, ROWS_PER_UNIT)
        spans += [Span(ntype, first, start, min(start + ROWS_PER_UNIT, region.num_rows)) for start in starts]
        first += region.num_rows
    units = [Unit(span, (span.stop - span.start) * files[span.ntype].row_nbytes, key=span.ntype) for span in spans]
    return Pass(name, task, units, config)


def write_parts(name: str, parts: Region, files: Mapping[str, Region], divisor: int, runner: Runner) -> None:
    """Write the divided parts of nodes to a file per type."""
    runner.run(span_pass(name, write_span, files, SpanConfig(parts, files, divisor)))


def read_parts(files: Mapping[str, Region], parts: Region, runner: Runner) -> None:
    """Write the owners of all types one after another, as parts."""
    runner.run(span_pass("read-owners", read_span, files, SpanConfig(parts, files)))


def write_span(unit: Span, config: SpanConfig) -> None:
    """Write one unit of a type."""
    parts = config.parts.read(unit.first + unit.start, unit.first + unit.stop)
    config.files[unit.ntype].write(parts // config.divisor, unit.start)


def read_span(unit: Span, config: SpanConfig) -> None:
    """Write one unit of the parts."""
    owners = config.files[unit.ntype].read(unit.start, unit.stop).astype(np.int32)
    config.parts.write(owners, unit.first + unit.start)


def assign_counted(
    owners: Mapping[str, Region], schema: GraphSchema, num_parts: int, options: AssignOptions, runner: Runner
) -> None:
    """Give every node a part by a method that reads no edges."""
    config = DrawConfig(owners, schema, num_parts, options)
    runner.run(span_pass(f"assign-{options.method}", draw_span, owners, config))


@dataclass(frozen=True, slots=True)
class DrawConfig:
    """A file per type, the graph's types, the number of parts, and which method."""

    files: Mapping[str, Region]
    schema: GraphSchema
    num_parts: int
    options: AssignOptions


def draw_span(unit: Span, config: DrawConfig) -> None:
    """Ask for and write the owners of one unit."""
    region, nodes = config.files[unit.ntype], range(unit.first + unit.start, unit.first + unit.stop)
    job = MethodJob(config.schema, config.num_parts, config.options.seed, nodes)
    owners = find_method(config.options).owners(job).astype(region.dtype)
    if config.options.fill_parts and region.num_rows >= config.num_parts:
        parts = np.arange(config.num_parts)
        chosen = parts * region.num_rows // config.num_parts
        here = (chosen >= unit.start) & (chosen < unit.stop)
        owners[chosen[here] - unit.start] = parts[here]
    region.write(owners, unit.start)


def fill_parts(parts: Region, schema: GraphSchema, num_parts: int, runner: Runner) -> Region:
    """Give each part without nodes of a type one from the fullest parts; return the file of new parts."""
    filled = npy_region(Path(parts.path).with_name("filled.npy"), parts.dtype, parts.shape)
    runner.step("create-filled", lambda: create_files([filled]))
    units = [
        Unit(range(first, first + of_type.num_nodes), 4 * of_type.num_nodes, key=of_type.name)
        for first, of_type in zip(schema.homo_starts, schema.node_types, strict=False)
    ]
    runner.run(Pass("fill-parts", fill_type, units, FillConfig(parts, filled, num_parts)))
    return filled


@dataclass(frozen=True, slots=True)
class FillConfig:
    """Parts of all nodes, the output, and the number of parts."""

    parts: Region
    filled: Region
    num_parts: int


def fill_type(nodes: range, config: FillConfig) -> None:
    """Task of the pass: the nodes of one type, by homogeneous ID."""
    parts = config.parts.read(nodes.start, nodes.stop)
    use_every_part(parts, config.num_parts)
    config.filled.write(parts, nodes.start)


def use_every_part(parts: np.ndarray, num_parts: int) -> None:
    """Give each empty part one node of a part with several, in place.

    Libraries leave parts empty at times. Does nothing with fewer nodes than parts.
    """
    counts = np.bincount(parts, minlength=num_parts)
    empty = np.flatnonzero(counts == 0)
    if not empty.size or parts.size < num_parts:
        return
    order = np.argsort(parts, kind="stable")
    rank = np.arange(parts.size) - np.repeat(np.cumsum(counts) - counts, counts)
    spare = order[rank > 0]
    fullest_first = np.argsort(-counts[parts[spare]], kind="stable")
    parts[spare[fullest_first[: empty.size]]] = empty
