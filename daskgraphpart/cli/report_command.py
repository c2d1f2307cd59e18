"""``daskgraphpart report``: show how good partitions are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.command_options import RESOURCE_OPTIONS, run_of, with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.summary import show_facts
from daskgraphpart.errors import OptionError
from daskgraphpart.partitioned.partitioned_graph import open_partitions
from daskgraphpart.tools.report.report import check_directory_of, write_text

ENDINGS = {".txt": "text", ".json": "json", ".html": "html", ".htm": "html"}


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path(), metavar="OUT")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Form; default by the ending of --output, else text.",
)
@click.option("--output", type=click.Path(dir_okay=False), help="File to write; default the screen.")
@click.option(
    "--labels",
    multiple=True,
    metavar="TYPE/NAME",
    help="Node data that hold classes; repeat it for more. Default: integers named label, labels or y.",
)
@click.option(
    "--fanouts",
    multiple=True,
    metavar="N,...",
    help="Neighbours that training samples, to estimate what trainers fetch from other parts. Default: what partition "
    "was told, or a few batches of 10,10.",
)
@click.option("--batch-size", type=int, help="Training nodes per batch. Default: what partition was told, or 1,000.")
@click.option("--network", metavar="SPEED", help="Speed at which a part fetches. Default: 10Gbit.")
@with_options(*RESOURCE_OPTIONS)
def report(**values: Any) -> None:
    """Show how good the partitions in OUT are.

    What training fetches, cut, balance, halo nodes, sizes; as text, as JSON, or as one HTML page that needs no network.
    OUT may be written by DGL's own tools.

    \b
    daskgraphpart report parts
    daskgraphpart report parts --output report.html
    daskgraphpart report parts --fanouts 10,10
    """
    output = values["output"]
    form = values["form"] or _form_of(output)
    if output is not None:
        check_directory_of(output)
    with run_of(values) as run:
        wanted = {
            "labels": values["labels"] or None,
            "fanouts": values["fanouts"] or None,
            "batch_size": values["batch_size"],
            "network": values["network"],
        }
        statistics = open_partitions(values["out_dir"]).report(**wanted, **run)
    if form == "json":
        content = json.dumps(statistics.to_dict(), indent=1)
    else:
        content = statistics.to_html() if form == "html" else str(statistics)
    if output is None:
        click.echo(content.rstrip("\n"))
    else:
        write_text(content, output)
        if not values["quiet"]:
            show_facts({"report": output})


def _form_of(output: str | None) -> str:
    ending = "" if output is None else Path(output).suffix.lower()
    if output is not None and ending not in ENDINGS:
        hint = f"let its name end in {', '.join(ENDINGS)}, or add --format text, json or html"
        raise OptionError(f"--output {output} has no known format", option="output", hint=hint)
    return ENDINGS.get(ending, "text")
