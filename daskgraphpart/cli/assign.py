"""``daskgraphpart assign``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.dgl_flags import dgl_option
from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    FORM_OPTION,
    JOB_OPTIONS,
    METHOD_OPTIONS,
    RESOURCE_OPTIONS,
    Command,
    assign_options_of,
    graph_of,
    one_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.summary import show_assignment, write_report


@click.command("assign", cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("assign_dir", required=False, type=click.Path())
@click.option("--num-parts", "--num-partitions", "num_parts", type=int, required=True, help="Number of parts.")
@with_options(*METHOD_OPTIONS)
@FORM_OPTION
@click.option("--report", "report_path", type=click.Path(dir_okay=False), help="Also write the report, as JSON.")
@click.option("--overwrite", is_flag=True, help="Replace an assignment that is in ASSIGN_DIR.")
@with_options(*RESOURCE_OPTIONS, *JOB_OPTIONS, CONFINED_OPTION)
@dgl_option("--in-dir", "dgl_in_dir", type=click.Path(), script="random_partition.py", meaning="IN_DIR")
@dgl_option("--out-dir", "dgl_out_dir", type=click.Path(), script="random_partition.py", meaning="ASSIGN_DIR")
def command(**values: Any) -> None:
    """Give every node of the graph in IN_DIR a part, and write the parts to ASSIGN_DIR.

    Writes <ntype>.txt and partition_meta.json, which DGL's tools read, and a binary form beside them.

    \b
    daskgraphpart assign graph parts-of-nodes --num-parts 4
    daskgraphpart assign graph parts-of-nodes --num-parts 8 --method metis --balance nodes
    daskgraphpart assign graph parts-of-nodes --num-parts 64 --method multilevel --memory 2GB --balance ntypes,edges
    daskgraphpart assign graph better --num-parts 8 --method parts-of-nodes --refine
    daskgraphpart assign --in_dir graph --out_dir parts-of-nodes --num_partitions 4
    """
    from daskgraphpart.api.pipeline import assign

    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR")
    assign_dir = one_of(values["assign_dir"], values["dgl_out_dir"], name="ASSIGN_DIR")
    with run_of(values) as run:
        assignment = assign(
            graph_of(in_dir, values),
            values["num_parts"],
            out_dir=assign_dir,
            method=assign_options_of(values),
            form=values["form"],
            **run,
        )
    if values["report_path"]:
        write_report(assignment, values["report_path"])
    if not values["quiet"]:
        show_assignment(assignment, values["seconds"], assign_dir)
