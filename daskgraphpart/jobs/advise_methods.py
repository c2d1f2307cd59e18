"""Add to an error about too little memory the method that needs less."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError, PlanError
from daskgraphpart.partitioner.assign_options import AssignOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.jobs.job_spec import JobSpec

BY_CUT = ("multilevel", "fennel", "random")
"""Methods whose memory does not grow with the arcs of a large graph, the one of the smallest cut first."""


@contextmanager
def advising_methods(spec: JobSpec, graph: Graph, memory: int, processes: int = 1, shares: int = 1) -> Iterator[None]:
    """Name the first method that the memory is enough for, or else the one that needs least, if that is less."""
    try:
        yield
    except PlanError as error:
        if error.option == "memory" and (needs := _needs_of_others(spec, graph, processes, shares)):
            enough = (method for method, need in needs.items() if need <= memory)
            method = next(enough, min(needs, key=needs.__getitem__))
            error.add_hint(f"with --method {method}, {-(-needs[method] // 1_000_000)}MB are enough")
        raise


def _needs_of_others(spec: JobSpec, graph: Graph, processes: int, shares: int) -> dict[str, int]:
    """Bytes of methods that can do the same job with less."""
    needs: dict[str, int] = {}
    owners = spec.owners
    if not isinstance(owners, AssignOptions) or not owners.is_named or owners.extend is not None:
        return needs
    for method in dict.fromkeys((str(owners.method), *BY_CUT)):
        with suppress(OptionError):
            other = replace(spec, owners=replace(owners, method=method))
            other.check(graph)
            task, largest = other.smallest_memory(graph.schema, processes)
            needs[method] = max(task, largest * shares, spec.scan.smallest_memory)
    own = needs.pop(str(owners.method), 0)
    return {method: need for method, need in needs.items() if need < own}
