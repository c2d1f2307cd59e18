"""Changes of a graph before a job: made like those of tables, by `change_graph`."""

from __future__ import annotations

import shutil
import zlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.metadata import METADATA_FILE
from daskgraphpart.chunked.output import CATEGORIES, ID_MAP, LABEL_COUNTS, TRANSFORMED
from daskgraphpart.chunked.partitions import count_lines
from daskgraphpart.sources.changed_types import check_changes
from daskgraphpart.sources.options import NO_CHANGES, GraphChanges
from daskgraphpart.sources.stage_frames import stage_collections
from daskgraphpart.sources.stage_tables import graph_of_tables
from daskgraphpart.sources.table_spec import TableSpec
from daskgraphpart.storage.files import cached_listings, is_file, open_for_reading, signatures_of
from daskgraphpart.storage.paths import join_path, resolve_path, to_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from daskgraphpart.chunked.graph import Graph
    from daskgraphpart.engine.runner import Runner

BYTES_PER_BLOCK = 1 << 20
_ORDER = {"cast": 0, "split_by": 1, "add_reverse": 2, "copy_edata": 2, "remove_self_loops": 3, "deduplicate": 3}
"""When `change_graph` makes a change: one that comes later joins those before it, any other begins anew."""


def changed(graph: Graph | TableSpec, changes: GraphChanges) -> TableSpec:
    """Describe a changed graph; checks the changes as far as its types are known."""
    if isinstance(graph, TableSpec):
        before, now = ([_ORDER[name] for name in changes_made(of)] for of in (graph.changes, changes))
        is_later = max(before, default=-1) < min(now, default=4) or {*before, *now} == {3}
        made = changes_made(changes)
        selected = {name: made[name] for name, order in _ORDER.items() if order == 3 and name in made}
        # these types may not be there until others are split or reversed
        is_early = bool({1, 2} & {*before}) and any(etypes != ("",) for etypes in selected.values())
        if is_later and not is_early:
            made |= {name: (*getattr(graph.changes, name), *etypes) for name, etypes in selected.items()}
            return replace(graph, changes=replace(graph.changes, **made))
        return TableSpec(name=graph.name, changes=changes, builder=GraphBefore(graph))
    check_changes(changes, graph.schema.ntypes, graph.schema.etypes, graph.data_sources)
    return TableSpec(name=graph.schema.name, changes=changes, builder=GraphBefore(graph))


def changes_made(changes: GraphChanges) -> dict[str, Any]:
    """Return the changes that are set, by option."""
    nothing = asdict(NO_CHANGES)
    return {name: value for name, value in asdict(changes).items() if value != nothing[name]}


@dataclass(frozen=True, slots=True, eq=False)
class GraphBefore:
    """The graph before its changes: a `Builder`."""

    graph: Graph | TableSpec

    @property
    def files(self) -> list[str]:
        """All files, the metadata first."""
        if isinstance(self.graph, TableSpec):
            return self.graph.files
        directory = [join_path(to_path(self.graph.directory), METADATA_FILE)] if self.graph.directory else []
        return [str(path) for path in (*directory, *self.graph.files)]

    def identity(self) -> dict[str, Any]:
        """Describe the graph."""
        if isinstance(self.graph, TableSpec):
            return {"before": zlib.crc32(repr(sorted(self.graph.identity().items())).encode())}
        with cached_listings(to_path(self.graph.directory)):
            found = signatures_of(map(to_path, self.files))
        tokens = [token for source in self.graph.sources for token in source.tokens]
        return {**found, "schema": zlib.crc32(repr(self.graph.schema).encode()), "collections": tokens}

    def build(
        self, name: str, directory: Path, out: Path, runner: Runner, on_open: Callable[[list[str]], Any]
    ) -> Graph:
        """Return the graph with collections computed and lines counted."""
        directory = directory / "before"
        directory.mkdir()
        if isinstance(self.graph, TableSpec):
            return graph_of_tables(replace(self.graph, name=name), directory, out, runner, on_open)
        on_open(self.files)
        copy_maps(self.graph, out)
        graph = stage_collections(count_lines(self.graph, BYTES_PER_BLOCK, runner), directory, runner)
        return replace(graph, schema=replace(graph.schema, name=name))


def copy_maps(graph: Graph, out: Path) -> None:
    """Copy a chunked graph's ID maps and category codes."""
    if not graph.directory:
        return
    directory = resolve_path(graph.directory)
    names = [f"{ID_MAP}/{ntype}.parquet" for ntype in graph.schema.ntypes]
    names += [TRANSFORMED, *LABEL_COUNTS]
    names += [f"{CATEGORIES}/{t.name}/{spec.name}.parquet" for t in graph.schema.row_types for spec in t.data]
    for name in names:
        if is_file(join_path(directory, name)):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            with open_for_reading(join_path(directory, name)) as source, (out / name).open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
