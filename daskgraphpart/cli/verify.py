"""``daskgraphpart verify``."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    RESOURCE_OPTIONS,
    Command,
    dgl_option,
    graph_of,
    run_of,
    unused_option,
    with_options,
)
from daskgraphpart.units import format_seconds

if TYPE_CHECKING:
    from daskgraphpart.verification.findings import Report


@click.command("verify", cls=Command)
@click.argument("directories", nargs=-1, type=click.Path(), metavar="[IN_DIR] OUT_DIR")
@click.option("--quick", is_flag=True, help="Read headers and small files only: seconds, whatever the size.")
@click.option(
    "--sample", type=float, default=1.0, metavar="FRACTION", help="Share of the rows of features that is compared."
)
@click.option(
    "--checksums/--no-checksums",
    default=None,
    help="Compare checksums with the manifest (default, if there is one); --checksums without IN_DIR does just that.",
)
@dgl_option("--orig-dataset-dir", "dgl_in_dir", type=click.Path(), script="verify_partitions.py", meaning="IN_DIR")
@dgl_option("--part-graph-dir", "dgl_out_dir", type=click.Path(), script="verify_partitions.py", meaning="OUT_DIR")
@unused_option(
    "--partitions-dir",
    script="verify_partitions.py",
    why="owners are taken from OUT_DIR and not compared with those of an assignment",
    level=logging.WARNING,
)
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Compare the partitions in OUT_DIR with the graph in IN_DIR they were made from.

    Checks counts and ranges, that every node and edge is there once, in the part that owns it, HALO nodes, every row of
    every feature, and checksums. OUT_DIR may have been written by DGL's own tools. Ends with exit code 1 if anything is
    wrong.

    \b
    daskgraphpart verify graph partitions
    daskgraphpart verify copy-of-partitions --checksums
    daskgraphpart verify --orig-dataset-dir graph --part-graph-dir partitions
    """
    by_flag = tuple(values[name] for name in ("dgl_in_dir", "dgl_out_dir") if values[name] is not None)
    directories = values["directories"] + by_flag
    if not directories:
        raise click.UsageError("Missing OUT_DIR.")
    if by_flag and values["directories"]:
        raise click.UsageError("Give IN_DIR and OUT_DIR once.")
    if len(directories) > 2:
        raise click.UsageError("Give IN_DIR and OUT_DIR, or OUT_DIR and --checksums.")
    if len(directories) == 1 and not values["checksums"]:
        raise click.UsageError("Missing IN_DIR; without it, give --checksums.")
    with run_of(values) as run:
        report = _verify(directories, values, run)
    if not report.ok:
        click.echo(str(report))
        sys.exit(1)
    if not values["quiet"]:
        click.echo(f"{report} in {format_seconds(values['seconds'])}")


def _verify(directories: tuple[str, ...], values: dict[str, Any], run: dict[str, Any]) -> Report:
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.verification.pipeline import verify, verify_checksums

    graph = graph_of(directories[0], values) if len(directories) == 2 else None
    if values["confined"]:
        open_partitions(directories[-1], confined=True)
    if graph is None:
        return verify_checksums(directories[0], **run)
    return verify(
        graph,
        directories[1],
        quick=values["quick"],
        sample=values["sample"],
        checksums=values["checksums"] is not False,
        **run,
    )
