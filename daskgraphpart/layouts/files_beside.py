"""A layout with files copied beside it: ID maps of tables, and what their codes stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import read_pieces

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from daskgraphpart.layouts.layout import DispatchedGraph, FileLayout, GraphSizes, Layout
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.storage.paths import FilePath


@dataclass(frozen=True, slots=True, eq=False)
class FilesBeside:
    """Another layout, and files by path below the output."""

    layout: Layout
    beside: Mapping[str, FileLayout]

    def check_fits(self, schema: GraphSchema, num_parts: int | None) -> None:
        """Check the layout."""
        self.layout.check_fits(schema, num_parts)

    def wants(self, schema: GraphSchema) -> Collection[str]:
        """What the layout wants."""
        return self.layout.wants(schema)

    def part_files(self, sizes: GraphSizes, part: int) -> Mapping[str, FileLayout]:
        """Lay out the files of one part."""
        return self.layout.part_files(sizes, part)

    def graph_files(self, schema: GraphSchema) -> Mapping[str, FileLayout]:
        """Lay out the whole graph's files, and those beside."""
        return {**self.layout.graph_files(schema), **self.beside}

    def descriptions(self, schema: GraphSchema) -> tuple[str, ...]:
        """Name what describes the files."""
        return self.layout.descriptions(schema)

    def finish(self, graph: DispatchedGraph) -> None:
        """Write what describes the files."""
        self.layout.finish(graph)


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """Encodes nothing; copies a file."""

    source: FilePath

    def __call__(self, _: Mapping[str, Any], path: str) -> None:
        """Copy the file."""
        with whole_file(path) as temporary, open(temporary, "wb") as file:
            file.writelines(read_pieces(self.source))
