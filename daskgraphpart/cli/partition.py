"""``daskgraphpart partition``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.options import (
    PARTITION_OPTIONS,
    Command,
    assign_options_of,
    dispatch_options_of,
    graph_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.plan import show_plan
from daskgraphpart.cli.summary import show_outcome


@click.command("partition", cls=Command)
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", type=click.Path())
@with_options(*PARTITION_OPTIONS)
def command(**values: Any) -> None:
    """Partition the graph in IN_DIR (metadata.json and data files) and write what DGL loads to OUT_DIR.

    \b
    daskgraphpart partition graph partitions --num-parts 4
    daskgraphpart partition graph partitions --num-parts 8 --balance nodes,edges=0.05 --method kaminpar
    daskgraphpart partition graph partitions --num-parts 64 --method parts-of-nodes --memory 8GB --graph-formats coo,csc
    daskgraphpart partition s3://bucket/graph s3://bucket/partitions --num-parts 8 --workspace /scratch
    daskgraphpart partition graph /disk/partitions --num-parts 8 --cluster scheduler.json --workspace /shared \\
        --dispatch ip_config.txt
    """
    from daskgraphpart.api.pipeline import partition

    graph, num_parts, out_dir = graph_of(values["in_dir"], values), values["num_parts"], values["out_dir"]
    how: dict[str, Any] = {"method": assign_options_of(values), "options": dispatch_options_of(values)}
    show_plan(values, graph, num_parts, out_dir, **how)
    with run_of(values) as run:
        outcome = partition(graph, out_dir, num_parts, dispatch_to=values["dispatch_to"], **how, **run)
    show_outcome(outcome, values, values["in_dir"])
