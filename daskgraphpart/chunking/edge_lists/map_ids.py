"""Original IDs become dense ones: the passes from runs of keys to the new ID of every key, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.chunking.edge_lists.cut_runs import cut_runs
from daskgraphpart.chunking.edge_lists.merge_ids import MergeConfig, merge_runs
from daskgraphpart.chunking.edge_lists.sample_ids import choose_bucket_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.chunking.edge_lists.keys import KeyFile
    from daskgraphpart.chunking.edge_lists.merge_ids import IdMap
    from daskgraphpart.chunking.edge_lists.options import Sizes
    from daskgraphpart.chunking.edge_lists.staged import StagedBlock
    from daskgraphpart.engine.runner import Runner


def map_ids(
    staged: Sequence[StagedBlock], ntypes: Sequence[str], directory: str, sizes: Sizes, runner: Runner
) -> dict[str, IdMap]:
    """Number the keys of every node type.

    Parameters
    ----------
    staged : sequence of StagedBlock
        All blocks, of edges and of lists of nodes.
    ntypes : sequence of str
        Node types.
    directory : str
        Where buckets go.
    sizes : Sizes
        Bites of the passes.
    runner : Runner
        What does the work.

    Returns
    -------
    dict of str to IdMap
        By node type. A new ID is the rank of a key among all keys of its type.
    """
    runs = _runs_by_type(staged, ntypes)
    starts = choose_bucket_starts(runs, sizes.bucket_bytes, runner)
    bounds = cut_runs(runs, starts, directory, runner)
    return merge_runs(MergeConfig(runs, bounds, sizes.bucket_bytes), directory, runner)


def _runs_by_type(staged: Sequence[StagedBlock], ntypes: Sequence[str]) -> dict[str, list[KeyFile]]:
    """Runs of each node type, each once, without the empty ones."""
    runs: dict[str, dict[str, KeyFile]] = {ntype: {} for ntype in ntypes}
    for block in staged:
        for ntype, run in zip(block.unit.ntypes, block.runs, strict=True):
            if run.num_keys:
                runs[ntype][run.path] = run
    return {ntype: list(of_type.values()) for ntype, of_type in runs.items()}
