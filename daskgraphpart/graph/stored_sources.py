"""The sources that sources are made of: find those without inputs, and put others in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.source import Source

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph


def stored_sources(source: Source) -> Iterator[Source]:
    """Yield the sources without inputs that a source reads, or itself."""
    if not source.inputs:
        yield source
    for one in source.inputs:
        yield from stored_sources(one)


def replace_stored_sources(graph: Graph, others: Mapping[Source, Source]) -> Graph:
    """Return a graph that reads other sources in place of some, wherever these are read."""
    if not others:
        return graph
    replaced_by: dict[Any, Any] = dict(others)

    def replaced(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(replaced, value))
        if not isinstance(value, Source) or not (value.inputs or value in replaced_by):
            return value
        if value not in replaced_by:
            view: Any = value
            assert hasattr(view, "__dataclass_fields__"), f"{type(view).__name__} has inputs: make it a dataclass"
            replaced_by[value] = replace(view, **{of.name: replaced(getattr(view, of.name)) for of in fields(view)})
        return replaced_by[value]

    return replace(
        graph,
        edge_sources={etype: replaced(source) for etype, source in graph.edge_sources.items()},
        data_sources={
            of: {name: replaced(rows) for name, rows in data.items()} for of, data in graph.data_sources.items()
        },
    )


def describe_views(source: Source) -> Any:
    """Describe the views on a source as JSON, for the job's identity."""
    return [type(source).__name__, *map(describe_views, source.inputs)] if source.inputs else ""
