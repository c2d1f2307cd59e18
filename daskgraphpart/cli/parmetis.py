"""``daskgraphpart parmetis write`` and ``daskgraphpart parmetis read``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    FORM_OPTION,
    RESOURCE_OPTIONS,
    Command,
    dgl_option,
    graph_of,
    one_of,
    run_of,
    unused_option,
    with_options,
)

BEFORE, AFTER = "parmetis_preprocess.py", "parmetis_postprocess.py"


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


@command.command("write", cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("out_dir", required=False, type=click.Path())
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME",
    help="Node data (integers or bool) that all parts get an even share of, such as train_mask; may be repeated.",
)
@click.option("--overwrite", is_flag=True, help="Replace such files in OUT_DIR.")
@dgl_option("--input-dir", "dgl_in_dir", type=click.Path(), script=BEFORE, meaning="IN_DIR")
@dgl_option("--output-dir", "dgl_out_dir", type=click.Path(), script=BEFORE, meaning="OUT_DIR")
@dgl_option("--schema-file", type=click.Path(), script=BEFORE, meaning="name of the metadata of the graph in IN_DIR")
@unused_option("--num-parts", script=BEFORE, why="the number of parts is given to ParMETIS")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def write(**values: Any) -> None:
    """Write the graph in IN_DIR to OUT_DIR as pm_dglpart and pm_dglpart2 read it.

    Self-loops and repeated edges, which ParMETIS cannot take, go to a file of their own. Every node type has a node
    weight, so that all parts get an even share of its nodes.

    \b
    daskgraphpart parmetis write graph for-parmetis
    daskgraphpart parmetis write graph for-parmetis --weight train_mask --memory 4GB
    daskgraphpart parmetis write --input_dir graph --output_dir for-parmetis --schema_file metadata.json --num_parts 4
    """
    from daskgraphpart.api.parmetis import write_parmetis
    from daskgraphpart.units import format_count, format_seconds

    graph = _graph(one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR"), values)
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT_DIR")
    with run_of(values) as run:
        found = write_parmetis(graph, out_dir, weights=values["weights"], **run)
    if not values["quiet"]:
        kept = f"{format_count(found.num_nodes)} nodes, {format_count(found.num_edges)} edges"
        loops, repeats = format_count(found.num_self_loops), format_count(found.num_repeats)
        click.echo(f"wrote {kept}, {found.num_node_weights} weights; left out {loops} self-loops, {repeats} repeats")
        click.echo(f"in {format_seconds(values['seconds'])}: {out_dir}")
        click.echo(f"run ParMETIS there, such as: mpirun -np 4 pm_dglpart2 {found.graph_name} 8")


@command.command("read", cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("parts_path", required=False, type=click.Path())
@click.argument("assign_dir", required=False, type=click.Path())
@click.option("--num-parts", type=click.IntRange(min=1), help="Number of parts, if it is not in a file name.")
@click.option(
    "--num-node-weights",
    type=click.IntRange(min=0),
    help="For pm_dglpart's output, if nodes have attributes and no stats file is beside it.",
)
@FORM_OPTION
@click.option("--overwrite", is_flag=True, help="Replace an assignment that is in ASSIGN_DIR.")
@dgl_option("--postproc-input-dir", "dgl_in_dir", type=click.Path(), script=AFTER, meaning="IN_DIR")
@dgl_option("--schema-file", type=click.Path(), script=AFTER, meaning="name of the metadata of the graph in IN_DIR")
@dgl_option("--parmetis-output-file", "dgl_parts_path", type=click.Path(), script=AFTER, meaning="PARTS_PATH")
@dgl_option("--partitions-dir", "dgl_assign_dir", type=click.Path(), script=AFTER, meaning="ASSIGN_DIR")
@with_options(*RESOURCE_OPTIONS)
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
    from daskgraphpart.units import format_seconds

    graph = _graph(one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR"), values)
    parts_path = one_of(values["parts_path"], values["dgl_parts_path"], name="PARTS_PATH")
    assign_dir = one_of(values["assign_dir"], values["dgl_assign_dir"], name="ASSIGN_DIR")
    with run_of(values) as run:
        found = read_parmetis(
            graph,
            parts_path,
            assign_dir,
            num_parts=values["num_parts"],
            num_node_weights=values["num_node_weights"],
            form=values["form"],
            **run,
        )
    if not values["quiet"]:
        click.echo(f"read in {format_seconds(values['seconds'])}: {found}")


def _graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return the graph in a directory, whose metadata may have another name."""
    return graph_of(Path(in_dir) / values["schema_file"] if values["schema_file"] else in_dir, values)
