"""Options that describe tables, and the graph that a command takes: a chunked one, or one of tables."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.help import Option
from daskgraphpart.cli.options import CHANGE_OPTIONS, READ_OPTIONS, graph_of
from daskgraphpart.errors import OptionError
from daskgraphpart.options import chosen, option_name, stated_options
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.sources.options import GraphChanges, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


KINDS = ("ogb", "mag240m", "igb", "wikikg")
_table = partial(click.option, cls=Option, heading="Tables")
INPUT_OPTIONS = (
    _table(
        "--edges",
        multiple=True,
        common=True,
        metavar="[TYPE=]FILE[:WORD]",
        help="A table of edges; repeat it for more. Text, Parquet, Matrix Market, npz or npy; a file, "
        "a directory (Delta and Iceberg, too), a quoted pattern, a pipe, or - for standard input. A WORD says how to "
        "read it: header, no-header, comma, tab, space, semicolon, the columns SRC,DST, or for raw binary rows their "
        "dtype and width: uint32, int64:3. TYPE is SRC:REL:DST, _N:_E:_N if you leave it out.",
    ),
    _table(
        "--from",
        type=(click.Choice(KINDS), click.Path()),
        common=True,
        metavar="NAME DIR",
        help=f"A public data set: {', '.join(KINDS)}. DIR is where you downloaded it. Splits become train_mask, "
        "val_mask and test_mask. Other options add to it.",
    ),
    _table(
        "--num-nodes",
        multiple=True,
        metavar="[TYPE=]N|FILE",
        help="Number of nodes of a type whose IDs are not mapped, or a file that holds it. Default: the rows of a "
        "feature, else the largest ID plus one.",
    ),
    _table(
        "--nodes",
        multiple=True,
        metavar="[TYPE=]FILE[:COLUMN]",
        help="A list of nodes, which may have no edges. COLUMN holds the IDs; default id, else the first.",
    ),
    _table(
        "--node-data",
        multiple=True,
        common=True,
        metavar="[TYPE:]NAME=FILE[:[ID:]COLUMN],...",
        help="A node feature; a COLUMN is joined by node ID. The IDs are in the column ID: default that of "
        "--nodes, id, or the first. A whole file (npy, Parquet, CSV, or raw binary as FILE:float32:WIDTH) or an array "
        "of an npz file has its rows in the order of IDs, or of the list given to --nodes.",
    ),
    _table(
        "--edge-data",
        multiple=True,
        metavar="[TYPE:]NAME=FILE[:COLUMN],...",
        help="An edge feature from npy, Parquet or CSV, its rows in the order of the edges.",
    ),
    _table(
        "--mask",
        multiple=True,
        metavar="[TYPE:]NAME=FILE[:COLUMN],...",
        help="A list of node IDs that becomes a mask, such as train_mask.",
    ),
    _table("--split-seed", type=int, default=0, help="Seed of the splits that a GraphStorm config asks for."),
    _table(
        "--name",
        help="Name of the graph. chunk names it after its directory; default elsewhere: graph, or the name it has.",
    ),
)
TABLE_OPTIONS = *INPUT_OPTIONS, *READ_OPTIONS, *CHANGE_OPTIONS
INPUT_NAMES = (
    "from",
    "edges",
    "nodes",
    "num_nodes",
    "node_data",
    "edge_data",
    "mask",
    "split_seed",
    *stated_options(ReadOptions),
)


def tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments that only tables have; what a public data set has, too, is that of the options."""
    from daskgraphpart.sources.published import describe_dataset

    if not values["edges"] and not values["from"]:
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    tables = describe_dataset(*values["from"]) if values["from"] else {}
    if values["split_by"]:
        tables.pop("split_by", None)
    given: dict[str, dict[str, Any]] = {
        "edges": _by_type(values["edges"], DEFAULT_ETYPE, ":"),
        "num_nodes": _num_nodes(values["num_nodes"]),
        "node_data": _features(values["node_data"], DEFAULT_NTYPE, "--node-data"),
        "edge_data": _features(values["edge_data"], DEFAULT_ETYPE, "--edge-data"),
        "masks": _features(values["mask"], DEFAULT_NTYPE, "--mask"),
    }
    for name, by_type in given.items():
        known = tables.setdefault(name, {})
        for of_type, value in by_type.items():
            known[of_type] = {**known.get(of_type, {}), **value} if isinstance(value, dict) else value
    return {
        **tables,
        "name": values["name"] or "graph",
        "nodes": _by_type(values["nodes"], DEFAULT_NTYPE),
        **asdict(chosen(ReadOptions, values)),
    }


def input_of(values: dict[str, Any], given: Sequence[str | None], names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the graph that a command takes, and its other arguments: GRAPH comes first unless there are tables.

    GRAPH may be a table of edges, too, or a construction config of GraphStorm.
    """
    from daskgraphpart.chunked.metadata import is_table

    paths = [path for path in given if path is not None]
    has_tables = bool(values["edges"] or values["from"])
    wanted = names[1:] if has_tables else names
    if len(paths) > len(wanted):
        raise click.UsageError(f"Give {' and '.join(wanted)} only: --edges and --from are in the place of {names[0]}.")
    if len(paths) < len(wanted):
        raise click.UsageError(f"Missing {wanted[len(paths)]}.")
    if not has_tables:
        first = paths.pop(0)
        if first.endswith(".json"):
            from daskgraphpart.api.read_tables import is_construction

            if is_construction(first):
                return construction_of(first, values), paths
        if not is_table(first):
            refuse_tables((*INPUT_NAMES, *stated_options(GraphChanges), "name"), "a job")
            return graph_of(first, values), paths
        values = {**values, "edges": (first,)}
    from daskgraphpart.api.read_tables import read_tables  # a job without tables does without

    changes = {name: values[name] for name in stated_options(GraphChanges)}
    return read_tables(**{**changes, **tables_of(values)}), paths


def construction_of(path: str, values: dict[str, Any]) -> Any:
    """Return the tables of a construction config of GraphStorm, with the options that it takes."""
    from daskgraphpart.api.read_tables import read_construction

    refused = [name for name in INPUT_NAMES if name not in ("split_seed", "unknown_nodes")]
    refuse_tables(refused, "a job", "a construction config has its tables itself")
    unknown = click.get_current_context().get_parameter_source("unknown_nodes")
    return read_construction(
        path,
        name=values["name"] or "graph",
        unknown_nodes=values["unknown_nodes"] if unknown is ParameterSource.COMMANDLINE else "error",
        split_seed=values["split_seed"],
        **{name: values[name] for name in stated_options(GraphChanges)},
    )


def refuse_tables(
    names: Iterable[str], where: str, what: str = "a chunked graph has its IDs and features itself"
) -> None:
    """Refuse options about tables beside a chunked graph or a config."""
    ctx = click.get_current_context()
    for name in names:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise OptionError(f"{what}, so {where} goes without it", place=option_name(name), hint="leave it out")


def _split(text: str, default: str, mark: str = "") -> tuple[str, str]:
    """Return type and value of ``[TYPE=]VALUE``; an ``=`` may belong to the name of a file."""
    before, sign, value = text.partition("=")
    is_typed = sign and mark in before and "/" not in before and not Path(text).is_file()
    return (before, value) if is_typed else (default, text)


def _by_type(given: Iterable[str], default: str, mark: str = "") -> dict[str, list[str]]:
    """Files by type."""
    files: dict[str, list[str]] = {}
    for text in given:
        of_type, path = _split(text, default, mark)
        files.setdefault(of_type, []).append(path)
    return files


def _num_nodes(given: Iterable[str]) -> dict[str, int]:
    from daskgraphpart.units import parse_count

    counts: dict[str, int] = {}
    for text in given:
        ntype, count = _split(text, DEFAULT_NTYPE)
        if ntype in counts:
            raise OptionError(f"two numbers of {ntype!r} nodes", place="--num-nodes", hint="remove one")
        if Path(count).is_file():
            with gzip.open(count, "rt") if count.endswith(".gz") else Path(count).open() as file:
                count = file.read(64).strip()
        counts[ntype] = parse_count(count)
    return counts


def _features(given: Iterable[str], default: str, place: str) -> dict[str, dict[str, list[str]]]:
    """Files by type and feature; the same feature may be given several times, for further files."""
    found: dict[str, dict[str, list[str]]] = {}
    for text in given:
        full_name, sign, paths = text.partition("=")
        if not sign or not paths:
            raise OptionError("no file", place=place, expected="[TYPE:]NAME=FILE", found=text)
        type_name, _, name = full_name.rpartition(":")
        found.setdefault(type_name or default, {}).setdefault(name, []).extend(paths.split(","))
    return found
