"""``daskgraphpart plan`` and ``compare``: choose how to partition."""

from __future__ import annotations

import json
from typing import Any

import click

from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    DISPATCH_OPTIONS,
    METHOD_OPTIONS,
    NUM_PARTS_OPTION,
    RESOURCE_OPTIONS,
    graph_of,
    keywords_of,
    with_options,
)
from daskgraphpart.cli.tables import TABLE_OPTIONS, input_of
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.resources import Resources


@click.command(cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("out_dir", required=False, type=click.Path(), metavar="[OUT]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the plan.")
@with_options(NUM_PARTS_OPTION, *METHOD_OPTIONS, *TABLE_OPTIONS, *DISPATCH_OPTIONS)
def plan(**values: Any) -> None:
    """Estimate disk, memory and method of a partition.

    Takes the same options as `partition`. Reads no data of a chunked graph; tables have to be read.

    \b
    daskgraphpart plan graph --num-parts 64 --memory 32GB --workers 16
    daskgraphpart plan graph /data/parts --num-parts 8 --method kaminpar
    daskgraphpart plan graph --num-parts 8 --format json
    """
    from daskgraphpart.api.plan import plan

    paths = (values["in_dir"], values["out_dir"])
    is_one = bool(values["edges"] or values["from"]) + sum(path is not None for path in paths) == 1
    graph, (out_dir,) = input_of(values, (*paths, "." if is_one else None), ("GRAPH", "OUT"))
    found = plan(
        graph,
        values["num_parts"],
        out=out_dir,
        dispatch_to=values["dispatch_to"],
        **keywords_of(values, AssignOptions, DispatchOptions, Resources),
    )
    click.echo(json.dumps(found.to_dict(), indent=1) if values["form"] == "json" else str(found))


@click.command(cls=Command)
@click.argument("in_dir", type=click.Path(), metavar="GRAPH")
@click.option("--parts", default="4,8,64", show_default=True, metavar="N,...", help="Numbers of parts.")
@click.option(
    "--methods",
    default="auto,kaminpar,metis,multilevel,fennel,random",
    show_default=True,
    metavar="METHOD,...",
    help="Methods, or directories of owners.",
)
@click.option(
    "--sampling",
    metavar="N,...",
    help="Sort by what trainers would fetch, if they sample 10,10 neighbours, say. Writes partitions to find out.",
)
@click.option(
    "--batch-size", type=int, default=1000, show_default=True, help="Training nodes per batch, for --sampling."
)
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False), help="Write the table to this file, too.")
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), help="Draw it: PNG, SVG or PDF.")
@with_options(*METHOD_OPTIONS[1:], *RESOURCE_OPTIONS, CONFINED_OPTION)
def compare(**values: Any) -> None:
    """Compare methods on GRAPH: cut, balance, time and memory.

    Each method runs in a process of its own; time and memory are those of the whole process.

    \b
    daskgraphpart compare graph --parts 4,8 --methods auto,metis,fennel
    daskgraphpart compare graph --csv methods.csv --plot methods.png
    daskgraphpart compare graph --parts 8 --sampling 10,10
    """
    from daskgraphpart.api.compare import (
        Compared,
        check_plot,
        comparison_table,
        plot_comparison,
        write_comparison,
    )
    from daskgraphpart.api.compare import (
        compare as compare_methods,
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
    options = keywords_of(values, AssignOptions, Resources)
    sampled = {"sampling": values["sampling"], "batch_size": values["batch_size"]}
    results = compare_methods(values["in_dir"], parts, methods, on_done=show, **sampled, **options)
    click.echo(comparison_table(results))
    if values["csv_path"]:
        write_comparison(results, values["csv_path"])
    if values["plot_path"]:
        plot_comparison(results, values["plot_path"])
