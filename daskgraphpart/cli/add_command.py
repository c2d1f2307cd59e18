"""``daskgraphpart add``: add features to finished partitions."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.command_options import (
    JOB_OPTIONS,
    RESOURCE_OPTIONS,
    keywords_of,
    options_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import echo_result, show_result
from daskgraphpart.engine.resources import resources_of
from daskgraphpart.partitioned.partitioned_graph import open_partitions
from daskgraphpart.readers.tables.describe.table_words import parse_by_type, parse_features
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables
from daskgraphpart.schema import DEFAULT_NTYPE
from daskgraphpart.units import format_seconds

_READING = ("delimiter", "decimal", "header", "comment", "codes_from", "id_type", "missing_ids", "fill")


@click.command(cls=Command)
@click.argument("partitions", type=click.Path())
@with_options(*options_of(Tables, "Features", "node_data", "edge_data", "masks", "split"))
@with_options(*options_of(ReadOptions, "Features", *_READING))
@with_options(*RESOURCE_OPTIONS, *JOB_OPTIONS)
def add(**values: Any) -> None:
    """Add features to finished partitions, in all layouts that are there.

    Rows without IDs, and those of edges, are in the order of the input; tables of nodes are joined by your own IDs. A
    stopped run is continued by the same command.

    \b
    daskgraphpart add parts --node-data feat=embeddings.npy
    daskgraphpart add parts --node-data user/age=users.csv:id:age --fill age=-1
    daskgraphpart add parts --edge-data weight=weights.npy
    """
    from daskgraphpart.tools.add.add_features import add_features  # imports DuckDB

    parts = open_partitions(values["partitions"])
    default = parts.ntypes[0] if len(parts.ntypes) == 1 else DEFAULT_NTYPE
    tables = {
        "node_data": parse_features(values["node_data"], default, "--node-data", parts.ntypes),
        "edge_data": parse_features(values["edge_data"], parts.etypes[0], "--edge-data", parts.etypes),
        "masks": parse_features(values["masks"], default, "--mask"),
        "split": parse_by_type(values["split"], default, "--split"),
        **{name: value for name, value in keywords_of(values, ReadOptions).items() if name in _READING},
    }
    with run_of(values) as run:
        how = {name: run.pop(name) for name in ("restart", "progress")}
        parts = add_features(parts, tables, resources_of(run), **how)
    if not values["quiet"]:
        names = [
            f"{of_type}/{name}" for of_type, data in {**parts.node_data, **parts.edge_data}.items() for name in data
        ]
        echo_result(f"features  {', '.join(names)}")
        echo_result(f"time      {format_seconds(values['seconds'])}")
        show_result(f"config    {parts.config}")
