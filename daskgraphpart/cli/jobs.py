"""``daskgraphpart partition``, ``assign``, ``dispatch``, ``plan`` and ``compare``."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import click

from daskgraphpart.assignment.options import AssignOptions
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    DISPATCH_OPTIONS,
    FORM_OPTION,
    JOB_OPTIONS,
    METHOD_OPTIONS,
    RESOURCE_OPTIONS,
    dgl_option,
    graph_of,
    keywords_of,
    one_of,
    run_of,
    unused_option,
    with_options,
)
from daskgraphpart.cli.summary import show_assignment, show_outcome, write_report
from daskgraphpart.cli.tables import TABLE_OPTIONS, input_of
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.engine.resources import Resources, resources_of

logger = logging.getLogger(__name__)

STEP_1, STEP_2 = "random_partition.py", "dispatch_data.py"
NUM_PARTS = click.option("--num-parts", type=int, required=True, help="Number of parts.")
DGL_OPTIONS = (
    dgl_option("--in-dir", "dgl_in_dir", type=click.Path(), script=STEP_2, meaning="GRAPH"),
    dgl_option("--metadata-filename", type=click.Path(), script=STEP_2, meaning="Name of the metadata file in GRAPH"),
    dgl_option("--partitions-dir", "dgl_partitions_dir", type=click.Path(), script=STEP_2, meaning="ASSIGNMENT"),
    dgl_option(
        "--out-dir",
        "dgl_out_dir",
        type=click.Path(),
        script=STEP_2,
        meaning="OUT; the config is then named metadata.json",
    ),
    dgl_option(
        "--ip-config",
        type=click.Path(exists=True, dir_okay=False),
        script=STEP_2,
        meaning="A file of machines, whose number must divide that of the parts. Means --dispatch if --cluster is one "
        "of several machines; else all parts are written to OUT here",
    ),
    unused_option("--save-orig-nids", script=STEP_2, why="original IDs are always written", is_flag=True),
    unused_option("--save-orig-eids", script=STEP_2, why="original IDs are always written", is_flag=True),
    unused_option("--master-port", script=STEP_2, why="--cluster says where tasks run"),
    unused_option("--ssh-port", script=STEP_2, why="--cluster says where tasks run"),
    unused_option("--python-path", script=STEP_2, why="workers run the Python they were started with"),
    unused_option("--process-group-timeout", script=STEP_2, why="no task waits for another"),
    dgl_option(
        "--use-graphbolt",
        script=STEP_2,
        meaning="Means --layout graphbolt, without edge IDs unless you give --store-eids",
        is_flag=True,
    ),
    dgl_option(
        "--store-eids/--no-store-eids",
        script=STEP_2,
        meaning="Store new edge IDs in GraphBolt's graphs; default with --layout, not with --use-graphbolt",
        default=None,
    ),
    dgl_option("--store-inner-node", script=STEP_2, meaning="Store inner_node in GraphBolt's graphs", is_flag=True),
    dgl_option("--store-inner-edge", script=STEP_2, meaning="Store inner_edge in GraphBolt's graphs", is_flag=True),
)


@click.command(cls=Command)
@click.argument("in_dir", type=click.Path(), metavar="[GRAPH]")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@with_options(NUM_PARTS, *METHOD_OPTIONS, *TABLE_OPTIONS, *DISPATCH_OPTIONS)
def partition(**values: Any) -> None:
    """Partition GRAPH and write the parts to OUT.

    GRAPH is a chunked graph (a directory with metadata.json), a table of edges, or a GraphStorm config. Or leave it out
    and give tables by --edges.

    \b
    daskgraphpart partition graph parts --num-parts 4
    daskgraphpart partition parts --num-parts 4 --edges follows.csv --map-ids
    daskgraphpart partition graph parts --num-parts 8 --method metis --memory 8GB
    """
    from daskgraphpart.api.run_dispatch import partition_job

    graph, (out_dir,) = input_of(values, (values["in_dir"], values["out_dir"]), ("GRAPH", "OUT"))
    how = {"dispatch_to": values["dispatch_to"], **keywords_of(values, AssignOptions, DispatchOptions)}
    with run_of(values) as run:
        outcome = partition_job(graph, out_dir, values["num_parts"], **how, **run)
    show_outcome(outcome, values, None if values["edges"] or values["from"] else values["in_dir"])


@click.command(cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("assign_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--num-parts", "--num-partitions", "num_parts", type=int, required=True, help="Number of parts.")
@with_options(*METHOD_OPTIONS, *TABLE_OPTIONS, FORM_OPTION)
@click.option("--report", "report_path", type=click.Path(dir_okay=False), help="Write a report as JSON, too.")
@click.option("--overwrite", is_flag=True, help="Replace existing owners in OUT.")
@with_options(*RESOURCE_OPTIONS, *JOB_OPTIONS, CONFINED_OPTION)
@dgl_option("--in-dir", "dgl_in_dir", type=click.Path(), script=STEP_1, meaning="GRAPH")
@dgl_option("--out-dir", "dgl_out_dir", type=click.Path(), script=STEP_1, meaning="OUT")
def assign(**values: Any) -> None:
    """Give every node of GRAPH an owner, and write the owners to OUT.

    The first half of `partition`. OUT gets <ntype>.txt and partition_meta.json, which DGL's tools read, and the same in
    binary form.

    \b
    daskgraphpart assign graph owners --num-parts 4
    daskgraphpart assign graph owners --num-parts 8 --method metis --balance nodes
    daskgraphpart assign graph better --num-parts 8 --method owners --refine
    """
    from daskgraphpart.api.run_assign import assign_job

    given = (values["in_dir"], values["assign_dir"])
    if values["dgl_in_dir"] or values["dgl_out_dir"]:
        given = (
            one_of(values["in_dir"], values["dgl_in_dir"], name="GRAPH"),
            one_of(values["assign_dir"], values["dgl_out_dir"], name="OUT"),
        )
    graph, (assign_dir,) = input_of(values, given, ("GRAPH", "OUT"))
    how = {"form": values["form"], "out": assign_dir, **keywords_of(values, AssignOptions)}
    with run_of(values) as run:
        assignment = assign_job(graph, values["num_parts"], **how, **run)
    if values["report_path"]:
        write_report(assignment, values["report_path"])
    show_assignment(assignment, values, assign_dir)


@click.command(cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("assign_dir", required=False, type=click.Path(), metavar="ASSIGNMENT")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--num-parts", type=int, help="Number of parts, if ASSIGNMENT does not tell.")
@with_options(*TABLE_OPTIONS, *DISPATCH_OPTIONS, *DGL_OPTIONS)
def dispatch(**values: Any) -> None:
    """Write the parts of GRAPH to OUT, with owners from ASSIGNMENT.

    The second half of `partition`. ASSIGNMENT is a directory that `assign`, DGL or ParMETIS wrote.

    \b
    daskgraphpart dispatch graph owners parts
    daskgraphpart dispatch graph owners parts --layout graphbolt --memory 4GB
    """
    from daskgraphpart.api.run_dispatch import dispatch_job

    names = ("GRAPH", "ASSIGNMENT", "OUT")
    given = (values["in_dir"], values["assign_dir"], values["out_dir"])
    flags = (values["dgl_in_dir"], values["dgl_partitions_dir"], values["dgl_out_dir"])
    if any(flags):
        given = tuple(one_of(*pair, name=name) for *pair, name in zip(given, flags, names, strict=True))
    if values["metadata_filename"]:
        given = (str(Path(given[0]) / values["metadata_filename"]), *given[1:])
    graph, (assign_dir, out_dir) = input_of(values, given, names)
    config_name = "metadata.json" if values["dgl_out_dir"] else None
    if values["use_graphbolt"]:
        values["layout"] = "graphbolt"
    if values["store_eids"] is None:
        values["store_eids"] = not values["use_graphbolt"]
    options = {**keywords_of(values, DispatchOptions), "config_name": config_name}
    with run_of(values) as run:
        dispatch_to = _machines_of(values, resources_of(run), assign_dir, out_dir)
        how = {"num_parts": values["num_parts"], "dispatch_to": dispatch_to, **options}
        outcome = dispatch_job(graph, assign_dir, out_dir, **how, **run)
    show_outcome(outcome, values, None if values["edges"] or values["from"] else given[0])


def _machines_of(values: dict[str, Any], resources: Resources, assign_dir: str, out_dir: str) -> str | None:
    """File of machines, by either option; None to write all parts here."""
    from daskgraphpart.assignment.read_files import read_num_parts
    from daskgraphpart.dispatching.machines import read_machines
    from daskgraphpart.engine.cluster_names import is_on_this_machine

    machines: str | None
    machines, by_dgl = values["dispatch_to"], values["ip_config"]
    if machines and by_dgl:
        raise click.UsageError("Give only one of --dispatch and --ip-config.")
    if not by_dgl or not is_on_this_machine(resources.cluster):
        return machines or by_dgl
    found, num_parts = read_machines(by_dgl, Path(out_dir)), values["num_parts"] or read_num_parts(Path(assign_dir))
    if num_parts is not None:
        found.check_parts(num_parts)
    logger.info("--ip-config without a --cluster of these machines: writing all parts to OUT here")
    return None


@click.command(cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("out_dir", required=False, type=click.Path(), metavar="[OUT]")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="Form of the plan.")
@with_options(NUM_PARTS, *METHOD_OPTIONS, *TABLE_OPTIONS, *DISPATCH_OPTIONS)
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
