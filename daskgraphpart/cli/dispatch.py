"""``daskgraphpart dispatch``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    JOB_OPTIONS,
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTION,
    dispatch_options_of,
    graph_of,
    one_of,
    progress_of,
    resources_of,
    with_options,
)
from daskgraphpart.cli.plan import foretell, measuring, retell
from daskgraphpart.cli.summary import show_outcome


@click.command("dispatch")
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("assign_dir", required=False, type=click.Path())
@click.argument("out_dir", required=False, type=click.Path())
@click.option("--num-parts", type=int, help="Number of parts, if ASSIGN_DIR has no partition_meta.json.")
@with_options(OUTPUT_OPTIONS)
@click.option("--in-dir", "dgl_in_dir", type=click.Path(), help="As DGL's dispatch_data.py has it.")
@click.option(
    "--partitions-dir", "dgl_partitions_dir", type=click.Path(), help="As DGL's: directory of the assignment."
)
@click.option("--out-dir", "dgl_out_dir", type=click.Path(), help="As DGL's; the config is then named metadata.json.")
@click.option(
    "--ip-config",
    type=click.Path(exists=True, dir_okay=False),
    help="As DGL's; its lines must divide the parts evenly.",
)
@click.option("--save-orig-nids", is_flag=True, help="As DGL's; original IDs are always written.")
@click.option("--save-orig-eids", is_flag=True, help="As DGL's; original IDs are always written.")
@with_options((*RESOURCE_OPTIONS, STAGING_OPTION, *JOB_OPTIONS))
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Bring every node, edge and feature of the graph in IN_DIR to the parts given in ASSIGN_DIR, and write OUT_DIR.

    \b
    daskgraphpart dispatch graph parts-of-nodes partitions --memory 4GB
    daskgraphpart dispatch --in-dir graph --partitions-dir parts-of-nodes --out-dir partitions --ip-config ips.txt
    """
    from daskgraphpart.api.pipeline import dispatch

    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR")
    assign_dir = one_of(values["assign_dir"], values["dgl_partitions_dir"], name="ASSIGN_DIR")
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT_DIR")
    if values["ip_config"]:
        _check_ip_config(Path(values["ip_config"]), Path(assign_dir), values["num_parts"])
    options = dispatch_options_of(values, "metadata.json" if values["dgl_out_dir"] else None)
    graph = graph_of(in_dir, values)
    plan = foretell(graph, out_dir, values, {"method": assign_dir}, options)
    started = time.monotonic()
    with progress_of(values) as shown:
        progress = measuring(plan, shown)
        outcome = dispatch(
            graph,
            assign_dir,
            out_dir,
            num_parts=values["num_parts"],
            options=options,
            resources=resources_of(values),
            overwrite=values["overwrite"],
            restart=values["restart"],
            keep_workspace=values["keep_workspace"],
            progress=progress,
        )
    retell(plan, progress)
    if not values["quiet"]:
        show_outcome(outcome, time.monotonic() - started)


def _check_ip_config(ip_config: Path, assign_dir: Path, num_parts: int | None) -> None:
    """Refuse what DGL's dispatch refuses: machines that cannot share the parts evenly."""
    from daskgraphpart.assignment.read_files import read_num_parts
    from daskgraphpart.errors import OptionError

    machines = sum(bool(line.strip()) for line in ip_config.read_bytes().splitlines())
    parts = num_parts or read_num_parts(assign_dir)
    if machines == 0 or (isinstance(parts, int) and parts % machines):
        raise OptionError(
            "the parts cannot be shared evenly by the machines",
            file=str(ip_config),
            expected=f"a number of lines that divides {parts}",
            found=machines,
        )
