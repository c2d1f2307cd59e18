"""How `assign`, `dispatch` and `partition` end: a line with what was made, and the partitions, open."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.progress import open_progress
from daskgraphpart.layouts.dgl_config import PartitionConfig
from daskgraphpart.units import format_number, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from daskgraphpart.dispatching.finish import Outcome
    from daskgraphpart.jobs.run_options import RunOptions
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph


def parts_of(outcome: Outcome, storage_options: Mapping[str, Any] | None = None) -> PartitionedGraph:
    """Open what a job has written, if it is reachable from here."""
    from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_partitions

    if not outcome.unreadable:
        return open_partitions(outcome.config_path, storage_options=storage_options)
    content = PartitionConfig(outcome.graph_name, "metis", 1, outcome.book, ())
    return PartitionedGraph(outcome.config_path, content, False, None, outcome.quality, outcome.unreadable)


@contextmanager
def ending(run: RunOptions) -> Iterator[tuple[RunOptions, Callable[..., None]]]:
    """Show progress; yield the job's options, and what tells at its end what was made and how long it took."""
    started = time.monotonic()
    with open_progress(run.progress) as listener:

        def tell(num_parts: int, cut_share: float, where: str, traffic: str = "") -> None:
            seconds = format_seconds(time.monotonic() - started)
            if traffic:
                listener.note(f"store: {traffic}")
            listener.note(f"{format_number(num_parts, 'part')}, {cut_share:.2%} of edges cut, in {seconds}: {where}")

        yield replace(run, progress=listener), tell
