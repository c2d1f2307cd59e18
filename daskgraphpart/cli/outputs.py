"""``daskgraphpart verify``, ``report`` and ``remap``: what becomes of partitions that are there."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    RESOURCE_OPTIONS,
    Command,
    dgl_option,
    run_of,
    unused_option,
    with_options,
)
from daskgraphpart.cli.tables import TABLE_OPTIONS, input_of
from daskgraphpart.errors import OptionError
from daskgraphpart.units import format_seconds

if TYPE_CHECKING:
    from daskgraphpart.verification.findings import Report


@click.command(cls=Command)
@click.argument("directories", nargs=-1, type=click.Path(), metavar="[IN_DIR] OUT_DIR")
@click.option("--quick", is_flag=True, help="Read headers and small files only: seconds, whatever the size.")
@click.option(
    "--sample", type=float, default=1.0, metavar="FRACTION", help="Share of the rows of features that is compared."
)
@click.option(
    "--checksums/--no-checksums",
    default=None,
    help="Compare checksums with the manifest (default, if there is one); --checksums without IN_DIR does just that.",
)
@dgl_option("--orig-dataset-dir", "dgl_in_dir", type=click.Path(), script="verify_partitions.py", meaning="IN_DIR")
@dgl_option("--part-graph-dir", "dgl_out_dir", type=click.Path(), script="verify_partitions.py", meaning="OUT_DIR")
@unused_option(
    "--partitions-dir",
    script="verify_partitions.py",
    why="owners are taken from OUT_DIR and not compared with those of an assignment",
    level=logging.WARNING,
)
@with_options(*TABLE_OPTIONS, *RESOURCE_OPTIONS)
@CONFINED_OPTION
def verify(**values: Any) -> None:
    """Compare the partitions in OUT_DIR with the graph in IN_DIR they were made from.

    Checks counts and ranges, that every node and edge is there once, in the part that owns it, HALO nodes, every row of
    every feature, and checksums. OUT_DIR may have been written by DGL's own tools. Ends with exit code 1 if anything is
    wrong.

    \b
    daskgraphpart verify graph partitions
    daskgraphpart verify partitions --edges follows.csv --map-ids
    daskgraphpart verify copy-of-partitions --checksums
    daskgraphpart verify --orig-dataset-dir graph --part-graph-dir partitions
    """
    by_flag = tuple(values[name] for name in ("dgl_in_dir", "dgl_out_dir") if values[name] is not None)
    directories = values["directories"] + by_flag
    if not directories:
        raise click.UsageError("Missing OUT_DIR.")
    if by_flag and values["directories"]:
        raise click.UsageError("Give IN_DIR and OUT_DIR once.")
    has_tables = bool(values["edges"] or values["from"])
    if len(directories) > 2:
        raise click.UsageError("Give IN_DIR and OUT_DIR, or OUT_DIR and --checksums.")
    if len(directories) == 1 and not values["checksums"] and not has_tables:
        raise click.UsageError("Missing IN_DIR; without it, give --checksums.")
    with run_of(values) as run:
        found = _verify(directories, values, run)
    if not found.ok:
        click.echo(str(found))
        sys.exit(1)
    if not values["quiet"]:
        click.echo(f"{found} in {format_seconds(values['seconds'])}")


def _verify(directories: tuple[str, ...], values: dict[str, Any], run: dict[str, Any]) -> Report:
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.verification import pipeline

    has_graph = len(directories) > 1 or bool(values["edges"] or values["from"])
    graph = input_of(values, directories, ("IN_DIR", "OUT_DIR"))[0] if has_graph else None
    out_dir = directories[-1]
    if values["confined"]:
        open_partitions(out_dir, confined=True)
    if graph is None:
        return pipeline.verify_checksums(out_dir, **run)
    how = {"quick": values["quick"], "sample": values["sample"], "checksums": values["checksums"] is not False}
    return pipeline.verify(graph, out_dir, **how, **run)


ENDINGS = {".txt": "text", ".json": "json", ".html": "html", ".htm": "html"}


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "html"]),
    help="Default: what the name of --output ends in, else text.",
)
@click.option("--output", type=click.Path(dir_okay=False), help="File to write; default standard output.")
@click.option(
    "--labels",
    multiple=True,
    metavar="NTYPE:NAME",
    help="Node data that are classes; may be given several times. Default: whole numbers named label, labels or y.",
)
@click.option(
    "--sampling",
    metavar="N,...",
    help="Neighbours that training samples at each hop, such as 10,10: estimate what trainers fetch from other parts.",
)
@click.option(
    "--batch-size", type=int, default=1000, show_default=True, help="Training nodes in a batch of --sampling."
)
@with_options(*RESOURCE_OPTIONS)
def report(**values: Any) -> None:
    """Show the quality of the partitions in OUT_DIR, ours or DGL's. Everything is computed from their files.

    Cut, communication volume, replication, HALO nodes, balance of nodes, edges, types, classes, masks and bytes, edges
    between parts, in-degrees, sizes on disk. An HTML report is one page that needs no network.

    \b
    daskgraphpart report partitions
    daskgraphpart report partitions --output report.html
    daskgraphpart report partitions --format json --labels paper:field
    daskgraphpart report partitions --sampling 10,10 --batch-size 1000
    """
    from daskgraphpart.partitioned.graph import open_partitions
    from daskgraphpart.reporting.report import check_directory_of, write_text

    output = values["output"]
    form = values["form"] or _form_of(output)
    if output is not None:
        check_directory_of(output)
    with run_of(values) as run:
        wanted = {
            "labels": values["labels"] or None,
            "sampling": values["sampling"],
            "batch_size": values["batch_size"],
        }
        found = open_partitions(values["out_dir"]).report(**wanted, **run)
    if form == "json":
        content = json.dumps(found.to_dict(), indent=1)
    else:
        content = found.to_html() if form == "html" else str(found)
    if output is None:
        click.echo(content.rstrip("\n"))
    else:
        write_text(content, output)


def _form_of(output: str | None) -> str:
    ending = "" if output is None else Path(output).suffix.lower()
    if output is not None and ending not in ENDINGS:
        hint = "or say what is to be written: --format text, json or html"
        raise OptionError(
            "unknown ending of a report", place="--output", expected=", ".join(ENDINGS), found=output, hint=hint
        )
    return ENDINGS.get(ending, "text")


@click.command(cls=Command)
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
def remap(**values: Any) -> None:
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
