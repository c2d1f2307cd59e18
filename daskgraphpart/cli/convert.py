"""``daskgraphpart convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.dgl_flags import dgl_option
from daskgraphpart.cli.options import (
    OUTPUT_OPTIONS,
    RESOURCE_OPTIONS,
    STAGING_OPTION,
    Command,
    made_of,
    one_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.summary import show_outcome
from daskgraphpart.dispatching.options import DispatchOptions

NAMES = ("schema", "num_parts", "num_node_weights", "removed_edges", "node_attr_dtype", "edge_attr_dtype")


@click.command("convert", cls=Command)
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
def command(**values: Any) -> None:
    """Turn the complete output of pm_dglpart in IN_DIR into the partitions DGL loads, in OUT_DIR.

    Reads p000-GRAPH_NAME_nodes.txt, p000-GRAPH_NAME_edges.txt and so on, as convert_partition.py of DGL 0.6 to 0.8
    did. While it runs, the graph lies in the workspace, or beside OUT_DIR.

    \b
    daskgraphpart convert for-parmetis partitions --graph-name mag --removed-edges mag_removed_edges.txt
    daskgraphpart convert --input-dir . --graph-name mag --schema mag.json --num-parts 2 --num-node-weights 4 \\
        --output outputs --node-attr-dtype float --removed-edges mag_removed_edges.txt
    """
    from daskgraphpart.api.convert import convert

    in_dir = one_of(values["in_dir"], values["dgl_in_dir"], name="IN_DIR")
    out_dir = one_of(values["out_dir"], values["dgl_out_dir"], name="OUT_DIR")
    with run_of(values) as run:
        outcome = convert(
            in_dir,
            out_dir,
            graph_name=values["graph_name"] or _graph_name(Path(in_dir)),
            **{name: values[name] for name in NAMES},
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
            "which graph?", file=str(in_dir), place="--graph-name", expected="one p000-GRAPH_NAME_nodes.txt",
            found=", ".join(names) or "none",
        )  # fmt: skip
    return names[0]
