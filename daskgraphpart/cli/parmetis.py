"""``daskgraphpart parmetis write`` and ``daskgraphpart parmetis read``."""

from __future__ import annotations

import time
from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    RESOURCE_OPTIONS,
    graph_of,
    progress_of,
    resources_of,
    with_options,
)


@click.group("parmetis")
def command() -> None:
    """Partition with ParMETIS: write the files its programs read, and read the parts they write.

    The programs are on the branch dgl of github.com/KarypisLab/ParMETIS.

    \b
    daskgraphpart parmetis write graph for-parmetis
    cd for-parmetis; mpirun -np 4 pm_dglpart2 mag 8; cd ..
    daskgraphpart parmetis read graph for-parmetis/mag_part.8 parts-of-nodes
    daskgraphpart dispatch graph parts-of-nodes partitions
    """


@command.command("write")
@click.argument("in_dir", type=click.Path())
@click.argument("out_dir", type=click.Path())
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME",
    help="Node data (integers or bool) that all parts get an even share of, such as train_mask; may be repeated.",
)
@click.option("--overwrite", is_flag=True, help="Replace such files in OUT_DIR.")
@with_options(RESOURCE_OPTIONS)
@CONFINED_OPTION
def write(**values: Any) -> None:
    """Write the graph in IN_DIR to OUT_DIR as pm_dglpart and pm_dglpart2 read it.

    Self-loops and repeated edges, which ParMETIS cannot take, go to a file of their own. Every node type has a node
    weight, so that all parts get an even share of its nodes.

    \b
    daskgraphpart parmetis write graph for-parmetis
    daskgraphpart parmetis write graph for-parmetis --weight train_mask --memory 4GB
    """
    from daskgraphpart.api.parmetis import write_parmetis
    from daskgraphpart.display.units import format_count, format_seconds

    started = time.monotonic()
    with progress_of(values) as progress:
        found = write_parmetis(
            graph_of(values["in_dir"], values),
            values["out_dir"],
            weights=values["weights"],
            resources=resources_of(values),
            overwrite=values["overwrite"],
            progress=progress,
        )
    if not values["quiet"]:
        kept = f"{format_count(found.num_nodes)} nodes, {format_count(found.num_edges)} edges"
        loops, repeats = format_count(found.num_self_loops), format_count(found.num_repeats)
        click.echo(f"wrote {kept}, {found.num_node_weights} weights; left out {loops} self-loops, {repeats} repeats")
        click.echo(f"in {format_seconds(time.monotonic() - started)}: {values['out_dir']}")
        click.echo(f"run ParMETIS there, such as: mpirun -np 4 pm_dglpart2 {found.graph_name} 8")


@command.command("read")
@click.argument("in_dir", type=click.Path())
@click.argument("parts_path", type=click.Path())
@click.argument("assign_dir", type=click.Path())
@click.option("--num-parts", type=click.IntRange(min=1), help="Number of parts, if no file name tells it.")
@click.option(
    "--num-node-weights",
    type=click.IntRange(min=0),
    help="For pm_dglpart's output, if nodes have attributes and no stats file is beside it.",
)
@click.option(
    "--form",
    type=click.Choice(["npy", "parquet", "zarr"]),
    default="npy",
    show_default=True,
    help="Binary form beside the text.",
)
@click.option("--overwrite", is_flag=True, help="Replace an assignment that is in ASSIGN_DIR.")
@with_options(RESOURCE_OPTIONS)
@CONFINED_OPTION
def read(**values: Any) -> None:
    """Read what ParMETIS has made of the graph in IN_DIR, check it, and write it to ASSIGN_DIR for dispatch.

    PARTS_PATH is a file GRAPH_part.N of pm_dglpart2 or pm_dglpart3, or the directory of such a file or of the files
    p000-GRAPH_nodes.txt and so on of pm_dglpart. (`dispatch` takes them too, in place of ASSIGN_DIR.)

    \b
    daskgraphpart parmetis read graph for-parmetis/mag_part.8 parts-of-nodes
    daskgraphpart parmetis read graph for-parmetis parts-of-nodes
    """
    from daskgraphpart.api.parmetis import read_parmetis
    from daskgraphpart.display.units import format_seconds

    started = time.monotonic()
    with progress_of(values) as progress:
        found = read_parmetis(
            graph_of(values["in_dir"], values),
            values["parts_path"],
            values["assign_dir"],
            num_parts=values["num_parts"],
            num_node_weights=values["num_node_weights"],
            form=values["form"],
            resources=resources_of(values),
            overwrite=values["overwrite"],
            progress=progress,
        )
    if not values["quiet"]:
        click.echo(f"read in {format_seconds(time.monotonic() - started)}: {found}")
