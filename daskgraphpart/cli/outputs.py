"""``daskgraphpart verify`` and ``remap``: use existing partitions."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.dgl_options import dgl_option, unused_option
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    RESOURCE_OPTIONS,
    run_of,
    with_options,
)
from daskgraphpart.cli.tables import TABLE_OPTIONS, input_of
from daskgraphpart.errors import OptionError
from daskgraphpart.units import format_seconds

if TYPE_CHECKING:
    from daskgraphpart.verification.findings import VerifyReport


@click.command(cls=Command)
@click.argument("directories", nargs=-1, type=click.Path(), metavar="[GRAPH] OUT")
@click.option("--quick", is_flag=True, help="Read headers and small files only; takes seconds.")
@click.option("--sample", type=float, default=1.0, metavar="FRACTION", help="Share of feature rows to compare.")
@click.option(
    "--checksums/--no-checksums",
    default=None,
    help="Compare checksums with the manifest; without GRAPH, do only that.",
)
@dgl_option("--orig-dataset-dir", "dgl_in_dir", type=click.Path(), script="verify_partitions.py", meaning="GRAPH")
@dgl_option("--part-graph-dir", "dgl_out_dir", type=click.Path(), script="verify_partitions.py", meaning="OUT")
@unused_option(
    "--partitions-dir",
    script="verify_partitions.py",
    why="owners are taken from OUT and not compared with those of an assignment",
    level=logging.WARNING,
)
@with_options(*TABLE_OPTIONS, *RESOURCE_OPTIONS)
@CONFINED_OPTION
def verify(**values: Any) -> None:
    """Compare the partitions in OUT with GRAPH, node by node.

    Checks that every node, edge and feature row is there once, in the right part; HALO nodes; checksums. OUT may be
    written by DGL's own tools. Ends with exit code 1 if anything is wrong.

    \b
    daskgraphpart verify graph parts
    daskgraphpart verify parts --edges follows.csv --map-ids
    daskgraphpart verify copy-of-parts --checksums
    """
    by_flag = tuple(values[name] for name in ("dgl_in_dir", "dgl_out_dir") if values[name] is not None)
    directories = values["directories"] + by_flag
    if not directories:
        raise click.UsageError("Missing OUT.")
    if by_flag and values["directories"]:
        raise click.UsageError("Give GRAPH and OUT once.")
    has_tables = bool(values["edges"] or values["from"])
    if len(directories) > 2:
        raise click.UsageError("Give GRAPH and OUT, or OUT and --checksums.")
    if len(directories) == 1 and not values["checksums"] and not has_tables:
        raise click.UsageError("Missing GRAPH; without it, give --checksums.")
    with run_of(values) as run:
        found = _verify(directories, values, run)
    if not found.ok:
        click.echo(str(found))
        sys.exit(1)
    if not values["quiet"]:
        click.echo(f"{found} in {format_seconds(values['seconds'])}")


def _verify(directories: tuple[str, ...], values: dict[str, Any], run: dict[str, Any]) -> VerifyReport:
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.verification import pipeline

    has_graph = len(directories) > 1 or bool(values["edges"] or values["from"])
    graph = input_of(values, directories, ("GRAPH", "OUT"))[0] if has_graph else None
    out_dir = directories[-1]
    if values["confined"]:
        open_partitions(out_dir, confined=True)
    how = {"quick": values["quick"], "sample": values["sample"]}
    if graph is None:
        return pipeline.verify_checksums(out_dir, **how, **run)
    how["checksums"] = values["checksums"] is not False
    return pipeline.verify(graph, out_dir, **how, **run)


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
@click.option("--overwrite", is_flag=True, help="Replace TO.")
@with_options(*RESOURCE_OPTIONS)
@CONFINED_OPTION
def remap(**values: Any) -> None:
    """Bring rows (embeddings, say) back into the input's order.

    FROM has a row per node or edge of a type, by new ID. FROM and TO end in .npy, .zarr, .pt or .parquet; Parquet gets
    a column id with your own IDs.

    \b
    daskgraphpart remap parts predictions.pt predictions.parquet
    daskgraphpart remap parts embeddings.npy original.npy --type paper
    daskgraphpart remap parts labels.npy labels-new.npy --reverse
    """
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
