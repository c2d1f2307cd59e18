"""Tables as options name them: keywords of `read_tables`, or those of a construction config."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.chunked.changes import GraphChanges
from daskgraphpart.cli.options import INPUT_NAMES, keywords_of, refuse_tables
from daskgraphpart.errors import OptionError
from daskgraphpart.options import by_name
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.sources.datasets import describe_dataset
from daskgraphpart.sources.options import ReadOptions

if TYPE_CHECKING:
    from collections.abc import Iterable


def tables_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keywords of `read_tables`, from options and any public data set, which the options extend."""
    from daskgraphpart.sources.given import ends_of_types
    from daskgraphpart.sources.table_words import parse_by_type, parse_features

    if not values["edges"] and not values.get("from"):
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    tables = describe_dataset(*values["from"]) if values.get("from") else {}
    refuse_tables(("split_seed",), "a job", "only a GraphStorm config has sets to draw")
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
    options["edge_columns"] = _edge_columns(values["edge_columns"])
    return {**keywords_of(values, GraphChanges), **tables, **options}


def _edge_columns(given: Iterable[str]) -> dict[str, str]:
    """Columns by edge type; a column's name may hold an equals sign."""
    found: dict[str, str] = {}
    for text in given:
        etype, sign, names = text.partition("=")
        etype, names = (etype, names) if sign and etype.count(":") == 2 else ("", text)
        if etype in found:
            raise OptionError("given twice for the same", place="--edge-columns", found=text, hint="remove one")
        found[etype] = names
    return found


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
