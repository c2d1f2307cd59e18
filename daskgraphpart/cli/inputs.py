"""The graph that a command reads: chunked, with changes if any, or what a plug-in reads by options of its own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.chunked.changeable import change
from daskgraphpart.chunked.changes import NO_CHANGES, GraphChanges
from daskgraphpart.chunked.graph import read_chunked
from daskgraphpart.cli.command_options import graph_of, options_of, refuse_options
from daskgraphpart.errors import PluginError
from daskgraphpart.options import chosen
from daskgraphpart.registry import Inputs, load_plugin, plugin_names
from daskgraphpart.sources.open_scan import open_scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def _plugins() -> Iterator[Inputs]:
    for name in plugin_names("inputs"):
        with suppress(PluginError):  # it is an error for who reads what only this plug-in can; all others do without
            yield load_plugin("inputs", name, Inputs)


PLUGINS = tuple(_plugins())
INPUT_OPTIONS = (*(option for of in PLUGINS for option in of.options), *options_of(GraphChanges, "Tables"))
INPUT_NAMES = tuple(name for of in PLUGINS for name in of.names)
"""Options that are not for chunked graphs."""
NEEDED = {
    "GRAPH": "Give a directory with metadata.json, a table of edges, or tables by --edges.",
    "OUT": "Give the directory to write, after GRAPH if there is one.",
}
"""What to type for an argument that is missing."""


def has_input(values: dict[str, Any]) -> bool:
    """Whether options name the graph, so that the command takes no path of one."""
    return any(of.is_given(values) for of in PLUGINS)


def input_of(values: dict[str, Any], given: Sequence[str | None], names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a command's graph or scan and its other arguments; GRAPH comes first unless options name it."""
    paths = [path for path in given if path is not None]
    wanted = names[1:] if has_input(values) else names
    if len(paths) > len(wanted):
        raise click.UsageError(f"Give {' and '.join(wanted)} only: --edges and --from replace {names[0]}.")
    if len(paths) < len(wanted):
        missing = wanted[len(paths)]
        raise click.UsageError(f"Missing {missing}. {NEEDED.get(missing, '')}".strip())
    first = None if has_input(values) else paths.pop(0)
    for of in PLUGINS:
        if (first is not None or of.is_given(values)) and (scan := of.scan_of(first, values)) is not None:
            return scan, paths
    assert first is not None, "a plug-in reads what its options name"
    refuse_options(INPUT_NAMES, "a job")
    is_changed = chosen(GraphChanges, values) != NO_CHANGES
    return (changed_graph if is_changed else graph_of)(first, values), paths


def changed_graph(in_dir: str, values: dict[str, Any]) -> Any:
    """Return the chunked graph of a directory, or what a plug-in reads there, with the requested changes."""
    graph = read_chunked(in_dir, confined=True) if values.get("confined") else open_scan(in_dir)
    return change(graph, chosen(GraphChanges, values))
