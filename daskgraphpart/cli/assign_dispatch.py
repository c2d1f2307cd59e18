"""``daskgraphpart assign`` and ``dispatch``: the halves of `partition`, with the options of DGL's scripts for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.command_options import (
    CONFINED_OPTION,
    DISPATCH_OPTIONS,
    JOB_OPTIONS,
    METHOD_OPTIONS,
    RESOURCE_OPTIONS,
    DispatchCommand,
    run_of,
    with_options,
)
from daskgraphpart.cli.dgl_options import dgl_option, one_of, unused_option
from daskgraphpart.cli.help import Command, Option
from daskgraphpart.cli.inputs import INPUT_OPTIONS, input_of, is_given
from daskgraphpart.cli.summary import balance_of, cut_of, rows_of, show_facts, show_outcome, weight_of_cut
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.resources import Resources, is_on_this_machine
from daskgraphpart.jobs.job_options import job_options
from daskgraphpart.options import chosen
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.assignment import BINARY_FORMS, Owners
from daskgraphpart.storage.atomic import write_json
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.units import format_count, format_seconds

logger = logging.getLogger(__name__)

STEP_1, STEP_2 = "random_partition.py", "dispatch_data.py"
FORM_OPTION = click.option(
    "--form",
    cls=Option,
    heading="Files to write",
    type=click.Choice(BINARY_FORMS),
    default="npy",
    help="Binary form of the owners, in addition to the text.",
)
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
        meaning="A file of machines, whose number must divide that of the parts. Means --dispatch-to if --cluster has "
        "several machines; else all parts are written to OUT here",
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
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("assign_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--num-parts", "--num-partitions", "num_parts", type=int, required=True, help="Number of parts.")
@with_options(*METHOD_OPTIONS, *INPUT_OPTIONS, FORM_OPTION)
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
    from daskgraphpart.jobs import job_spec, run_job

    given = (values["in_dir"], values["assign_dir"])
    if values["dgl_in_dir"] or values["dgl_out_dir"]:
        given = (
            one_of(values["in_dir"], values["dgl_in_dir"], name="GRAPH"),
            one_of(values["assign_dir"], values["dgl_out_dir"], name="OUT"),
        )
    graph, (assign_dir,) = input_of(values, given, ("GRAPH", "OUT"))
    options, num_parts, form = chosen(AssignOptions, values), values["num_parts"], values["form"]
    with run_of(values) as keywords:
        run = job_options(keywords)
        job = job_spec.JobSpec.of_owners(graph, options, num_parts, assign_dir, form, run.resources)
        assignment = run_job.run_assign(job, run)
    if values["report_path"]:
        write_report(assignment, values["report_path"])
    show_assignment(assignment, values, assign_dir)


@click.command(cls=DispatchCommand)
@click.argument("in_dir", required=False, type=click.Path(), metavar="[GRAPH]")
@click.argument("assign_dir", required=False, type=click.Path(), metavar="ASSIGNMENT")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--num-parts", type=int, help="Number of parts, if ASSIGNMENT does not tell.")
@with_options(*INPUT_OPTIONS, *DISPATCH_OPTIONS, *DGL_OPTIONS)
def dispatch(**values: Any) -> None:
    """Write the parts of GRAPH to OUT, with owners from ASSIGNMENT.

    The second half of `partition`. ASSIGNMENT is a directory that `assign`, DGL or ParMETIS wrote.

    \b
    daskgraphpart dispatch graph owners parts
    daskgraphpart dispatch graph owners parts --layout graphbolt --memory 4GB
    """
    from daskgraphpart.jobs import job_spec, run_job

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
    options = chosen(DispatchOptions, {**values, "config_name": config_name})
    num_parts = values["num_parts"]
    with run_of(values) as keywords:
        run = job_options(keywords)
        machines = _machines_of(values, run.resources)
        spec = job_spec.JobSpec.of(graph, assign_dir, num_parts, out_dir, options, run.resources, dispatch_to=machines)
        if machines is None and values["ip_config"]:
            _check_machines(values["ip_config"], out_dir, spec.known_parts)
        outcome = run_job.run_dispatch(spec, run)
    show_outcome(outcome, values, () if is_given(values) else given[:1])


def _machines_of(values: dict[str, Any], resources: Resources) -> str | None:
    """File of machines, by either option; None to write all parts here."""
    machines: str | None = values.get("dispatch_to")
    if machines and values["ip_config"]:
        raise click.UsageError("Give only one of --dispatch-to and --ip-config.")
    return machines or (None if is_on_this_machine(resources.cluster) else values["ip_config"])


def _check_machines(file: str, out_dir: str, num_parts: int | None) -> None:
    """Check a file of machines that get no parts."""
    from daskgraphpart.dispatching.delivery.machines import read_machines  # for few jobs

    destination = read_machines(file, Path(out_dir))
    if num_parts is not None:
        destination.check_parts(num_parts)
    logger.info("--ip-config without a --cluster of these machines: writing all parts to OUT here")


def show_assignment(assignment: Owners, values: Mapping[str, Any], directory: str) -> None:
    """Print method, cut, halo nodes and the balance of every constraint."""
    if values["quiet"]:
        return
    report = assignment.measured
    assert report is not None, "assign measures every assignment"
    facts = {
        "method": report.summary,
        **rows_of(report),
        "parts": str(assignment.num_parts),
        "edge cut": cut_of(report) + weight_of_cut(report),
        "halo nodes": f"at most {format_count(report.volume)}, replication factor at most "
        f"{report.replication_factor:.2f} (both as with --out-edges)",
        "balance": f"{balance_of(report)}; largest part / average",
        "time": format_seconds(values["seconds"]),
        "owners": directory,
        **({"report": values["report_path"]} if values["report_path"] else {}),
    }
    show_facts(facts)


def write_report(assignment: Owners, path: str) -> None:
    """Write the report of an assignment as JSON."""
    report = assignment.measured
    assert report is not None, "assign measures every assignment"
    shares = {"cut_share": report.cut_share, "replication_factor": report.replication_factor}
    with environment_faults():
        write_json(Path(path), {**asdict(report), **shares, "warnings": list(report.warnings)})
