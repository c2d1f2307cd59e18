"""Options that describe tables, and the graph that a command reads: chunked, or from tables."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.help import Option
from daskgraphpart.cli.options import graph_of, keywords_of, options_of
from daskgraphpart.errors import OptionError
from daskgraphpart.options import chosen, option_name, stated_options
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.sources.options import NO_CHANGES, GraphChanges, ReadOptions, Tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


KINDS = ("ogb", "mag240m", "igb", "wikikg")
_table = partial(click.option, cls=Option, heading="Tables")
TABLE_OPTIONS = (
    *options_of(Tables, "Tables", "edges"),
    _table(
        "--from",
        type=(click.Choice(KINDS), click.Path()),
        common=True,
        metavar="NAME DIR",
        help=f"A public data set: {', '.join(KINDS)}. DIR is where you downloaded it. Splits become train_mask, "
        "val_mask and test_mask. Other options add to it.",
    ),
    *options_of(Tables, "Tables", "num_nodes", "nodes", "node_data", "edge_data", "masks"),
    _table("--split-seed", type=int, default=0, help="Seed of the splits that a GraphStorm config asks for."),
    _table(
        "--name",
        help="Name of the graph. chunk names it after its directory; default elsewhere: graph, or the name it has.",
    ),
    *options_of(ReadOptions, "Tables"),
    *options_of(GraphChanges, "Tables"),
)
INPUT_NAMES = ("from", *stated_options(Tables), "split_seed", *stated_options(ReadOptions))


def tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `read_tables`, from options and any public data set, which the options extend."""
    from daskgraphpart.sources.given import ends_of_types
    from daskgraphpart.sources.published import describe_dataset
    from daskgraphpart.sources.table_words import parse_by_type, parse_features

    if not values["edges"] and not values["from"]:
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    tables = describe_dataset(*values["from"]) if values["from"] else {}
    if values["split_by"]:
        tables.pop("split_by", None)
    edges = parse_by_type(values["edges"], DEFAULT_ETYPE, "--edges")
    nodes = parse_by_type(values["nodes"], DEFAULT_NTYPE, "--nodes")
    counts, known_edges = _num_nodes(values["num_nodes"]), (*edges, *tables.get("edges", ()))
    ntypes = {*nodes, *counts, *ends_of_types(known_edges)}
    given: dict[str, dict[str, Any]] = {
        "edges": edges,
        "num_nodes": counts,
        "node_data": parse_features(values["node_data"], DEFAULT_NTYPE, "--node-data", ntypes),
        "edge_data": parse_features(values["edge_data"], DEFAULT_ETYPE, "--edge-data"),
        "masks": parse_features(values["masks"], DEFAULT_NTYPE, "--mask"),
    }
    for name, by_type in given.items():
        known = tables.setdefault(name, {})
        for of_type, value in by_type.items():
            known[of_type] = {**known.get(of_type, {}), **value} if isinstance(value, dict) else value
    options = {"name": values["name"] or "graph", "nodes": nodes, **keywords_of(values, ReadOptions)}
    return {**keywords_of(values, GraphChanges), **tables, **options}


def input_of(values: dict[str, Any], given: Sequence[str | None], names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a command's graph and its other arguments; GRAPH comes first unless there are tables.

    GRAPH may also be a table of edges, or a GraphStorm construction config.
    """
    from daskgraphpart.chunked.metadata import is_table

    paths = [path for path in given if path is not None]
    has_tables = bool(values["edges"] or values["from"])
    wanted = names[1:] if has_tables else names
    if len(paths) > len(wanted):
        raise click.UsageError(f"Give {' and '.join(wanted)} only: --edges and --from replace {names[0]}.")
    if len(paths) < len(wanted):
        raise click.UsageError(f"Missing {wanted[len(paths)]}.")
    if not has_tables:
        first = paths.pop(0)
        if first.endswith(".json"):
            from daskgraphpart.api.read_tables import is_construction

            if is_construction(first):
                return construction_of(first, values), paths
        if not is_table(first):
            refuse_tables((*INPUT_NAMES, "name"), "a job")
            is_changed = chosen(GraphChanges, values) != NO_CHANGES
            return (changed_graph if is_changed else graph_of)(first, values), paths
        values = {**values, "edges": (first,)}
    from daskgraphpart.api.read_tables import described_tables  # slow to import

    return described_tables(**tables_of(values)), paths


def changed_graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return a directory's chunked graph, with the requested changes."""
    from daskgraphpart.api.graph import changed, read_chunked

    return changed(read_chunked(in_dir, confined=values.get("confined", False)), chosen(GraphChanges, values))


def construction_of(path: str, values: dict[str, Any]) -> Any:
    """Return a GraphStorm construction config's tables, with its options."""
    from daskgraphpart.api.read_tables import read_construction

    refused = [name for name in INPUT_NAMES if name not in ("split_seed", "unknown_nodes")]
    refuse_tables(refused, "a job", "a construction config names its own tables")
    unknown = click.get_current_context().get_parameter_source("unknown_nodes")
    return read_construction(
        path,
        name=values["name"] or "graph",
        unknown_nodes=values["unknown_nodes"] if unknown is ParameterSource.COMMANDLINE else "error",
        split_seed=values["split_seed"],
        **keywords_of(values, GraphChanges),
    )


def refuse_tables(names: Iterable[str], where: str, what: str = "a chunked graph has its own IDs and features") -> None:
    """Refuse options of tables beside a chunked graph or a config."""
    ctx = click.get_current_context()
    for name in names:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise OptionError(
                f"{what}, so {where} does not take this option", place=option_name(name), hint="leave it out"
            )


def _num_nodes(given: Iterable[str]) -> dict[str, int]:
    from daskgraphpart.sources.table_words import parse_typed
    from daskgraphpart.units import parse_count

    counts: dict[str, int] = {}
    for text in given:
        ntype, count = parse_typed(text, DEFAULT_NTYPE, "--num-nodes")
        if ntype in counts:
            raise OptionError(f"two numbers of {ntype!r} nodes", place="--num-nodes", hint="remove one")
        if Path(count).is_file():
            with gzip.open(count, "rt") if count.endswith(".gz") else Path(count).open() as file:
                count = file.read(64).strip()
        counts[ntype] = parse_count(count)
    return counts
