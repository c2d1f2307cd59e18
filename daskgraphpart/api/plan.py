"""`plan`: what `partition` would read, write, hold and take, without reading the data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from daskgraphpart.api.inputs import opened
from daskgraphpart.assignment.assignment import Assignment, owner_dtype
from daskgraphpart.assignment.choose import smallest_task_memory as smallest_assign_memory
from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.assignment.pipeline import check_method
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.dispatching.sizes import smallest_task_memory
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.planning.pipeline import Wanted, make_plan
from daskgraphpart.remote.url import located
from daskgraphpart.storage.atomic import environment_faults

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from daskgraphpart.chunked.graph import ChunkedGraph
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.planning.plan import Plan


def plan(
    graph: ChunkedGraph | str | os.PathLike[str],
    num_parts: int,
    *,
    out_dir: str | os.PathLike[str] = ".",
    method: str | Assignment = "auto",
    balance: str | Sequence[str] | None = None,
    imbalance: float = 0.03,
    seed: int = 0,
    refine: bool = False,
    threads: int | None = None,
    passes: int | None = None,
    objtype: str = "cut",
    recursive: bool = False,
    fill_parts: bool = False,
    num_trainers_per_machine: int = 1,
    options: DispatchOptions | None = None,
    resources: Resources | None = None,
) -> Plan:
    """Say what `partition` would do, from metadata, headers and footers alone.

    Bytes follow from the units of the very passes that would run. What only the data could tell (HALO nodes, parallel
    edges, the work of a partitioner) is assumed, and the plan says how. Speeds are measured for a second.

    Parameters
    ----------
    graph : ChunkedGraph or path
        The graph, or the directory of its `metadata.json`.
    num_parts : int
        Number of parts.
    out_dir : path or URL
        Where the partitions would go, whose disk is looked at; need not exist.
    method : str or Assignment
        As in `assign`; or an assignment, which `dispatch` would be given.
    balance : str or sequence of str, optional
        As in `assign`.
    imbalance : float
        As in `assign`.
    seed : int
        As in `assign`.
    refine : bool
        As in `assign`.
    threads : int, optional
        As in `assign`.
    passes : int, optional
        As in `assign`.
    objtype : str
        As in `assign`.
    recursive : bool
        As in `assign`.
    fill_parts : bool
        As in `assign`.
    num_trainers_per_machine : int
        As in `assign`.
    options : DispatchOptions, optional
        What would be written.
    resources : Resources, optional
        What might be used. Default: all processors, half of the memory.

    Returns
    -------
    Plan
        Bytes, memory and time of every pass and of all; `to_dict()` for JSON.

    Raises
    ------
    OptionError
        If an option is impossible.
    PlanError
        If the memory does not suffice; says what would do.
    InputFileError
        If the graph's metadata or headers are wrong.
    """
    graph, options, resources = opened(graph), options or DispatchOptions(), resources or detect_resources()
    owner_dtype(num_parts)
    options.check_fits(graph.schema)
    smallest = smallest_task_memory(graph.schema, options)
    owners: AssignOptions | Assignment
    if isinstance(method, Assignment):
        owners = method
        owners.check_fits(graph.schema)
    else:
        wanted_balance = balance if balance is None or isinstance(balance, str) else tuple(balance)
        owners = AssignOptions(
            method, wanted_balance, imbalance, seed, refine, threads, passes, objtype, recursive, fill_parts,
            num_trainers_per_machine,
        )  # fmt: skip
        check_method(owners)
        _check_parts(graph, num_parts, owners)
        if owners.needs_adjacency:
            smallest = max(smallest, smallest_assign_memory(graph.schema))
    with environment_faults():
        place = located(out_dir)
        # what goes to a store is made in the workspace before
        out = place.absolute() if isinstance(place, Path) else Path(resources.workspace or tempfile.gettempdir())
        return make_plan(Wanted(graph, num_parts, owners, options, resources.limited(smallest), out))


def _check_parts(graph: ChunkedGraph, num_parts: int, options: AssignOptions) -> None:
    """Refuse more parts than nodes, as `partition` does."""
    if num_parts * options.trainers > graph.schema.num_nodes and options.method != "random":
        raise OptionError(
            "more parts than nodes",
            place="--num-parts",
            expected=f"at most {graph.schema.num_nodes:,}",
            found=f"{num_parts * options.trainers:,}",
        )
