"""``daskgraphpart verify``: compare partitions with their graph."""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from typing import Any

import click

from daskgraphpart.cli.command_options import CONFINED_OPTION, RESOURCE_OPTIONS, run_of, with_options
from daskgraphpart.cli.dgl_options import dgl_option, unused_option
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.inputs import INPUT_OPTIONS, input_of, is_given
from daskgraphpart.partitioned.partitioned_graph import open_partitions
from daskgraphpart.tools.verification import verify_partitions


@click.command(cls=Command)
@click.argument("directories", nargs=-1, type=click.Path(), metavar="[GRAPH] OUT")
@click.option("--quick", is_flag=True, help="Read headers and small files only; takes seconds.")
@click.option("--sample", type=float, default=1.0, metavar="FRACTION", help="Share of feature rows to compare.")
@click.option(
    "--checksums/--no-checksums",
    default=None,
    help="Compare checksums with the manifest; without GRAPH, do only that.",
)
@dgl_option("--orig-dataset-dir", "dgl_in_dir", type=click.Path(), script="verify_partitions.py", meaning="GRAPH")
@dgl_option("--part-graph-dir", "dgl_out_dir", type=click.Path(), script="verify_partitions.py", meaning="OUT")
@unused_option(
    "--partitions-dir",
    script="verify_partitions.py",
    why="owners are taken from OUT and not compared with those of an assignment",
    level=logging.WARNING,
)
@with_options(*INPUT_OPTIONS, *RESOURCE_OPTIONS)
@CONFINED_OPTION
def verify(**values: Any) -> None:
    """Compare the partitions in OUT with GRAPH, node by node.

    Checks that every node, edge and feature row is there once, in the right part; halo nodes; checksums. OUT may be
    written by DGL's own tools. Ends with exit code 1 if anything is wrong.

    \b
    daskgraphpart verify graph parts
    daskgraphpart verify parts --edges follows.csv --map-ids
    daskgraphpart verify copy-of-parts --checksums
    """
    by_flag = tuple(values[name] for name in ("dgl_in_dir", "dgl_out_dir") if values[name] is not None)
    directories = values["directories"] + by_flag
    if not directories:
        raise click.UsageError("Missing OUT.")
    if by_flag and values["directories"]:
        raise click.UsageError("Give GRAPH and OUT once.")
    has_tables = is_given(values)
    if len(directories) > 2:
        raise click.UsageError("Give GRAPH and OUT, or OUT and --checksums.")
    if len(directories) == 1 and not values["checksums"] and not has_tables:
        raise click.UsageError("Missing GRAPH. Without it, give --checksums.")
    with run_of(values) as run:
        has_graph = len(directories) > 1 or has_tables
        graph = input_of(values, directories, ("GRAPH", "OUT"))[0] if has_graph else None
        if values["confined"]:
            open_partitions(directories[-1], confined=True)
        how = {name: values[name] for name in ("quick", "sample")}
        report = verify_partitions.verify(
            graph, directories[-1], checksums=values["checksums"] is not False, **how, **run
        )
    if not report.ok:
        click.echo(str(report))
        sys.exit(1)
    if not values["quiet"]:
        click.echo(str(replace(report, seconds=values["seconds"])))
