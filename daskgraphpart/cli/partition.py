"""``daskgraphpart partition`` and ``plan``."""

from __future__ import annotations

import json
from typing import Any

import click

from daskgraphpart.cli.command_options import (
    DISPATCH_OPTIONS,
    METHOD_OPTIONS,
    NUM_PARTS_OPTION,
    DispatchCommand,
    keywords_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.inputs import INPUT_OPTIONS, input_of, is_given
from daskgraphpart.cli.summary import show_outcome
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import Resources
from daskgraphpart.jobs.job_options import job_options
from daskgraphpart.options import chosen
from daskgraphpart.partitioner.assign_options import AssignOptions


@click.command(cls=DispatchCommand)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@with_options(NUM_PARTS_OPTION, *METHOD_OPTIONS, *INPUT_OPTIONS, *DISPATCH_OPTIONS)
def partition(**values: Any) -> None:
    """Partition GRAPH and write the parts to OUT.

    GRAPH is a chunked graph (a directory with metadata.json), a table of edges, or a GraphStorm config. Or leave it out
    and give tables by --edges.

    \b
    daskgraphpart partition graph parts --num-parts 4
    daskgraphpart partition parts --num-parts 4 --edges follows.csv --map-ids
    daskgraphpart partition graph parts --num-parts 8 --method metis --memory 8GB
    """
    from daskgraphpart.jobs import job_spec, run_job

    graph, (out_dir,) = input_of(values, (values["in_dir"], values["out_dir"]), ("GRAPH", "OUT"))
    owners = chosen(AssignOptions, values)
    layouts = chosen(DispatchOptions, values)
    machines = values.get("dispatch_to")
    with run_of(values) as keywords:
        run = job_options(keywords)
        spec = job_spec.JobSpec.of(
            graph, owners, values["num_parts"], out_dir, layouts, run.resources, dispatch_to=machines
        )
        outcome = run_job.run_dispatch(spec, run)
    show_outcome(outcome, values, () if is_given(values) else (values["in_dir"],))


@click.command(cls=DispatchCommand)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("out_dir", required=False, type=click.Path(), metavar="[OUT]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the plan.")
@click.option("--explain", is_flag=True, help="List the passes, and the bytes that each reads and writes.")
@with_options(NUM_PARTS_OPTION, *METHOD_OPTIONS, *INPUT_OPTIONS, *DISPATCH_OPTIONS)
def plan(**values: Any) -> None:
    """Estimate disk, memory and method of a partition.

    Takes the same options as `partition`. Reads no data of a chunked graph; tables have to be read.

    \b
    daskgraphpart plan graph --num-parts 64 --memory 32GB --workers 16
    daskgraphpart plan graph /data/parts --num-parts 8 --method kaminpar
    daskgraphpart plan graph --num-parts 8 --format json
    daskgraphpart plan graph --num-parts 8 --explain
    """
    from daskgraphpart.jobs.plan_function import plan

    paths = (values["in_dir"], values["out_dir"])
    is_one = is_given(values) + sum(path is not None for path in paths) == 1
    graph, (out_dir,) = input_of(values, (*paths, "." if is_one else None), ("GRAPH", "OUT"))
    estimated = plan(
        graph,
        values["num_parts"],
        out=out_dir,
        dispatch_to=values.get("dispatch_to"),
        **keywords_of(values, AssignOptions, DispatchOptions, Resources),
    )
    if values["form"] == "json":
        click.echo(json.dumps(estimated.to_dict(), indent=1))
    else:
        click.echo(estimated.explained() if values["explain"] else str(estimated))
