"""The one door: open what a user gives in place of a graph."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.graph_scan import GraphScan
from daskgraphpart.chunked.metadata import is_table
from daskgraphpart.chunked.scan import Scan
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.registry import load_plugin, plugin_names
from daskgraphpart.sources.given import find_reader, not_a_graph
from daskgraphpart.sources.given_rows import open_given

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.engine.resources import Resources


def open_scan(given: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None) -> Scan:
    """Return a scan of a graph, a scan, a path, or an object that holds edges.

    A path is a chunked graph, an object holds edges in memory; anything else a plug-in can open.
    """
    if isinstance(given, Scan):
        return given
    if isinstance(given, Graph):
        return GraphScan(given)
    is_path = isinstance(given, (str, os.PathLike))
    if is_path and not os.fspath(given).endswith(".json") and not is_table(given):
        return GraphScan(read_chunked(given, storage_options=storage_options))
    if not is_path and find_reader(given) is not None:
        return GraphScan(open_given(given, resources=resources or detect_resources()))
    for name in plugin_names("scans"):
        found: Scan | None = load_plugin("scans", name, Scan).open(given)
        if found is not None:
            return found
    if is_path:
        return GraphScan(read_chunked(given, storage_options=storage_options))
    raise not_a_graph(given)
