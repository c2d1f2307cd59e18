"""``daskgraphpart compare``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    METHOD_OPTIONS,
    RESOURCE_OPTIONS,
    Command,
    assign_options_of,
    graph_of,
    resources_of,
    with_options,
)


@click.command("compare", cls=Command)
@click.argument("in_dir", type=click.Path())
@click.option("--parts", default="4,8,64", show_default=True, metavar="N,...", help="Numbers of parts.")
@click.option(
    "--methods",
    default="auto,kaminpar,metis,multilevel,fennel,random",
    show_default=True,
    metavar="METHOD,...",
    help="Methods, or directories of owners.",
)
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False), help="Also write the table to this file.")
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), help="Also draw it: PNG, SVG or PDF.")
@with_options(*METHOD_OPTIONS[1:], *RESOURCE_OPTIONS, CONFINED_OPTION)
def command(**values: Any) -> None:
    """Compare methods on the graph in IN_DIR: cut, balance, replication, seconds and peak memory.

    Each method runs in a fresh process; time and memory are those of the whole process.

    \b
    daskgraphpart compare graph --parts 4,8 --methods metis,kaminpar,fennel --balance nodes
    daskgraphpart compare graph --csv methods.csv --plot methods.png
    """
    from daskgraphpart.api.compare import (
        Compared,
        check_plot,
        compare,
        comparison_table,
        plot_comparison,
        write_comparison,
    )
    from daskgraphpart.errors import OptionError
    from daskgraphpart.units import format_number

    try:
        parts = [int(number) for number in values["parts"].split(",")]
    except ValueError as fault:
        raise OptionError("not a list of numbers", place="--parts", found=values["parts"]) from fault
    methods = [method.strip() for method in values["methods"].split(",") if method.strip()]

    def show(result: Compared) -> None:
        if not values["quiet"]:
            outcome = result.fault or f"cut {result.cut_share:.2%}"
            click.echo(f"{format_number(result.num_parts, 'part')}, {result.method}: {outcome}", err=True)

    if values["plot_path"]:
        check_plot(values["plot_path"])
    graph_of(values["in_dir"], values)  # refuses files outside, once for all runs
    options = assign_options_of({**values, "method": "auto"})
    results = compare(values["in_dir"], parts, methods, options=options, resources=resources_of(values), on_done=show)
    click.echo(comparison_table(results))
    if values["csv_path"]:
        write_comparison(results, values["csv_path"])
    if values["plot_path"]:
        plot_comparison(results, values["plot_path"])
