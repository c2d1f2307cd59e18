"""Pass `fill-parts`: every part gets a node of each type that has enough of them.

DGL's servers cannot start on a part that lacks a type with features.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.region import create_files, npy_region

if TYPE_CHECKING:
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.region import Region


def fill_parts(parts: Region, schema: GraphSchema, num_parts: int, runner: Runner) -> Region:
    """Move one node of the fullest parts of its type to each part that has none; return the new parts' file."""
    filled = npy_region(Path(parts.path).with_name("filled.npy"), parts.dtype, parts.shape)
    runner.step("create-filled", lambda: create_files([filled]))
    units = list(zip(schema.homo_starts, (t.num_nodes for t in schema.node_types), strict=False))
    runner.run(Pass("fill-parts", fill_type, units, (parts, filled, num_parts), [4 * count for _, count in units]))
    return filled


def fill_type(unit: tuple[int, int], config: tuple[Region, Region, int]) -> None:
    """Task of the pass: the nodes of one type, the first and how many."""
    region, filled, num_parts = config
    parts = region.read(unit[0], sum(unit))
    use_every_part(parts, num_parts)
    filled.write(parts, unit[0])


def use_every_part(parts: np.ndarray, num_parts: int) -> None:
    """Give each empty part one node of a part that has several, in place.

    Libraries leave parts empty at times. With fewer nodes than parts nothing is done.
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
