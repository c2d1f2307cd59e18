"""``daskgraphpart dispatch``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.dgl_flags import dgl_option, unused_option
from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    DISPATCH_OPTION,
    JOB_OPTIONS,
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTION,
    Command,
    dispatch_options_of,
    graph_of,
    one_of,
    resources_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.plan import show_plan
from daskgraphpart.cli.summary import show_outcome

if TYPE_CHECKING:
    from daskgraphpart.engine.resources import Resources

logger = logging.getLogger(__name__)

SCRIPT = "dispatch_data.py"
DGL_OPTIONS = (
    dgl_option("--in-dir", "dgl_in_dir", type=click.Path(), script=SCRIPT, meaning="IN_DIR"),
    dgl_option(
        "--metadata-filename", type=click.Path(), script=SCRIPT, meaning="name of the metadata of the graph in IN_DIR"
    ),
    dgl_option("--partitions-dir", "dgl_partitions_dir", type=click.Path(), script=SCRIPT, meaning="ASSIGN_DIR"),
    dgl_option(
        "--out-dir",
        "dgl_out_dir",
        type=click.Path(),
        script=SCRIPT,
        meaning="OUT_DIR, and the config is then named metadata.json",
    ),
    dgl_option(
        "--ip-config",
        type=click.Path(exists=True, dir_okay=False),
        script=SCRIPT,
        meaning="a file of machines, whose number must divide that of the parts; --dispatch, if --cluster is one of "
        "several machines, else all parts are written to OUT_DIR here",
    ),
    unused_option("--save-orig-nids", script=SCRIPT, why="original IDs are always written", is_flag=True),
    unused_option("--save-orig-eids", script=SCRIPT, why="original IDs are always written", is_flag=True),
    unused_option("--master-port", script=SCRIPT, why="--cluster says where tasks run"),
    unused_option("--ssh-port", script=SCRIPT, why="--cluster says where tasks run"),
    unused_option("--python-path", script=SCRIPT, why="workers run the Python they were started with"),
    unused_option("--process-group-timeout", script=SCRIPT, why="no task waits for another"),
    unused_option(
        "--use-graphbolt",
        script=SCRIPT,
        why="graph.dgl is written, which DGL's dgl_partition_to_graphbolt converts",
        level=logging.WARNING,
        is_flag=True,
    ),
)


@click.command("dispatch", cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("assign_dir", required=False, type=click.Path())
@click.argument("out_dir", required=False, type=click.Path())
@click.option("--num-parts", type=int, help="Number of parts, if ASSIGN_DIR has no partition_meta.json.")
@with_options(*OUTPUT_OPTIONS, DISPATCH_OPTION, *RESOURCE_OPTIONS, STAGING_OPTION, *JOB_OPTIONS, CONFINED_OPTION)
@with_options(*DGL_OPTIONS)
def command(**values: Any) -> None:
    """Bring every node, edge and feature of the graph in IN_DIR to the parts given in ASSIGN_DIR, and write OUT_DIR.

    \b
    daskgraphpart dispatch graph parts-of-nodes partitions --memory 4GB
    daskgraphpart dispatch --in-dir graph --partitions-dir parts-of-nodes --out-dir partitions --ip-config ips.txt
    """
    from daskgraphpart.api.pipeline import dispatch
    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.assignment.read_files import read_num_parts

    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR")
    if values["metadata_filename"]:
        in_dir = Path(in_dir) / values["metadata_filename"]
    assign_dir = one_of(values["assign_dir"], values["dgl_partitions_dir"], name="ASSIGN_DIR")
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT_DIR")
    options = dispatch_options_of(values, "metadata.json" if values["dgl_out_dir"] else None)
    graph, resources = graph_of(in_dir, values), resources_of(values)
    num_parts = values["num_parts"] or read_num_parts(Path(assign_dir))
    dispatch_to = values["dispatch_to"] = _machines_of(values, resources, num_parts, Path(out_dir))
    show_plan(values, graph, num_parts, out_dir, method=AssignOptions(str(assign_dir)), options=options)
    how = {"num_parts": values["num_parts"], "options": options, "dispatch_to": dispatch_to}
    with run_of(values) as run:
        outcome = dispatch(graph, assign_dir, out_dir, **how, **run)
    show_outcome(outcome, values, in_dir)


def _machines_of(values: dict[str, Any], resources: Resources, num_parts: int | None, out_dir: Path) -> str | None:
    """File of the machines that parts go to, by either name of the option; None if all parts are written here."""
    from daskgraphpart.dispatching.machines import read_machines
    from daskgraphpart.engine.cluster_names import is_on_this_machine

    machines: str | None = values["dispatch_to"]
    if not values["ip_config"]:
        return machines
    if machines is not None:
        raise click.UsageError("Give only one of --dispatch and --ip-config.")
    machines = str(values["ip_config"])
    if not is_on_this_machine(resources.cluster):
        return machines
    found = read_machines(machines, out_dir)
    if num_parts is not None:
        found.check_parts(num_parts)
    logger.info("--ip-config without a --cluster of these machines: all parts are written to OUT_DIR here")
    return None
