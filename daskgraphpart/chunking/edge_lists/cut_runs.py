"""Pass `cut-runs`: where each bucket begins in each run; a bucket is then one slice of every run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.chunking.edge_lists.keys import Keys, lower_bound
from daskgraphpart.engine.plan import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class CutUnit:
    """A run and its node type."""

    ntype: str
    run: KeyFile


def cut_runs(
    runs: Mapping[str, Sequence[KeyFile]], starts: Mapping[str, Keys | None], runner: Runner
) -> dict[str, np.ndarray]:
    """Run the pass.

    Returns
    -------
    dict of str to int64 array (runs, buckets + 1)
        For each node type and run the position at which each bucket begins, then the number of keys.
    """
    units = [CutUnit(ntype, run) for ntype, of_type in runs.items() if starts[ntype] is not None for run in of_type]
    found = iter(runner.run(Pass("cut-runs", cut_run, units, starts, [unit.run.nbytes for unit in units])))
    bounds = {}
    for ntype, of_type in runs.items():
        if starts[ntype] is None:
            rows = [np.array([0, run.num_keys], np.int64) for run in of_type]
        else:
            rows = [next(found) for _ in of_type]
        bounds[ntype] = np.stack(rows) if rows else np.zeros((0, 2), np.int64)
    return bounds


def cut_run(unit: CutUnit, starts: Mapping[str, Keys | None]) -> np.ndarray:
    """Positions at which the buckets of one run begin, and its end."""
    keys = starts[unit.ntype]
    assert keys is not None, "a run of one bucket need not be cut"
    return np.concatenate([[0], lower_bound(unit.run.read(), keys), [unit.run.num_keys]])
