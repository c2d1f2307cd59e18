"""``daskgraphpart report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.options import RESOURCE_OPTIONS, Command, run_of, with_options
from daskgraphpart.errors import OptionError

ENDINGS = {".txt": "text", ".json": "json", ".html": "html", ".htm": "html"}


@click.command("report", cls=Command)
@click.argument("out_dir", type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Default: what the name of --output ends in, else text.",
)
@click.option("--output", type=click.Path(dir_okay=False), help="File to write; default standard output.")
@click.option(
    "--labels",
    multiple=True,
    metavar="NTYPE:NAME",
    help="Node data that are classes; may be given several times. Default: whole numbers named label, labels or y.",
)
@with_options(*RESOURCE_OPTIONS)
def command(**values: Any) -> None:
    """Show the quality of the partitions in OUT_DIR, ours or DGL's. Everything is computed from their files.

    Cut, communication volume, replication, HALO nodes, balance of nodes, edges, types, classes, masks and bytes, edges
    between parts, in-degrees, sizes on disk. An HTML report is one page that needs no network.

    \b
    daskgraphpart report partitions
    daskgraphpart report partitions --output report.html
    daskgraphpart report partitions --format json --labels paper:field
    """
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.reporting.report import check_directory_of, write_text

    output = values["output"]
    form = values["form"] or _form_of(output)
    if output is not None:
        check_directory_of(output)
    with run_of(values) as run:
        report = open_partitions(values["out_dir"]).report(labels=values["labels"] or None, **run)
    if form == "json":
        content = json.dumps(report.to_dict(), indent=1)
    else:
        content = report.to_html() if form == "html" else str(report)
    if output is None:
        click.echo(content.rstrip("\n"))
    else:
        write_text(content, output)


def _form_of(output: str | None) -> str:
    ending = "" if output is None else Path(output).suffix.lower()
    if output is not None and ending not in ENDINGS:
        hint = "or say what is to be written: --format text, json or html"
        raise OptionError(
            "unknown ending of a report", place="--output", expected=", ".join(ENDINGS), found=output, hint=hint
        )
    return ENDINGS.get(ending, "text")
