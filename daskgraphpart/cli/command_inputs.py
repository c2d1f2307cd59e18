"""The options of commands that name tables, and what they become: keywords of `scan_tables`, or of a config."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.command_options import keywords_of, options_of, refuse_options
from daskgraphpart.cli.help import Option
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.metadata import is_table
from daskgraphpart.graph.scan import Scan
from daskgraphpart.graph.transforms.changes import GraphChanges
from daskgraphpart.options import by_name, stated_options
from daskgraphpart.readers.describe_dataset import DATASETS, describe_dataset
from daskgraphpart.readers.tables.describe.table_words import parse_by_type, parse_features, parse_typed
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables
from daskgraphpart.readers.type_names import ends_of_types
from daskgraphpart.registry import first_answer
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.units import parse_count

_table = partial(click.option, cls=Option, heading="Tables")
_from = _table(
    "--from",
    type=(click.Choice([*DATASETS]), click.Path()),
    common=True,
    metavar="NAME DIR",
    help=f"A public data set: {', '.join(DATASETS)}. DIR is where you downloaded it. Splits become train_mask, "
    "val_mask and test_mask. Other options add to it.",
)
OPTIONS = (
    *options_of(Tables, "Tables", "edges"),
    _from,
    *options_of(Tables, "Tables", "num_nodes", "nodes", "node_data", "edge_data", "masks", "split"),
    _table("--split-seed", type=int, default=0, help="Seed of the splits that a GraphStorm config asks for."),
    _table(
        "--name",
        help="Name of the graph. build names it after its directory; default elsewhere: graph, or the name it has.",
    ),
    *options_of(ReadOptions, "Tables"),
)
NAMES = ("from", *stated_options(Tables), "split_seed", *stated_options(ReadOptions))
"""Options of tables and their IDs."""


def is_given(values: dict[str, Any]) -> bool:
    """Whether options name tables."""
    return bool(values["edges"] or values.get("from"))


def scan_of(path: str | None, values: dict[str, Any]) -> Any:
    """Return the scan of a construction config, of a table of edges, or of tables that options name; else None."""
    if path is not None and is_config(path):
        return scan_of_config(path, values)
    if path is not None and not is_table(path):
        return None
    from daskgraphpart.readers.tables.scan_tables import described_tables  # imports pandas

    if path is not None:
        from daskgraphpart.readers.tables.table_scan import TableScan  # likewise

        scan, _ = first_answer("readers", lambda kind: kind.open(path), Scan)
        if not isinstance(scan, TableScan):  # one of another package
            return None
    return described_tables(tables_of(values if path is None else {**values, "edges": (path,)}))


def is_config(path: str) -> bool:
    """Whether a path is a construction config of GraphStorm."""
    if not path.endswith(".json"):
        return False
    from daskgraphpart.readers.construction.build import ConstructionScan  # imports DuckDB

    return ConstructionScan.open(path) is not None


def tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `scan_tables`, from options and any public data set, which the options extend."""
    if not is_given(values):
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    tables = describe_dataset(*values["from"]) if values.get("from") else {}
    refuse_options(("split_seed",), "a job", "only a GraphStorm config has sets to draw")
    if values["edge_types_from"]:
        tables.pop("edge_types_from", None)
    edges = parse_by_type(values["edges"], DEFAULT_ETYPE, "--edges")
    nodes = parse_by_type(values["nodes"], DEFAULT_NTYPE, "--nodes")
    counts, known_edges = _num_nodes(values["num_nodes"]), (*edges, *tables.get("edges", ()))
    ntypes = {*nodes, *counts, *ends_of_types(known_edges)}
    given: dict[str, dict[str, Any]] = {
        "edges": edges,
        "num_nodes": counts,
        "node_data": parse_features(values["node_data"], DEFAULT_NTYPE, "--node-data", ntypes),
        "edge_data": parse_features(values["edge_data"], DEFAULT_ETYPE, "--edge-data", known_edges),
        "split": parse_by_type(values["split"], DEFAULT_NTYPE, "--split"),
        "masks": parse_features(values["masks"], DEFAULT_NTYPE, "--mask"),
    }
    for name, by_type in given.items():
        known = tables.setdefault(name, {})
        for of_type, value in by_type.items():
            known[of_type] = {**known.get(of_type, {}), **value} if isinstance(value, dict) else value
    if values.get("cast"):
        tables["cast"] = {**tables.get("cast", {}), **by_name(values["cast"], "--cast")}
    options = {"name": values["name"] or "graph", "nodes": nodes, **keywords_of(values, ReadOptions)}
    options["edge_features"] = _edge_features(values["edge_features"])
    return {**keywords_of(values, GraphChanges), **tables, **options}


def _edge_features(given: Iterable[str]) -> dict[str, str]:
    """Columns by edge type; a column's name may hold an equals sign."""
    columns: dict[str, str] = {}
    for text in given:
        etype, sign, names = text.partition("=")
        etype, names = (etype, names) if sign and etype.count(":") == 2 else ("", text)
        if etype in columns:
            raise OptionError("given twice for the same", option="edge_features", found=text, hint="remove one")
        columns[etype] = names
    return columns


def _num_nodes(given: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for text in given:
        ntype, _, count = text.rpartition("=")  # a number is one, whatever files have its name
        if not _is_count(count) or text.startswith("="):
            ntype, count = parse_typed(text, DEFAULT_NTYPE, "--num-nodes")
        ntype = ntype or DEFAULT_NTYPE
        if ntype in counts:
            raise OptionError(f"two numbers of {ntype!r} nodes", option="num_nodes", hint="remove one")
        if not _is_count(count) and Path(count).is_file():
            with gzip.open(count, "rt") if count.endswith(".gz") else Path(count).open() as file:
                count = file.read(64).strip()
        counts[ntype] = parse_count(count)
    return counts


def _is_count(text: str) -> bool:
    try:
        parse_count(text)
    except OptionError:
        return False
    return True


def scan_of_config(path: str, values: dict[str, Any]) -> Any:
    """Return a GraphStorm construction config's tables, with its options."""
    refused = [name for name in NAMES if name not in ("split_seed", "unknown_nodes")]
    refuse_options(refused, "a job", "a construction config names its own tables")
    unknown = click.get_current_context().get_parameter_source("unknown_nodes")
    from daskgraphpart.readers.construction.scan_graphstorm_config import scan_graphstorm_config  # imports DuckDB

    return scan_graphstorm_config(
        path,
        name=values["name"] or "graph",
        unknown_nodes=values["unknown_nodes"] if unknown is ParameterSource.COMMANDLINE else "error",
        split_seed=values["split_seed"],
        **keywords_of(values, GraphChanges),
    )
