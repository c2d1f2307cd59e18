"""``daskgraphpart partition``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.command_inputs import is_given
from daskgraphpart.cli.command_options import (
    DISPATCH_OPTIONS,
    METHOD_OPTIONS,
    NUM_PARTS_OPTION,
    DispatchCommand,
    run_of,
    with_options,
)
from daskgraphpart.cli.inputs import INPUT_OPTIONS, input_of
from daskgraphpart.cli.summary import show_outcome
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.jobs.run_options import run_options
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
    from daskgraphpart.jobs.run_dispatch import partition_job

    graph, (out_dir,) = input_of(values, (values["in_dir"], values["out_dir"]), ("GRAPH", "OUT"))
    given = graph, out_dir, values["num_parts"], chosen(AssignOptions, values), chosen(DispatchOptions, values)
    with run_of(values) as run:
        outcome = partition_job(*given, run_options(run), dispatch_to=values.get("dispatch_to"))
    show_outcome(outcome, values, None if is_given(values) else values["in_dir"])
