"""Pass `cut-runs`: where each bucket begins in each run; a bucket is then one slice of every run.

There are as many slices as runs times buckets, too many to be kept in memory, so they stay in a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import Keys, lower_bound
from daskgraphpart.engine.plan import Pass
from daskgraphpart.storage.region import Region, create_npy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class CutUnit:
    """A run, its node type, and its number among the runs of that type."""

    ntype: str
    run: KeyFile
    number: int


@dataclass(frozen=True, slots=True)
class CutConfig:
    """What the units share.

    Parameters
    ----------
    starts : mapping of str to Keys or None
        By node type the first keys of all buckets but the first.
    bounds : mapping of str to Region
        By node type where results go, int64 (runs, buckets + 1).
    """

    starts: Mapping[str, Keys | None]
    bounds: Mapping[str, Region]


def cut_runs(
    runs: Mapping[str, Sequence[KeyFile]], starts: Mapping[str, Keys | None], directory: str, runner: Runner
) -> dict[str, Region]:
    """Run the pass.

    Returns
    -------
    dict of str to Region
        For each node type, int64 (runs, buckets + 1): the position at which each bucket begins in each run, then the
        number of keys of the run.
    """
    bounds = {}
    for number, (ntype, of_type) in enumerate(runs.items()):
        keys = starts[ntype]
        num_buckets = 1 if keys is None else len(keys) + 1
        bounds[ntype] = create_npy(f"{directory}/bounds-{number}.npy", np.dtype("<i8"), (len(of_type), num_buckets + 1))
    units = [CutUnit(ntype, run, i) for ntype, of_type in runs.items() for i, run in enumerate(of_type)]
    runner.run(Pass("cut-runs", cut_run, units, CutConfig(starts, bounds), [unit.run.nbytes for unit in units]))
    return bounds


def cut_run(unit: CutUnit, config: CutConfig) -> None:
    """Find where the buckets of one run begin."""
    keys = config.starts[unit.ntype]
    inner = np.empty(0, np.int64) if keys is None else lower_bound(unit.run.read(), keys)
    config.bounds[unit.ntype].write(np.concatenate([[0], inner, [unit.run.num_keys]])[np.newaxis], unit.number)
