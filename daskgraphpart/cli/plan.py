"""``daskgraphpart plan``, and the line of it that `partition` and `dispatch` begin with."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    DISPATCH_OPTION,
    JOB_OPTIONS,
    METHOD_OPTIONS,
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTION,
    dispatch_options_of,
    graph_of,
    method_of,
    resources_of,
    with_options,
)
from daskgraphpart.errors import GraphPartError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.engine.resources import Resources

logger = logging.getLogger(__name__)


@click.command("plan")
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", required=False, default=".", type=click.Path())
@click.option("--num-parts", type=int, required=True, help="Number of parts.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the plan.",
)
@with_options((*METHOD_OPTIONS, *OUTPUT_OPTIONS, *RESOURCE_OPTIONS, STAGING_OPTION, DISPATCH_OPTION, *JOB_OPTIONS))
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Estimate what `partition` does with the graph in IN_DIR, without reading the data.

    Bytes of input, output and temporary files, memory per task, the smallest budget that works, and the method that is
    taken. It takes the whole command line of `partition`: replace that word.

    \b
    daskgraphpart plan graph --num-parts 64 --memory 32GB --workers 16
    daskgraphpart plan graph /data/partitions --num-parts 8 --method kaminpar --graph-formats coo,csc
    daskgraphpart plan graph --num-parts 8 --format json
    """
    from daskgraphpart.api.plan import plan

    resources = resources_of(values)
    found = plan(
        graph_of(values["in_dir"], values),
        values["num_parts"],
        out_dir=_made_in(values["out_dir"], values, values["num_parts"], resources),
        **method_of(values),
        options=dispatch_options_of(values),
        resources=resources,
    )
    click.echo(json.dumps(found.to_dict(), indent=1) if values["form"] == "json" else str(found))


def _made_in(out_dir: str, values: Mapping[str, Any], num_parts: int, resources: Resources) -> str:
    """Directory whose disk the partitions are made on: the workspace, if they go to machines from there."""
    if values["dispatch_to"] is None:
        return out_dir
    from daskgraphpart.delivery.machines import read_machines

    machines = read_machines(values["dispatch_to"], Path(out_dir))
    machines.check_parts(num_parts)
    machines.check_cluster(resources.cluster)
    return str(machines.staging_directory(resources.workspace))


def show_plan(
    graph: Any, out_dir: str, values: Mapping[str, Any], method: Mapping[str, Any], options: DispatchOptions
) -> None:
    """Show the plan of a run in one line, and its warnings, unless it is to be quiet.

    What is wrong with the input is left to the run itself to report.
    """
    if values["quiet"]:
        return
    from daskgraphpart.api.plan import plan
    from daskgraphpart.assignment.read_files import read_num_parts

    try:
        num_parts = values["num_parts"] or read_num_parts(Path(method["method"]))
        if num_parts is None:
            return
        resources = resources_of(dict(values))
        out_dir = _made_in(out_dir, values, num_parts, resources)
        found = plan(graph, num_parts, out_dir=out_dir, **method, options=options, resources=resources)
    except GraphPartError:
        logger.debug("no plan can be made", exc_info=True)
        return
    click.echo(f"plan  {found.summary}")
    for warning in found.warnings:
        logger.warning("%s", warning)
