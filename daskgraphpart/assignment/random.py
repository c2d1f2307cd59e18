"""Pass `assign-random`: every node gets a part at random, as DGL's `random_partition.py` does.

The part of a node is a function of the seed, the name of its type and its ID, so it does not depend on how the work is
cut. Parts are even up to chance: their sizes differ by about the square root of their size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.assignment.owner_parts import Span, span_pass
from daskgraphpart.kernels.hashing import stream_key, uniform_ints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.engine.plan import Pass
    from daskgraphpart.storage.region import Region


@dataclass(frozen=True, slots=True)
class RandomConfig:
    """Where the owners go, and what they are drawn from."""

    owners: Mapping[str, Region]
    num_parts: int
    seed: int
    fill_parts: bool


def assign_random_pass(
    owners: Mapping[str, Region], num_parts: int, seed: int, fill_parts: bool
) -> Pass[Span, RandomConfig, None]:
    """Plan the pass."""
    return span_pass("assign-random", assign_random, owners, RandomConfig(owners, num_parts, seed, fill_parts))


def assign_random(unit: Span, config: RandomConfig) -> None:
    """Draw the owners of one unit and write them."""
    region = config.owners[unit.ntype]
    owners = np.empty(unit.stop - unit.start, region.dtype)
    uniform_ints(stream_key(config.seed, f"owner of {unit.ntype}"), unit.start, config.num_parts, owners)
    if config.fill_parts and region.num_rows >= config.num_parts:
        parts = np.arange(config.num_parts)
        chosen = parts * region.num_rows // config.num_parts
        here = (chosen >= unit.start) & (chosen < unit.stop)
        owners[chosen[here] - unit.start] = parts[here]
    region.write(owners, unit.start)
