"""``daskgraphpart remap``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.options import CONFINED_OPTION, RESOURCE_OPTIONS, Command, run_of, with_options


@click.command("remap", cls=Command)
@click.argument("partitions", type=click.Path())
@click.argument("in_path", type=click.Path())
@click.argument("out_path", type=click.Path())
@click.option(
    "--type", "kind", metavar="NTYPE|ETYPE", help="Node type, or edge type; may be left out if there is one node type."
)
@click.option("--reverse", is_flag=True, help="From the order of the input graph into that of new IDs.")
@click.option(
    "--id-map",
    type=click.Path(),
    help="Graph that chunk --map-ids wrote, for the column id of parquet; default: the one that was partitioned.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUT_PATH.")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def command(**values: Any) -> None:
    """Bring the rows in IN_PATH, by new type-wise ID, into the order of the graph that was partitioned.

    PARTITIONS is the partition config or its directory; IN_PATH has a row for every node (edge) of the type, such as
    embeddings or predictions: an npy file, a zarr array, a tensor (.pt) or parquet. OUT_PATH ends in .npy, .zarr, .pt
    or .parquet. Parquet has a column id of original IDs: as they were before chunk --map-ids, if it mapped them. Memory
    does not grow with the rows.

    \b
    daskgraphpart remap partitions predictions.pt predictions.parquet
    daskgraphpart remap partitions embeddings.npy embeddings-original.npy --type paper
    daskgraphpart remap partitions scores.npy scores-original.zarr --type author:writes:paper
    daskgraphpart remap partitions labels.npy labels-new.npy --reverse
    """
    from daskgraphpart.errors import OptionError
    from daskgraphpart.partitioned.graph import open_partitions

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
    with run_of(values) as run:
        if values["reverse"]:
            graph.from_original(kind, *paths, **run)
        else:
            graph.to_original(kind, *paths, id_map=values["id_map"], **run)
    if not values["quiet"]:
        click.echo(f"rows of {kind} by {'new' if values['reverse'] else 'original'} ID: {values['out_path']}")
