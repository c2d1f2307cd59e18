"""The graph that a command reads: chunked, with changes if any, or in tables that options name, or a config."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.command_options import graph_of, keywords_of, options_of, refuse_options
from daskgraphpart.cli.help import Option
from daskgraphpart.graph.graph import read_chunked
from daskgraphpart.graph.graph_methods import change
from daskgraphpart.graph.metadata import is_table
from daskgraphpart.graph.transforms.changes import NO_CHANGES, GraphChanges
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.readers.describe_dataset import DATASETS
from daskgraphpart.readers.open_scan import open_scan
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables

if TYPE_CHECKING:
    from daskgraphpart.graph.scan import Scan

_table = partial(click.option, cls=Option, heading="Tables")
_from = _table(
    "--from",
    type=(click.Choice([*DATASETS]), click.Path()),
    common=True,
    metavar="NAME DIR",
    help=f"A public data set: {', '.join(DATASETS)}. DIR is where you downloaded it. Splits become train_mask, "
    "val_mask and test_mask. Other options add to it.",
)
INPUT_OPTIONS = (
    *options_of(Tables, "Tables", "edges"),
    _from,
    *options_of(Tables, "Tables", "num_nodes", "nodes", "node_data", "edge_data", "masks", "split"),
    _table("--split-seed", type=int, default=0, help="Seed of the splits that a GraphStorm config asks for."),
    _table(
        "--name",
        help="Name of the graph. build names it after its directory; default elsewhere: graph, or the name it has.",
    ),
    *options_of(ReadOptions, "Tables"),
    *options_of(GraphChanges, "Tables"),
)
TABLE_NAMES = ("from", *stated_options(Tables), "split_seed", *stated_options(ReadOptions))
"""Options of tables and their IDs."""
INPUT_NAMES = (*TABLE_NAMES, "name")
"""Options that are not for chunked graphs."""
NEEDED = {
    "GRAPH": "Give a directory with metadata.json, a table of edges, or tables by --edges.",
    "OUT": "Give the directory to write, after GRAPH if there is one.",
}
"""What to type for an argument that is missing."""


def input_of(values: dict[str, Any], given: Sequence[str | None], names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a command's graph or scan and its other arguments; GRAPH comes first unless options name it."""
    paths = [path for path in given if path is not None]
    wanted = names[1:] if is_given(values) else names
    if len(paths) > len(wanted):
        raise click.UsageError(f"Give {' and '.join(wanted)} only: --edges and --from replace {names[0]}.")
    if len(paths) < len(wanted):
        missing = wanted[len(paths)]
        raise click.UsageError(f"Missing {missing}. {NEEDED.get(missing, '')}".strip())
    first = None if is_given(values) else paths.pop(0)
    if (scan := scan_of(first, values)) is not None:
        return scan, paths
    assert first is not None, "what options name is tables"
    refuse_options(INPUT_NAMES, "a job")
    is_changed = chosen(GraphChanges, values) != NO_CHANGES
    return (changed_graph if is_changed else graph_of)(first, values), paths


def changed_graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return the chunked graph of a directory, or what a plug-in reads there, with the requested changes."""
    graph = read_chunked(in_dir, confined=True) if values.get("confined") else open_scan(in_dir)
    return change(graph, chosen(GraphChanges, values))


def is_given(values: dict[str, Any]) -> bool:
    """Whether options name tables."""
    return bool(values["edges"] or values.get("from"))


def scan_of(path: str | None, values: dict[str, Any]) -> Scan | None:
    """Return the scan of a construction config, of a table of edges, or of tables that options name; else None."""
    if path is not None:
        if (scan := scan_of_config(path, values)) is not None:
            return scan
        if not is_table(path):
            return None
    elif not is_given(values):
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    from daskgraphpart.cli.table_inputs import scan_of_tables  # imports pandas

    return scan_of_tables(path, values)


def scan_of_config(path: str, values: dict[str, Any]) -> Scan | None:
    """Return a GraphStorm construction config's tables, with its options; None if it is none."""
    if not path.endswith(".json"):
        return None
    from daskgraphpart.readers.construction import build, scan_graphstorm_config  # import DuckDB

    if build.ConstructionScan.open(path) is None:
        return None
    refused = [name for name in TABLE_NAMES if name not in ("split_seed", "unknown_nodes")]
    refuse_options(refused, "a job", "a construction config names its own tables")
    unknown = click.get_current_context().get_parameter_source("unknown_nodes")
    return scan_graphstorm_config.scan_graphstorm_config(
        path,
        name=values["name"] or "graph",
        unknown_nodes=values["unknown_nodes"] if unknown is ParameterSource.COMMANDLINE else "error",
        split_seed=values["split_seed"],
        **keywords_of(values, GraphChanges),
    )
