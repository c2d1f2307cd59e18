"""A description of the tables of a graph: files, how to read them, and changes."""

from __future__ import annotations

import os
import zlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from daskgraphpart.chunked.graph import Graph, read_chunked
from daskgraphpart.chunked.metadata import is_table
from daskgraphpart.chunked.rows import token_of
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.errors import OptionError
from daskgraphpart.options import stated_options
from daskgraphpart.schema import DEFAULT_ETYPE, check_name
from daskgraphpart.source import Source
from daskgraphpart.sources.options import NO_CHANGES, GraphChanges, ReadOptions, Tables
from daskgraphpart.sources.split_sets import SPLIT
from daskgraphpart.sources.table_files import TableFile, are_files, find_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner


class Builder(Protocol):
    """Reads tables described by something other than `read_tables`, such as a config."""

    @property
    def files(self) -> list[str]:
        """All files, found but not opened."""

    def identity(self) -> dict[str, Any]:
        """Describe the result, as a flat dictionary of JSON values."""

    def build(
        self,
        name: str,
        directory: Path,
        out: Path,
        runner: Runner,
        on_open: Callable[[list[str]], Any],
    ) -> Graph:
        """Return the graph, with this name; temporary files go to `directory`, its other files to `out`."""


@dataclass(frozen=True, slots=True, eq=False)
class TableSpec(Tables):
    """Tables as for `read_tables`; the job opens, reads and stages them.

    With a `builder`, it alone describes them.
    """

    name: str = "graph"
    reading: ReadOptions = field(default_factory=ReadOptions)
    changes: GraphChanges = NO_CHANGES
    builder: Builder | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "graph name", OptionError, place="--name")
        for name in stated_options(Tables):
            object.__setattr__(self, name, dict(getattr(self, name) or {}))

    @property
    def files(self) -> list[str]:
        """All files, found but not opened."""
        if self.builder is not None:
            return self.builder.files
        found: dict[str, None] = {}
        for place, given in self._given:
            files = find_files(given, place, self.reading) if are_files(given) else ()
            paths = given.paths if isinstance(given, Source) else ()
            found |= dict.fromkeys([*(file.path for file in files), *map(str, paths)])
        for earlier in (self.reading.ids_from, self.reading.codes_from):
            if earlier is not None:
                found |= dict.fromkeys(map(str, sorted(Path(earlier).rglob("*.parquet"))))
        return [*found]

    @property
    def frames(self) -> list[Any]:
        """Frames and pairs of arrays, which are in no files."""
        return [given for _, given in self._given if not are_files(given) and not isinstance(given, Source)]

    @property
    def _given(self) -> Iterator[tuple[str, Any]]:
        """Yield everything given as files or rows, with its option."""
        for place, (*_, given) in self._named:
            yield place, given[0] if place == "--nodes" and isinstance(given, tuple) else given

    def identity(self) -> dict[str, Any]:
        """Describe the result, as a flat dictionary of JSON values: options, and a checksum of the rest."""
        options = {**asdict(self.reading), **asdict(self.changes)}
        found = {f"--{name.replace('_', '-')}": repr(value) for name, value in options.items()}
        counts = [sorted(dict(of).items()) for of in (self.num_nodes, self.num_edges)]
        shown = [self.name, counts, *((place, _shown(given)) for place, given in self._named)]
        if self.builder is not None:
            found |= self.builder.identity()
        return {**found, "tables": zlib.crc32(repr(shown).encode())}

    @property
    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yield the same with type and feature name."""
        yield from (("--edges", item) for item in self.edges.items())
        yield from (("--nodes", item) for item in self.nodes.items())
        yield from ((place, values) for place, *values in self.features)

    @property
    def features(self) -> Iterator[tuple[str, str, str, Any]]:
        """Yield every feature that is not in tables of edges or nodes: its option, type, name, and files or rows."""
        for place, data in (("--node-data", self.node_data), ("--edge-data", self.edge_data), ("--mask", self.masks)):
            for of_type, features in data.items():
                yield from ((place, of_type, name, given) for name, given in features.items())
        for ntype, given in self.split.items():
            yield "--split", ntype, SPLIT, given


def _shown(given: Any) -> Any:
    """Text that is equal for equal input."""
    if isinstance(given, (tuple, list)):
        return [_shown(item) for item in given]
    if isinstance(given, TableFile):
        return given.path, given.columns
    if isinstance(given, (str, os.PathLike)):
        return str(given)
    return given.tokens if isinstance(given, Source) else token_of(given)


def opened(
    graph: Any, storage_options: Mapping[str, Any] | None = None, resources: Resources | None = None
) -> Graph | TableSpec:
    """Open a graph unless it is open; a file, pattern or directory that is no graph is a table of edges."""
    if isinstance(graph, (Graph, TableSpec)):
        return getattr(graph, "spec", graph)
    if not isinstance(graph, (str, os.PathLike)):
        from daskgraphpart.sources.given_rows import open_given

        return open_given(graph, resources=resources or detect_resources())
    if is_table(graph):
        return TableSpec({DEFAULT_ETYPE: graph})
    return read_chunked(graph, storage_options=storage_options)
