"""``daskgraphpart partition``."""

from __future__ import annotations

import time
from typing import Any

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
    progress_of,
    resources_of,
    with_options,
)
from daskgraphpart.cli.plan import show_plan
from daskgraphpart.cli.summary import show_outcome


@click.command("partition")
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", type=click.Path())
@click.option("--num-parts", type=int, required=True, help="Number of parts.")
@with_options((*METHOD_OPTIONS, *OUTPUT_OPTIONS, *RESOURCE_OPTIONS, STAGING_OPTION, DISPATCH_OPTION, *JOB_OPTIONS))
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Partition the graph in IN_DIR (metadata.json and data files) and write what DGL loads to OUT_DIR.

    \b
    daskgraphpart partition graph partitions --num-parts 4
    daskgraphpart partition graph partitions --num-parts 8 --balance nodes,edges=0.05 --method kaminpar
    daskgraphpart partition graph partitions --num-parts 64 --method parts-of-nodes --memory 8GB --graph-formats coo,csc
    daskgraphpart partition s3://bucket/graph s3://bucket/partitions --num-parts 8 --workspace /scratch
    daskgraphpart partition graph /disk/partitions --num-parts 8 --cluster scheduler.json --workspace /shared \
        --dispatch ip_config.txt
    """
    from daskgraphpart.api.pipeline import partition

    graph, options = graph_of(values["in_dir"], values), dispatch_options_of(values)
    show_plan(graph, values["out_dir"], values, method_of(values), options)
    started = time.monotonic()
    with progress_of(values) as progress:
        outcome = partition(
            graph,
            values["out_dir"],
            values["num_parts"],
            **method_of(values),
            options=options,
            resources=resources_of(values),
            overwrite=values["overwrite"],
            restart=values["restart"],
            keep_workspace=values["keep_workspace"],
            progress=progress,
            dispatch_to=values["dispatch_to"],
        )
    if not values["quiet"]:
        show_outcome(outcome, time.monotonic() - started)
