"""Options that describe tables, and the graph that a command reads: chunked, or from tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.chunked.changes import NO_CHANGES, GraphChanges
from daskgraphpart.cli.help import Option
from daskgraphpart.cli.options import INPUT_NAMES, graph_of, options_of, refuse_tables
from daskgraphpart.options import chosen
from daskgraphpart.registry import plugin_names
from daskgraphpart.sources.options import ReadOptions, Tables

if TYPE_CHECKING:
    from collections.abc import Sequence


KINDS = plugin_names("datasets")
_table = partial(click.option, cls=Option, heading="Tables")
_from = _table(
    "--from",
    type=(click.Choice(KINDS), click.Path()),
    common=True,
    metavar="NAME DIR",
    help=f"A public data set: {', '.join(KINDS)}. DIR is where you downloaded it. Splits become train_mask, "
    "val_mask and test_mask. Other options add to it.",
)
DATASET_OPTIONS = (_from,) if KINDS else ()
TABLE_OPTIONS = (
    *options_of(Tables, "Tables", "edges"),
    *DATASET_OPTIONS,
    *options_of(Tables, "Tables", "num_nodes", "nodes", "node_data", "edge_data", "masks", "split"),
    _table("--split-seed", type=int, default=0, help="Seed of the splits that a GraphStorm config asks for."),
    _table(
        "--name",
        help="Name of the graph. chunk names it after its directory; default elsewhere: graph, or the name it has.",
    ),
    *options_of(ReadOptions, "Tables"),
    *options_of(GraphChanges, "Tables"),
)


def input_of(values: dict[str, Any], given: Sequence[str | None], names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a command's graph and its other arguments; GRAPH comes first unless there are tables.

    GRAPH may also be a table of edges, or a GraphStorm construction config.
    """
    from daskgraphpart.chunked.metadata import is_table

    paths = [path for path in given if path is not None]
    has_tables = bool(values["edges"] or values.get("from"))
    wanted = names[1:] if has_tables else names
    if len(paths) > len(wanted):
        raise click.UsageError(f"Give {' and '.join(wanted)} only: --edges and --from replace {names[0]}.")
    if len(paths) < len(wanted):
        raise click.UsageError(f"Missing {wanted[len(paths)]}.")
    if not has_tables:
        first = paths.pop(0)
        if first.endswith(".json"):
            from daskgraphpart.construction.read_config import is_construction

            if is_construction(first):
                from daskgraphpart.cli.table_inputs import construction_of

                return construction_of(first, values), paths
        if not is_table(first):
            refuse_tables((*INPUT_NAMES, "name"), "a job")
            is_changed = chosen(GraphChanges, values) != NO_CHANGES
            return (changed_graph if is_changed else graph_of)(first, values), paths
        values = {**values, "edges": (first,)}
    from daskgraphpart.api.read_tables import described_tables  # slow to import
    from daskgraphpart.cli.table_inputs import tables_of

    return described_tables(**tables_of(values)), paths


def changed_graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return a directory's chunked graph, with the requested changes."""
    from daskgraphpart.chunked.changeable import change
    from daskgraphpart.chunked.graph import read_chunked

    return change(read_chunked(in_dir, confined=values.get("confined", False)), chosen(GraphChanges, values))
