"""``daskgraphpart remap``: bring rows back into the input's order."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.command_options import CONFINED_OPTION, RESOURCE_OPTIONS, run_of, with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.errors import OptionError
from daskgraphpart.partitioned.partitioned_graph import open_partitions


@click.command(cls=Command)
@click.argument("partitions", type=click.Path())
@click.argument("in_path", type=click.Path(), metavar="FROM")
@click.argument("out_path", type=click.Path(), metavar="TO")
@click.option("--type", "kind", metavar="NTYPE|ETYPE", help="Node or edge type; not needed if there is one node type.")
@click.option("--reverse", is_flag=True, help="From the order of the input to that of new IDs.")
@click.option(
    "--id-map",
    type=click.Path(),
    help="Graph with the ID map for Parquet's column id; default: the one you partitioned.",
)
@click.option("--largest", is_flag=True, help="Write the number of each row's largest column.")
@click.option(
    "--decode",
    metavar="FEATURE|PATH",
    help="Write FEATURE's own text: of codes, or of the largest column. Or a file of categories.",
)
@click.option("--overwrite", is_flag=True, help="Replace TO.")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def remap(**values: Any) -> None:
    """Bring rows (embeddings, say) back into the input's order.

    FROM has a row per node or edge of a type, by new ID. FROM and TO end in .npy, .zarr, .pt or .parquet; Parquet gets
    a column id with your own IDs.

    \b
    daskgraphpart remap parts predictions.pt predictions.parquet
    daskgraphpart remap parts scores.pt classes.parquet --decode label
    daskgraphpart remap parts embeddings.npy original.npy --type paper
    daskgraphpart remap parts labels.npy labels-new.npy --reverse
    """
    graph = open_partitions(values["partitions"], confined=values["confined"])
    kind = values["kind"]
    if kind is None:
        if len(graph.ntypes) != 1:
            raise OptionError(
                "the type is missing", place="--type", expected=f"one of {', '.join(graph.ntypes + graph.etypes)}"
            )
        kind = graph.ntypes[0]
    paths = values["in_path"], values["out_path"]
    if values["reverse"] and values["id_map"]:
        raise click.UsageError("--id-map is for rows by original ID, not for --reverse.")
    if values["reverse"] and (values["largest"] or values["decode"]):
        raise click.UsageError("--largest and --decode are for rows by original ID, not for --reverse.")
    with run_of(values) as run:
        if values["reverse"]:
            graph.from_original(kind, *paths, **run)
        else:
            how = {"id_map": values["id_map"], "largest": values["largest"], "decode": values["decode"], **run}
            graph.to_original(kind, *paths, **how)
    if not values["quiet"]:
        click.echo(f"rows of {kind} by {'new' if values['reverse'] else 'original'} ID: {values['out_path']}")
