"""``daskgraphpart to-original`` and ``from-original``: rows in the other order; ``ids``: look up single nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from daskgraphpart.cli.command_options import CONFINED_OPTION, RESOURCE_OPTIONS, run_of, with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import LOG_OPTIONS, echo_result
from daskgraphpart.errors import OptionError
from daskgraphpart.partitioned.partitioned_graph import PartitionedGraph, open_partitions

ROWS = (
    click.argument("partitions", type=click.Path()),
    click.argument("in_path", type=click.Path(), metavar="FROM"),
    click.argument("out_path", type=click.Path(), metavar="TO"),
    click.option("--type", "kind", metavar="TYPE", help="Node or edge type; not needed if there is one node type."),
    click.option("--overwrite", is_flag=True, help="Replace TO."),
    *RESOURCE_OPTIONS,
    CONFINED_OPTION,
)


@click.command(cls=Command)
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
@with_options(*ROWS)
def to_original(**values: Any) -> None:
    """Put predictions or embeddings back into the order of your input.

    FROM has a row per node or edge of a type, by new ID. FROM and TO end in .npy, .zarr, .pt or .parquet; Parquet gets
    a column id with your own IDs.

    \b
    daskgraphpart to-original parts predictions.pt predictions.parquet
    daskgraphpart to-original parts scores.pt classes.parquet --decode label
    daskgraphpart to-original parts embeddings.npy original.npy --type paper
    """
    _reorder(
        "to_original", values, "original", id_map=values["id_map"], largest=values["largest"], decode=values["decode"]
    )


@click.command(cls=Command)
@with_options(*ROWS)
def from_original(**values: Any) -> None:
    """Put rows in the order of your input into that of new IDs, which the parts have.

    FROM has a row per node or edge of a type, by original ID. FROM and TO end in .npy, .zarr, .pt or .parquet.

    \b
    daskgraphpart from-original parts labels.npy labels-new.npy
    """
    _reorder("from_original", values, "new")


def _reorder(method: str, values: dict[str, Any], order: str, **how: Any) -> None:
    """Call a method of the partitions that brings rows into another order."""
    graph = open_partitions(values["partitions"], confined=values["confined"])
    kind = values["kind"] or _only_type(graph, graph.ntypes + graph.etypes)
    with run_of(values) as run:
        getattr(graph, method)(kind, values["in_path"], values["out_path"], **how, **run)
    if not values["quiet"]:
        echo_result(f"rows of {kind} by {order} ID: {values['out_path']}")


@click.command(cls=Command)
@click.argument("partitions", type=click.Path())
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--type", "ntype", metavar="NTYPE", help="Node type; not needed if there is one.")
@click.option("--from", "file", type=click.File(), help="Read IDs from FILE, one per line; - is standard input.")
@click.option("--new", "are_new", is_flag=True, help="Take new IDs, such as n_id of a batch, and show your own.")
@click.option("--id-map", type=click.Path(), help="Graph with the ID map; default: the one you partitioned.")
@CONFINED_OPTION
@with_options(*LOG_OPTIONS)
def ids(
    partitions: str, ids: tuple[str, ...], ntype: str | None, file: Any, are_new: bool, id_map: str | None,
    confined: bool,
) -> None:  # fmt: skip
    """Show your own ID, the new ID and the part of nodes, separated by tabs.

    Without --map-ids, your own IDs are the row numbers of the input.

    \b
    daskgraphpart ids parts --type item SKU-1 SKU-2
    daskgraphpart ids parts --type item --new 17 18
    """
    graph = open_partitions(partitions, confined=confined)
    ntype = ntype or _only_type(graph, graph.ntypes)
    given = [*ids, *(line.rstrip("\r\n") for line in file or ())]
    is_text = not are_new and graph.own_ids(ntype, np.empty(0, np.int64), id_map=id_map).dtype == object
    wanted = np.array(given, object) if is_text else _numbers(given)
    own = graph.own_ids(ntype, wanted, id_map=id_map) if are_new else wanted
    new = wanted if are_new else graph.ids_of(ntype, wanted, id_map=id_map)
    click.echo("own_id\tnew_id\tpart")
    for row in zip(own.tolist(), new.tolist(), graph.book.nid2partid(new, ntype).tolist(), strict=True):
        click.echo("\t".join(map(str, row)))


def _only_type(graph: PartitionedGraph, types: Sequence[str]) -> str:
    if len(graph.ntypes) != 1:
        raise OptionError("the type is missing", option="type", expected=f"one of {', '.join(types)}")
    return graph.ntypes[0]


def _numbers(ids: Sequence[str]) -> np.ndarray:
    try:
        return np.array([int(text) for text in ids], np.int64)
    except (ValueError, OverflowError):
        bad = next(text for text in ids if not text.removeprefix("-").isdecimal() or abs(int(text)) >= 2**63)
        raise OptionError("not an ID", expected="whole numbers", found=repr(bad)) from None
