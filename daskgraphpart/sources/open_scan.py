"""The one door: open what a user gives in place of a graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.graph_scan import GraphScan
from daskgraphpart.chunked.metadata import is_table
from daskgraphpart.chunked.scan import Scan
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.registry import WHERE_FROM, Objects, load_plugin, plugin_names
from daskgraphpart.storage.paths import is_remote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.engine.resources import Resources


def open_scan(given: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None) -> Scan:
    """Return a scan of a graph, a scan, the path of a chunked graph, or what a plug-in can open."""
    if isinstance(given, Scan):
        return given
    if isinstance(given, Graph):
        return GraphScan(given)
    is_path = isinstance(given, (str, os.PathLike)) or is_remote(given)
    if is_path and not str(given).endswith(".json") and not is_table(given):
        return GraphScan(read_chunked(given, storage_options=storage_options))
    if not is_path and (graph := _open_object(given, resources or detect_resources(), {})) is not None:
        return GraphScan(graph)
    for name in plugin_names("scans"):
        found: Scan | None = load_plugin("scans", name, Scan).open(given)
        if found is not None:
            return found
    if is_path:
        return GraphScan(read_chunked(given, storage_options=storage_options))
    raise _not_a_graph(given)


def complete_graph(given: Any, resources: Resources, **further: Any) -> Graph:
    """Return the graph of an object, of a path or of another graph, with what `registry.Objects` takes further."""
    graph = _open_object(given, resources, further)
    if graph is None:
        raise _not_a_graph(given)
    return graph


def _open_object(given: Any, resources: Resources, further: Mapping[str, Any]) -> Graph | None:
    graphs = (objects.open(given, resources, **further) for objects in _objects())
    return next((graph for graph in graphs if graph is not None), None)


def _not_a_graph(given: Any) -> OptionError:
    expected = ", ".join(["a Graph", *(objects.kinds for objects in _objects())])
    found, hint = f"{type(given).__module__}.{type(given).__name__}", None if plugin_names("objects") else WHERE_FROM
    return OptionError("not a graph", expected=expected, found=found, hint=hint)


def _objects() -> Iterator[Objects]:
    return (load_plugin("objects", name, Objects) for name in plugin_names("objects"))
