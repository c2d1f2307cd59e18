"""``daskgraphpart plan``, and the line of it that `partition` and `dispatch` begin with."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.options import (
    PARTITION_OPTIONS,
    Command,
    assign_options_of,
    dispatch_options_of,
    graph_of,
    resources_of,
    with_options,
)
from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from daskgraphpart.api.plan import Plan

logger = logging.getLogger(__name__)


@click.command("plan", cls=Command)
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", required=False, default=".", type=click.Path())
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the plan.")
@with_options(*PARTITION_OPTIONS)
def command(**values: Any) -> None:
    """Estimate what `partition` does with the graph in IN_DIR, without reading the data.

    Bytes of input, output and temporary files, memory per task, the smallest budget that works, and the method that is
    taken. It takes the whole command line of `partition`: replace that word.

    \b
    daskgraphpart plan graph --num-parts 64 --memory 32GB --workers 16
    daskgraphpart plan graph /data/partitions --num-parts 8 --method kaminpar --graph-formats coo,csc
    daskgraphpart plan graph --num-parts 8 --format json
    """
    how: dict[str, Any] = {"method": assign_options_of(values), "options": dispatch_options_of(values)}
    found = _plan(values, graph_of(values["in_dir"], values), values["num_parts"], values["out_dir"], **how)
    click.echo(json.dumps(found.to_dict(), indent=1) if values["form"] == "json" else str(found))


def show_plan(values: dict[str, Any], graph: Any, num_parts: int | None, out_dir: str, **how: Any) -> None:
    """Show the plan of a run in one line, and its warnings, unless the command is quiet.

    What is wrong with the input is left to the run itself to report.
    """
    if values["quiet"] or num_parts is None:
        return
    try:
        found = _plan(values, graph, num_parts, out_dir, **how)
    except GraphPartError:
        logger.debug("no plan can be made", exc_info=True)
        return
    click.echo(f"plan  {found.summary}")
    for warning in found.warnings:
        logger.warning("%s", warning)


def _plan(values: dict[str, Any], graph: Any, num_parts: int, out_dir: str, **how: Any) -> Plan:
    """Plan a run; partitions that go to machines are made in the workspace first."""
    from daskgraphpart.api.plan import plan
    from daskgraphpart.dispatching.machines import read_machines
    from daskgraphpart.dispatching.workspace import staging_directory

    resources = resources_of(values)
    if values["dispatch_to"] is not None:
        machines = read_machines(values["dispatch_to"], Path(out_dir))
        machines.check_parts(num_parts)
        machines.check_cluster(resources.cluster)
        out_dir = str(staging_directory(machines.path, resources.workspace))
    return plan(graph, num_parts, out_dir=out_dir, resources=resources, **how)
