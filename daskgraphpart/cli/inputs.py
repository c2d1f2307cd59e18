"""The graph that a command reads: chunked, with changes if any, or in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from daskgraphpart.cli import command_inputs
from daskgraphpart.cli.command_inputs import is_given
from daskgraphpart.cli.command_options import graph_of, options_of, refuse_options
from daskgraphpart.graph.graph import read_chunked
from daskgraphpart.graph.graph_methods import change
from daskgraphpart.graph.transforms.changes import NO_CHANGES, GraphChanges
from daskgraphpart.options import chosen
from daskgraphpart.readers.open_scan import open_scan

INPUT_OPTIONS = (*command_inputs.OPTIONS, *options_of(GraphChanges, "Tables"))
INPUT_NAMES = (*command_inputs.NAMES, "name")
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
    if (scan := command_inputs.scan_of(first, values)) is not None:
        return scan, paths
    assert first is not None, "what options name is tables"
    refuse_options(INPUT_NAMES, "a job")
    is_changed = chosen(GraphChanges, values) != NO_CHANGES
    return (changed_graph if is_changed else graph_of)(first, values), paths


def changed_graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return the chunked graph of a directory, or what a plug-in reads there, with the requested changes."""
    graph = read_chunked(in_dir, confined=True) if values.get("confined") else open_scan(in_dir)
    return change(graph, chosen(GraphChanges, values))
