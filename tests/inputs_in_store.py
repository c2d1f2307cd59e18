"""Graphs of every kind, whose files are in a directory here or in a store."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import stored_tables

import daskgraphpart

if TYPE_CHECKING:
    from collections.abc import Callable

    from daskgraphpart import Graph, Scan


def inputs(place: str, options: dict[str, Any] | None) -> dict[str, Callable[[], Graph | Scan]]:
    """By kind, how to open it."""

    def chunked() -> Graph:
        return daskgraphpart.read_chunked(f"{place}/graph", storage_options=options)

    def frame() -> Any:
        return dd.read_parquet(f"{place}/edges.parquet", storage_options=options)

    return {
        "chunked": chunked,
        "changed": lambda: chunked().without_duplicates(),
        "tables": lambda: stored_tables.scan(tempfile.mkdtemp()),
        "frame": lambda: daskgraphpart.from_edges(frame()),
        "mapped": lambda: daskgraphpart.scan_tables({"a:b:a": frame()}, map_ids=True),
    }
