"""Pass `fill-parts`: every part gets a node of each type that has enough of them.

DGL's servers cannot start on a part that lacks a type with features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


def fill_parts(parts: Region, schema: GraphSchema, num_parts: int, runner: Runner) -> None:
    """Move one node of the fullest parts of its type to each part that has none."""
    units, first = [], 0
    for node_type in schema.node_types:
        units.append((first, first + node_type.num_nodes))
        first += node_type.num_nodes
    config = (parts, num_parts)
    sizes = [4 * (stop - start) for start, stop in units]
    runner.run(Pass("fill-parts", fill_type, units, config, sizes, is_repeatable=False))


def fill_type(span: tuple[int, int], config: tuple[Region, int]) -> None:
    """Task of the pass: the nodes of one type."""
    region, num_parts = config
    parts = region.read(*span)
    if use_every_part(parts, num_parts):
        region.write(parts, span[0])


def use_every_part(parts: np.ndarray, num_parts: int) -> bool:
    """Give each empty part one node of a part that has several, in place; return whether any was empty.

    Libraries leave parts empty at times. With fewer nodes than parts nothing is done.
    """
    counts = np.bincount(parts, minlength=num_parts)
    empty = np.flatnonzero(counts == 0)
    if not empty.size or parts.size < num_parts:
        return False
    order = np.argsort(parts, kind="stable")
    rank = np.arange(parts.size) - np.repeat(np.cumsum(counts) - counts, counts)
    spare = order[rank > 0]
    fullest_first = np.argsort(-counts[parts[spare]], kind="stable")
    parts[spare[fullest_first[: empty.size]]] = empty
    return True
