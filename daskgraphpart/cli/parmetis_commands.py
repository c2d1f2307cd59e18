"""``daskgraphpart parmetis``: in place of DGL's scripts for ParMETIS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.assign_dispatch import FORM_OPTION
from daskgraphpart.cli.command_options import (
    CONFINED_OPTION,
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTIONS,
    graph_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.dgl_options import dgl_option, one_of, unused_option
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import echo_result
from daskgraphpart.cli.summary import show_outcome
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.errors import OptionError
from daskgraphpart.interop.parmetis.parmetis import ConvertOptions, convert_job
from daskgraphpart.interop.parmetis.parmetis import read as read_parmetis
from daskgraphpart.interop.parmetis.parmetis import write as write_parmetis
from daskgraphpart.jobs.job_options import job_options
from daskgraphpart.options import chosen
from daskgraphpart.units import format_count, format_seconds

BEFORE, AFTER = "parmetis_preprocess.py", "parmetis_postprocess.py"


@click.group()
def parmetis() -> None:
    """Partition with ParMETIS: write its input, read or convert its output.

    The programs are on the branch dgl of github.com/KarypisLab/ParMETIS.

    \b
    daskgraphpart parmetis write graph for-parmetis
    cd for-parmetis; mpirun -np 4 pm_dglpart2 mag 8; cd ..
    daskgraphpart parmetis read graph for-parmetis/mag_part.8 owners
    daskgraphpart dispatch graph owners parts
    """


@parmetis.command("write", cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="GRAPH")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="NAME",
    help="Node data to balance, integers or bool, such as train_mask; repeat it for more.",
)
@click.option("--node-attr", "node_attrs", multiple=True, metavar="NAME", help="Node data to write behind each line.")
@click.option("--edge-attr", "edge_attrs", multiple=True, metavar="NAME", help="Edge data, likewise.")
@click.option("--overwrite", is_flag=True, help="Replace existing files in OUT.")
@dgl_option("--input-dir", "dgl_in_dir", type=click.Path(), script=BEFORE, meaning="GRAPH")
@dgl_option("--output-dir", "dgl_out_dir", type=click.Path(), script=BEFORE, meaning="OUT")
@dgl_option("--schema-file", type=click.Path(), script=BEFORE, meaning="Name of the metadata file in GRAPH")
@unused_option("--num-parts", script=BEFORE, why="the number of parts is given to ParMETIS")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def write(**values: Any) -> None:
    """Write GRAPH to OUT as pm_dglpart and pm_dglpart2 read it.

    Self-loops and repeated edges, which ParMETIS cannot take, go to a file of their own. Every node type is balanced.

    \b
    daskgraphpart parmetis write graph for-parmetis
    daskgraphpart parmetis write graph for-parmetis --weight train_mask
    daskgraphpart parmetis write graph for-parmetis --node-attr feat
    """
    graph = _graph(one_of(values["in_dir"], values["dgl_in_dir"], name="GRAPH"), values)
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT")
    with run_of(values) as run:
        given = {name: values[name] for name in ("weights", "node_attrs", "edge_attrs")}
        written = write_parmetis(graph, out_dir, **given, **run)
    if not values["quiet"]:
        kept = f"{format_count(written.num_nodes)} nodes, {format_count(written.num_edges)} edges"
        loops, repeats = format_count(written.num_self_loops), format_count(written.num_repeats)
        echo_result(f"wrote {kept}, {written.num_node_weights} weights; left out {loops} self-loops, {repeats} repeats")
        echo_result(f"in {format_seconds(values['seconds'])}: {out_dir}")
        echo_result(f"run ParMETIS there, such as: mpirun -np 4 pm_dglpart2 {written.graph_name} 8")


@parmetis.command("read", cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="GRAPH")
@click.argument("parts_path", required=False, type=click.Path(), metavar="PARTS")
@click.argument("assign_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--num-parts", type=click.IntRange(min=1), help="Number of parts; default from the file.")
@click.option(
    "--num-node-weights",
    type=click.IntRange(min=0),
    help="Weights per node in pm_dglpart's output, if it has attributes and no stats file.",
)
@FORM_OPTION
@click.option("--overwrite", is_flag=True, help="Replace existing owners in OUT.")
@dgl_option("--postproc-input-dir", "dgl_in_dir", type=click.Path(), script=AFTER, meaning="GRAPH")
@dgl_option("--schema-file", type=click.Path(), script=AFTER, meaning="Name of the metadata file in GRAPH")
@dgl_option("--parmetis-output-file", "dgl_parts_path", type=click.Path(), script=AFTER, meaning="PARTS")
@dgl_option("--partitions-dir", "dgl_assign_dir", type=click.Path(), script=AFTER, meaning="OUT")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def read(**values: Any) -> None:
    """Read the parts ParMETIS made of GRAPH; write owners to OUT.

    PARTS is a file NAME_part.N of pm_dglpart2 or pm_dglpart3, its directory, or the directory of the files
    p000-NAME_nodes.txt of pm_dglpart. `dispatch` takes these directly, too.

    \b
    daskgraphpart parmetis read graph for-parmetis/mag_part.8 owners
    daskgraphpart parmetis read graph for-parmetis owners
    """
    graph = _graph(one_of(values["in_dir"], values["dgl_in_dir"], name="GRAPH"), values)
    parts_path = one_of(values["parts_path"], values["dgl_parts_path"], name="PARTS")
    assign_dir = one_of(values["assign_dir"], values["dgl_assign_dir"], name="OUT")
    with run_of(values) as run:
        directory = read_parmetis(
            graph,
            parts_path,
            assign_dir,
            num_parts=values["num_parts"],
            num_node_weights=values["num_node_weights"],
            form=values["form"],
            **run,
        )
    if not values["quiet"]:
        echo_result(f"read in {format_seconds(values['seconds'])}: {directory}")


def _graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return the graph in a directory; its metadata may have another name."""
    return graph_of(Path(in_dir) / values["schema_file"] if values["schema_file"] else in_dir, values)


@parmetis.command("convert", cls=Command)
@click.argument("in_dir", required=False, type=click.Path(), metavar="FROM")
@click.argument("out_dir", required=False, type=click.Path(), metavar="OUT")
@click.option("--graph-name", help="Name of the graph in the file names; default: found there.")
@click.option("--schema", type=click.Path(), help="Ranges of IDs of all types; default NAME.json in FROM.")
@click.option("--num-parts", type=click.IntRange(min=1), help="Number of parts; default the number of files.")
@click.option(
    "--num-node-weights",
    type=click.IntRange(min=0),
    help="Weights per node; default from NAME_stats.txt, else all columns but three.",
)
@click.option(
    "--removed-edges",
    type=click.Path(),
    help="File of the self-loops and repeated edges that were left out.",
)
@click.option("--node-attr-dtype", metavar="DTYPE", help="Make a feature of the attributes of nodes; float32, say.")
@click.option("--edge-attr-dtype", metavar="DTYPE", help="Make a feature of the attributes of edges.")
@with_options(*OUTPUT_OPTIONS)
@dgl_option("--input-dir", "dgl_in_dir", type=click.Path(), script="convert_partition.py", meaning="FROM")
@dgl_option("--output", "dgl_out_dir", type=click.Path(), script="convert_partition.py", meaning="OUT")
@with_options(*RESOURCE_OPTIONS, *STAGING_OPTIONS)
def convert(**values: Any) -> None:
    """Turn ParMETIS' complete output into partitions.

    Reads p000-NAME_nodes.txt, p000-NAME_edges.txt and so on of pm_dglpart, as convert_partition.py of DGL 0.6 to 0.8
    did.

    \b
    daskgraphpart parmetis convert for-parmetis parts --graph-name mag
    daskgraphpart parmetis convert for-parmetis parts --removed-edges removed.txt
    """
    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="FROM")
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT")
    with run_of(values) as run:
        outcome = convert_job(
            in_dir,
            out_dir,
            values["graph_name"] or _graph_name(Path(in_dir)),
            chosen(ConvertOptions, values),
            chosen(DispatchOptions, values),
            job_options(run),
        )
    show_outcome(outcome, values)


def _graph_name(in_dir: Path) -> str:
    """Find the graph's name in the file names, if there is only one."""
    names = sorted(path.name[len("p000-") : -len("_nodes.txt")] for path in in_dir.glob("p000-*_nodes.txt"))
    if len(names) != 1:
        raise OptionError(
            "cannot tell which graph is meant",
            file=in_dir,
            option="graph_name",
            expected="one p000-GRAPH_NAME_nodes.txt",
            found=", ".join(names) or "none",
        )
    return names[0]
