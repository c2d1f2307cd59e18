"""``daskgraphpart verify``."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    RESOURCE_OPTIONS,
    graph_of,
    progress_of,
    resources_of,
    with_options,
)

MOST_FINDINGS_SHOWN = 20


@click.command("verify")
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", type=click.Path())
@with_options(RESOURCE_OPTIONS)
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Compare the partitions in OUT_DIR with the graph in IN_DIR they were made from.

    Checks counts and ranges, that every node and edge is there once, in the part that owns it, and every row of every
    feature. Ends with exit code 1 if anything is wrong.

    \b
    daskgraphpart verify graph partitions
    """
    from daskgraphpart.display.units import format_count, format_seconds
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.verification.pipeline import verify

    started = time.monotonic()
    with progress_of(values) as progress:
        graph = graph_of(values["in_dir"], values)
        if values["confined"]:
            open_partitions(values["out_dir"], confined=True)
        report = verify(graph, values["out_dir"], resources=resources_of(values), progress=progress)
    for finding in report.findings[:MOST_FINDINGS_SHOWN]:
        click.echo(str(finding))
    if not report.ok:
        click.echo(f"{len(report.findings)} things are wrong")
        sys.exit(1)
    if not values["quiet"]:
        counted = f"{format_count(report.num_nodes)} nodes, {format_count(report.num_edges)} edges"
        rows = f"{format_count(report.num_rows)} rows of features"
        click.echo(f"all is well: {counted}, {rows} compared in {format_seconds(time.monotonic() - started)}")
