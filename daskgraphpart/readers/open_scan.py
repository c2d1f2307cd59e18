"""The one door: open what a user gives in place of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from daskgraphpart.engine.resources import Resources, detect_resources
from daskgraphpart.errors import GraphPartError, InputFileNotFoundError
from daskgraphpart.graph.graph import Graph, read_chunked
from daskgraphpart.graph.graph_scan import GraphScan
from daskgraphpart.graph.metadata import is_table
from daskgraphpart.graph.scan import Scan
from daskgraphpart.registry import first_answer
from daskgraphpart.storage.paths import is_path


def open_scan(given: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None) -> Scan:
    """Return a scan of a graph, a scan, the path of a chunked graph, or what a plug-in can open."""
    if isinstance(given, Scan):
        return given
    if isinstance(given, Graph):
        return GraphScan(given)
    is_named = is_path(given)
    if is_named and not str(given).endswith(".json") and not is_table(given):
        with suppress(InputFileNotFoundError):
            return GraphScan(read_chunked(given, storage_options=storage_options))
    if not is_named:
        from daskgraphpart.readers.objects.open_object import not_a_graph, open_object  # imports dask's collections

        if (graph := open_object(given, resources or detect_resources())) is not None:
            return GraphScan(graph)
    scan, fault = first_answer("readers", lambda kind: kind.open(given), Scan)
    if scan is not None:
        return scan
    if not is_named:
        raise fault or not_a_graph(given)
    try:
        return GraphScan(read_chunked(given, storage_options=storage_options))
    except GraphPartError:
        if fault is None:
            raise
    raise fault
