"""``daskgraphpart parmetis``, ``convert`` and ``dgl-tools``: in place of what DGL's scripts do with other programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    FORM_OPTION,
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTION,
    Command,
    dgl_option,
    graph_of,
    made_of,
    one_of,
    run_of,
    unused_option,
    with_options,
)
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.cli.summary import show_outcome
from daskgraphpart.dispatching.options import DispatchOptions
from daskgraphpart.storage.atomic import write_bytes

CONVERSION = ("schema", "num_parts", "num_node_weights", "removed_edges", "node_attr_dtype", "edge_attr_dtype")
BEFORE, AFTER = "parmetis_preprocess.py", "parmetis_postprocess.py"
SCRIPTS = {
    "partition_algo/random_partition.py": ("assign", "--method", "random", "--overwrite"),
    "dispatch_data.py": ("dispatch",),
    "verify_partitions.py": ("verify",),
    "distpartitioning/parmetis_preprocess.py": ("parmetis", "write", "--overwrite"),
    "distpartitioning/parmetis_postprocess.py": ("parmetis", "read", "--overwrite"),
}
SCRIPT = """# Written by `daskgraphpart dgl-tools`: runs it in place of the script of dgl/tools, by whichever Python 3.
import os
import sys

if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":  # of several processes that mpirun starts, one does the work
    os.execv({python!r}, [{python!r}, "-m", "daskgraphpart", *{command!r}, *sys.argv[1:]])
"""


@click.group()
def parmetis() -> None:
    """Partition with ParMETIS: write the files its programs read, and read the parts they write.

    The programs are on the branch dgl of github.com/KarypisLab/ParMETIS.

    \b
    daskgraphpart parmetis write graph for-parmetis
    cd for-parmetis; mpirun -np 4 pm_dglpart2 mag 8; cd ..
    daskgraphpart parmetis read graph for-parmetis/mag_part.8 parts-of-nodes
    daskgraphpart dispatch graph parts-of-nodes partitions
    """


@parmetis.command("write", cls=Command)
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


@parmetis.command("read", cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("parts_path", required=False, type=click.Path())
@click.argument("assign_dir", required=False, type=click.Path())
@click.option(
    "--num-parts", type=click.IntRange(min=1), help="Number of parts; default from the file's name, or the file."
)
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


@click.command(cls=Command)
@click.argument("in_dir", required=False, type=click.Path())
@click.argument("out_dir", required=False, type=click.Path())
@click.option("--graph-name", help="Name of the graph, in the names of the files; default the one that is there.")
@click.option("--schema", type=click.Path(), help="Ranges of IDs of all types; default GRAPH_NAME.json in IN_DIR.")
@click.option("--num-parts", type=click.IntRange(min=1), help="Number of parts; default as many as there are files.")
@click.option(
    "--num-node-weights",
    type=click.IntRange(min=0),
    help="Weights in a line of nodes; default from GRAPH_NAME_stats.txt, or else all columns but three.",
)
@click.option(
    "--removed-edges",
    type=click.Path(),
    help="File of the self-loops and repeated edges that were taken out, in IN_DIR or elsewhere.",
)
@click.option("--node-attr-dtype", metavar="DTYPE", help="Make the attributes of nodes a feature, such as float32.")
@click.option("--edge-attr-dtype", metavar="DTYPE", help="Make the attributes of edges a feature.")
@with_options(*OUTPUT_OPTIONS)
@dgl_option("--input-dir", "dgl_in_dir", type=click.Path(), script="convert_partition.py", meaning="IN_DIR")
@dgl_option("--output", "dgl_out_dir", type=click.Path(), script="convert_partition.py", meaning="OUT_DIR")
@with_options(*RESOURCE_OPTIONS, STAGING_OPTION)
def convert(**values: Any) -> None:
    """Turn the complete output of pm_dglpart in IN_DIR into the partitions DGL loads, in OUT_DIR.

    Reads p000-GRAPH_NAME_nodes.txt, p000-GRAPH_NAME_edges.txt and so on, as convert_partition.py of DGL 0.6 to 0.8
    did. While it runs, the graph lies in the workspace, or beside OUT_DIR.

    \b
    daskgraphpart convert for-parmetis partitions --graph-name mag --removed-edges mag_removed_edges.txt
    daskgraphpart convert --input-dir . --graph-name mag --schema mag.json --num-parts 2 --num-node-weights 4 \\
        --output outputs --node-attr-dtype float --removed-edges mag_removed_edges.txt
    """
    from daskgraphpart.api.parmetis import convert

    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR")
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT_DIR")
    with run_of(values) as run:
        outcome = convert(
            in_dir,
            out_dir,
            graph_name=values["graph_name"] or _graph_name(Path(in_dir)),
            **{name: values[name] for name in CONVERSION},
            options=made_of(DispatchOptions, values),
            **run,
        )
    show_outcome(outcome, values)


def _graph_name(in_dir: Path) -> str:
    """Name in the names of the files, if they are of one graph."""
    from daskgraphpart.errors import OptionError

    names = sorted(path.name[len("p000-") : -len("_nodes.txt")] for path in in_dir.glob("p000-*_nodes.txt"))
    if len(names) != 1:
        raise OptionError(
            "cannot tell which graph is meant",
            file=in_dir,
            place="--graph-name",
            expected="one p000-GRAPH_NAME_nodes.txt",
            found=", ".join(names) or "none",
        )
    return names[0]


@click.command("dgl-tools", cls=Command)
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@with_options(*LOG_OPTIONS)
def dgl_tools(directory: str | None) -> None:
    """Write scripts that run daskgraphpart under the names of dgl/tools to DIRECTORY, and print it.

    They run the Python of this command, whichever runs them. Default: a directory of the user's configuration.

    \b
    daskgraphpart dgl-tools tools
    python -m graphstorm.gpartition.dist_partition_graph ... --dgl-tool-path $(python -m daskgraphpart dgl-tools)
    """
    target = Path(directory or f"{click.get_app_dir('daskgraphpart')}/dgl-tools").absolute()
    for name, words in SCRIPTS.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target / name, SCRIPT.format(python=os.path.abspath(sys.executable), command=words).encode())
    click.echo(target)
