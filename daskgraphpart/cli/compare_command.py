"""``daskgraphpart compare``: choose a method."""

from __future__ import annotations

import sys
from typing import Any

import click

from daskgraphpart.cli.command_options import (
    CONFINED_OPTION,
    METHOD_OPTIONS,
    RESOURCE_OPTIONS,
    graph_of,
    keywords_of,
    progress_of,
    with_options,
)
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.summary import show_facts
from daskgraphpart.engine.resources import Resources
from daskgraphpart.errors import OptionError
from daskgraphpart.partitioner.assign_options import GUESTS, METHODS, AssignOptions
from daskgraphpart.tools.report.compare import Compared, check_plot, plot_comparison
from daskgraphpart.tools.report.compare import compare as compare_methods
from daskgraphpart.units import format_number


@click.command(cls=Command)
@click.argument("in_dir", type=click.Path(), metavar="GRAPH")
@click.option("--num-parts", default="4,8,64", show_default=True, metavar="N,...", help="Numbers of parts.")
@click.option(
    "--methods",
    default=",".join((*METHODS, *GUESTS)),
    show_default=True,
    metavar="METHOD,...",
    help="Methods, or directories of owners.",
)
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False), help="Write the table to this file, too.")
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), help="Draw it: PNG, SVG or PDF.")
@with_options(*METHOD_OPTIONS[1:], *RESOURCE_OPTIONS, CONFINED_OPTION)
def compare(**values: Any) -> None:
    """Compare methods on GRAPH: cut, balance, time and memory.

    Each method runs in a process of its own; time and memory are those of the whole process.

    \b
    daskgraphpart compare graph --num-parts 4,8 --methods auto,metis,fennel
    daskgraphpart compare graph --csv methods.csv --plot methods.png
    daskgraphpart compare graph --num-parts 8 --fanouts 10,10
    """
    try:
        parts = [int(number) for number in values["num_parts"].split(",")]
    except ValueError as fault:
        what = f"--num-parts {values['num_parts']} is not a list of numbers"
        raise OptionError(what, option="num_parts", hint="use one such as 4,8") from fault
    methods = [method.strip() for method in values["methods"].split(",") if method.strip()]

    if values["plot_path"]:
        check_plot(values["plot_path"])
    graph_of(values["in_dir"], values)  # refuses files outside, once for all runs
    options = keywords_of(values, AssignOptions, Resources)
    with progress_of(values) as progress:

        def show(result: Compared) -> None:
            outcome = result.fault or f"cut {result.cut_share:.2%}"
            progress.note(f"{format_number(result.num_parts, 'part')}, {result.method}: {outcome}")

        results = compare_methods(values["in_dir"], parts, methods, on_done=show, progress=progress, **options)
    click.echo(repr(results))
    written = {}
    if values["csv_path"]:
        results.to_frame().to_csv(values["csv_path"], index=False, lineterminator="\r\n")
        written["table"] = values["csv_path"]
    if values["plot_path"]:
        plot_comparison(results, values["plot_path"])
        written["plot"] = values["plot_path"]
    if not values["quiet"]:
        show_facts(written)
    if all(result.exit_code for result in results):
        sys.exit(max(result.exit_code for result in results))  # there is nothing to choose from
