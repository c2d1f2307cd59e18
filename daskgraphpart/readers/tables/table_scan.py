"""`TableScan`: the tables of a graph, that is files, frames and arrays, how to read them, and changes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import SMALLEST_DATABASE_MEMORY
from daskgraphpart.errors import GraphPartError, OptionError, collect_fault, option_name, raise_together
from daskgraphpart.graph.metadata import is_table
from daskgraphpart.graph.scan import ROWS_OF, Scan, described_files
from daskgraphpart.graph.transforms.changes import (
    NO_CHANGES,
    GraphChanges,
    describe_changes,
    join_changes,
    outline_changes,
)
from daskgraphpart.options import stated_options
from daskgraphpart.readers.identify_collections import lasting_token
from daskgraphpart.readers.tables.describe.table_files import TableFile, are_files, find_files
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables
from daskgraphpart.schema import DEFAULT_ETYPE, check_name
from daskgraphpart.source import Source
from daskgraphpart.storage.paths import is_path

if TYPE_CHECKING:
    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.graph.scan_job import ScanJob


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableScan(Scan):
    """Tables as for `scan_tables`."""

    tables: Tables
    name: str = "graph"
    reading: ReadOptions = field(default_factory=ReadOptions)
    changes: GraphChanges = NO_CHANGES

    def __post_init__(self) -> None:
        check_name(self.name, "graph name", OptionError, place="--name")
        given = {name: dict(getattr(self.tables, name) or {}) for name in stated_options(Tables)}
        object.__setattr__(self, "tables", replace(self.tables, **given))

    @classmethod
    def open(cls, given: Any) -> Scan | None:
        """Return a scan of a file, pattern or directory of edges."""
        return cls(Tables({DEFAULT_ETYPE: given})) if is_path(given) and is_table(given) else None

    @property
    def smallest_memory(self) -> int:
        """Bytes without which nothing can be read."""
        return SMALLEST_DATABASE_MEMORY

    @property
    def maps_ids(self) -> bool:
        """Whether nodes are in the order of their IDs, which nobody has seen yet."""
        if self.reading.map_ids is not None:
            return self.reading.map_ids
        from daskgraphpart.readers.tables.describe.describe_tables import describe_tables  # imports pyarrow

        if not all(map(os.path.isfile, self.files)):
            return True  # nobody can look into a pipe twice
        with tempfile.TemporaryDirectory() as directory:
            return bool(describe_tables(Path(directory), self.tables, self.reading, self.changes).options.map_ids)

    @property
    def source_types(self) -> tuple[type, ...]:
        """Classes of sources that only tables have."""
        from daskgraphpart.readers.tables.load_tables import SOURCE_TYPES  # imports duckdb

        return SOURCE_TYPES

    def read(self, job: ScanJob) -> Graph:
        """Read the tables, and change the graph."""
        from daskgraphpart.readers.tables.load_tables import load_tables  # imports duckdb

        return load_tables(self.name, self.tables, self.reading, self.changes, job)

    def outline(self) -> list[tuple[str, str]]:
        """Say what is known: what was given for each type, features, files if there are all, and changes."""
        lines = [("edges", f"{etype}: {_words(given)}") for etype, given in self.tables.edges.items()]
        lines += [("nodes", f"{ntype}: {_words(given)}") for ntype, given in self.tables.nodes.items()]
        lines += [("data", f"{of_type}/{name}: {_words(given)}") for _, of_type, name, given in self.tables.features]
        with suppress(GraphPartError):
            lines.append(("files", described_files(self.files)))
        return [*lines, *outline_changes(self.changes)]

    def _scanned(self, changes: GraphChanges) -> Scan:
        joined = join_changes(self.changes, changes)
        return Scan._scanned(self, changes) if joined is None else replace(self, changes=joined)

    @property
    def files(self) -> list[str]:
        """All files, found but not opened."""
        listed, faults = dict[str, None](), list[GraphPartError]()
        for place, (*_, given) in self._named:
            given = given[0] if place == "--nodes" and isinstance(given, tuple) else given
            with collect_fault(faults):
                files = find_files(given, place, self.reading) if are_files(given) else ()
                paths = given.paths if isinstance(given, Source) else ()
                listed |= dict.fromkeys([*(file.path for file in files), *map(str, paths)])
        raise_together(faults)
        for earlier in (self.reading.ids_from, self.reading.codes_from):
            if earlier is not None:
                listed |= dict.fromkeys(map(str, sorted(Path(earlier).rglob("*.parquet"))))
        return [*listed]

    def identity(self) -> dict[str, Any]:
        """Describe the result, as a flat dictionary of JSON values: options, and what was given for each type."""
        options = {option_name(name): repr(value) for name, value in asdict(self.reading).items()}
        counts = {"--num-nodes": self.tables.num_nodes, "--num-edges": self.tables.num_edges}
        given = {f"{place} {'/'.join(of)}": _shown(given) for place, (*of, given) in self._named}
        return {
            "--name": self.name,
            **options,
            **{name: repr(sorted(of.items())) for name, of in counts.items()},
            **given,
            **self._rows,
            **describe_changes(self.changes),
            "order of tables": [*given],
        }

    @property
    def _rows(self) -> dict[str, list[str]]:
        """Names of all rows that are in no files."""
        named = {f"{place} {'/'.join(of)}": given for place, (*of, given) in self._named if not are_files(given)}
        return {
            f"{ROWS_OF} {what}": [*given.tokens] if isinstance(given, Source) else [lasting_token(given, what)]
            for what, given in named.items()
        }

    @property
    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yield everything given as files or rows: its option, then its type, any name of a feature, and itself."""
        yield from (("--edges", item) for item in self.tables.edges.items())
        yield from (("--nodes", item) for item in self.tables.nodes.items())
        yield from ((place, values) for place, *values in self.tables.features)


def _shown(given: Any) -> Any:
    """JSON value that is equal for equal input."""
    if isinstance(given, (tuple, list)):
        return [_shown(item) for item in given]
    if isinstance(given, TableFile):
        return [given.path, *given.columns]
    if isinstance(given, (str, os.PathLike)):
        return str(given)
    return "rows"


def _words(given: Any) -> str:
    """Name what was given, without looking into it."""
    if is_path(given):
        return str(given)
    if isinstance(given, TableFile):
        return str(given.path)
    if isinstance(given, (tuple, list)) and given:
        more = f" and {len(given) - 1:,} more" if given[1:] else ""
        return f"{_words(given[0])}{more}"
    return f"{type(given).__module__.partition('.')[0]}.{type(given).__name__}"
