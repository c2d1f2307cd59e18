"""`GraphSources`: what passes read of a graph: its schema, and the sources of its edges and features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from daskgraphpart.errors import OptionError
from daskgraphpart.graph.companion_files import codes_name, map_name
from daskgraphpart.storage.paths import Location, to_path

if TYPE_CHECKING:
    from daskgraphpart.schema import GraphSchema
    from daskgraphpart.source import FilePath, Source

    Selected: TypeAlias = tuple[dict[str, Source], dict[str, dict[str, Source]]]  # edges and features
    Select: TypeAlias = Callable[["GraphSources", dict[str, FilePath]], Selected]  # may change the companions

SourcesT = TypeVar("SourcesT", bound="GraphSources")


@dataclass(frozen=True, slots=True, repr=False)
class GraphSources:
    """A graph as passes read it."""

    schema: GraphSchema
    # what the passes read, by canonical edge type, in the order of edge IDs
    edge_sources: Mapping[str, Source]
    # by node type or canonical edge type, and name, in the order of IDs
    data_sources: Mapping[str, Mapping[str, Source]] = field(default_factory=dict)
    directory: str = ""
    # by node type, the files of GSProcessing's `raw_id_mappings`: node IDs before it
    raw_ids: Mapping[str, tuple[FilePath, ...]] = field(default_factory=dict)
    # by name, files that go with the graph: maps of IDs, what codes stand for, what GraphStorm's commands read
    companions: Mapping[str, FilePath] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the graph."""
        return self.schema.name

    @property
    def sources(self) -> tuple[Source, ...]:
        """Sources of all edges and features, by type."""
        return tuple(source for of_type in self.schema.row_types for source in self._sources_of(of_type.name))

    @property
    def files(self) -> tuple[FilePath, ...]:
        """All data files."""
        return tuple(path for source in self.sources for path in source.paths)

    @property
    def nbytes(self) -> int:
        """Size of all data files, and of arrays in memory."""
        return sum(source.nbytes for source in self.sources)

    @property
    def id_maps(self) -> dict[str, Location]:
        """By node type, the file whose row i is the user's own ID of node i, if there is one."""
        names = {ntype: map_name(ntype) for ntype in self.schema.ntypes}
        return {ntype: to_path(self.companions[name]) for ntype, name in names.items() if name in self.companions}

    def refuse_codes(self, type_name: str, feature: str, place: str) -> None:
        """Refuse a feature as a weight if its numbers are codes of strings."""
        if codes_name(type_name, feature) in self.companions:
            what, hint = f"{type_name}/{feature} holds text, which cannot be a weight", "name a column of numbers"
            raise OptionError(what, place=place, hint=hint)

    def _sources_of(self, type_name: str) -> list[Source]:
        edges = [self.edge_sources[type_name]] if type_name in self.edge_sources else []
        return [*edges, *self.data_sources.get(type_name, {}).values()]
