"""Turn tables into a graph: open and check, read into a database, map, change; rows go to temporary files.

In a job this is one step of the journal: a resumed run looks up the sources and reads the files.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.formats import InputFile
from daskgraphpart.chunked.graph import Graph
from daskgraphpart.chunked.rows import (
    ArrayRows,
    ConstantRows,
    EdgeEnds,
    JoinedRows,
    KeptRows,
    MadeRows,
    ReversedEdges,
    SlicedRows,
)
from daskgraphpart.chunked.sources import FileEdges, FileRows
from daskgraphpart.engine.resources import detect_resources
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.layouts.layout import raw_file_layout
from daskgraphpart.layouts.written_files import CATEGORIES, ID_MAP
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType
from daskgraphpart.source import Source
from daskgraphpart.sources.changed_types import check_changes
from daskgraphpart.sources.options import MIN_TABLE_MEMORY, NO_CHANGES
from daskgraphpart.storage.atomic import whole_file
from daskgraphpart.storage.checksums import read_pieces
from daskgraphpart.storage.region import Region, create_npy
from daskgraphpart.storage.scratch import scratch_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.engine.resources import Resources
    from daskgraphpart.engine.runner import Runner
    from daskgraphpart.layouts.layout import FileLayout
    from daskgraphpart.source import FilePath
    from daskgraphpart.sources.table_spec import TableSpec

BYTES_PER_PIECE = 4 << 20


def stage_tables(spec: TableSpec, directory: Path, runner: Runner, weights: tuple[str, ...] = ()) -> Graph:
    """Stage tables as a graph, with rows, ID maps and categories in a directory of the job.

    Features that are to be edge `weights` are checked as such, while their lines are known.
    """
    from daskgraphpart.sources.change_graph import CastRows  # imports duckdb
    from daskgraphpart.sources.plain_edges import TableLines, TextEdges
    from daskgraphpart.sources.split_sets import SetRows

    def work() -> Graph:
        shutil.rmtree(directory, ignore_errors=True)  # left by a killed run
        directory.mkdir(parents=True)
        graph = graph_of_tables(spec, directory, directory, runner, weights=weights)
        return settled(graph, directory)

    types = (
        Graph, GraphSchema, NodeType, EdgeType, DataSpec, InputFile, Region, FileRows, FileEdges, ConstantRows,
        EdgeEnds, JoinedRows, KeptRows, ReversedEdges, SetRows, SlicedRows, CastRows, TextEdges, TableLines,
    )  # fmt: skip
    return runner.step("read-tables", work, types)


def graph_of_tables(
    spec: TableSpec,
    directory: Path,
    out: Path,
    runner: Runner,
    on_open: Callable[[list[str]], Any] = lambda _: None,
    *,
    counts_only: bool = False,
    weights: tuple[str, ...] = (),
) -> Graph:
    """Read tables; temporary files go to `directory`, ID maps and categories to `out`.

    Calls `on_open` with all paths once all files are open and checked, before reading the first. With `counts_only`,
    rows that have to be written first are not, and cannot be read.
    """
    from daskgraphpart.sources.database import open_database
    from daskgraphpart.sources.edge_list_inputs import open_inputs
    from daskgraphpart.sources.edge_lists import read_graph
    from daskgraphpart.sources.plain_edges import scan_plain_edges
    from daskgraphpart.sources.read_table import TableJob
    from daskgraphpart.sources.stage_frames import write_frames
    from daskgraphpart.sources.tables import kinds_of_ids

    resources, progress = runner.resources.limited(MIN_TABLE_MEMORY), runner.progress
    if spec.builder is not None:
        with runner.for_tasks_of(MIN_TABLE_MEMORY) as limited:
            graph = spec.builder.build(spec.name, directory, out, limited, on_open)
        check_changes(spec.changes, graph.schema.ntypes, graph.schema.etypes, graph.data_sources)
    else:
        spec = write_frames(spec, directory, runner)
        with open_database(directory, resources) as connection:
            inputs = open_inputs(directory, spec)
            for note in inputs.notes:
                progress.note(note)
            on_open(inputs.paths)
            kinds, plain = kinds_of_ids(inputs), scan_plain_edges(inputs, runner)
            counts_only = counts_only and not spec.changes.read_edges
            job = TableJob(
                inputs, kinds, plain, connection, directory, out, resources.memory, progress, counts_only, weights
            )
            graph = read_graph(job, spec.name)
    graph = replace(graph, directory=str(out))  # rows are in files by now
    if spec.changes == NO_CHANGES:
        return graph
    from daskgraphpart.sources.change_graph import change_graph

    return change_graph(graph, spec.changes, out, directory, resources, progress)


def maps_beside(graph: Graph) -> dict[str, FileLayout]:
    """Files of a staged graph for its partitions: ID maps, and what feature codes stand for."""
    return {name: raw_file_layout((), partial(copy_file, path)) for name, path in _maps_of(graph)}


def keep_maps(graph: Graph, out: Path) -> Graph:
    """Copy a staged graph's ID maps and categories to a directory; return the graph with those."""
    for name, path in _maps_of(graph):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        copy_file(path, None, str(out / name))
    return replace(graph, directory=str(out))


def _maps_of(graph: Graph) -> list[tuple[str, str]]:
    directory = Path(graph.directory)
    paths = [path for name in (ID_MAP, CATEGORIES) for path in sorted((directory / name).rglob("*.parquet"))]
    return [(path.relative_to(directory).as_posix(), str(path)) for path in paths]


def copy_file(source: FilePath, _: Any, path: str) -> None:
    """Write a file beside partitions that is a copy of another."""
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.writelines(read_pieces(source))


@contextmanager
def counted_graph(spec: TableSpec, resources: Resources, weights: tuple[str, ...] = ()) -> Iterator[Graph]:
    """Yield the graph of tables, with ID maps in a temporary directory, but without the rows of which SQL is needed."""
    with (
        scratch_directory(resources.workspace or tempfile.gettempdir()) as scratch,
        open_runner(replace(resources, cluster="threads")) as runner,
    ):
        yield graph_of_tables(spec, scratch, scratch, runner, counts_only=True, weights=weights)


@contextmanager
def opened_graph(
    graph: Graph | TableSpec, resources: Resources | None = None, progress: Progress | None = None
) -> Iterator[Graph]:
    """Yield a graph, with tables, and arrays that other processes read, staged in a temporary directory."""
    resources = resources or detect_resources()
    if isinstance(graph, Graph) and not has_arrays(graph, resources):
        yield graph
        return
    with scratch_directory(resources.workspace or tempfile.gettempdir()) as scratch:
        if isinstance(graph, Graph):
            yield settled(graph, scratch)
            return
        with open_runner(replace(resources, cluster="threads"), progress) as runner:
            staged = stage_tables(graph, scratch / "tables", runner)
        yield staged


def has_arrays(graph: Graph, resources: Resources) -> bool:
    """Whether tasks in other processes cannot reach a graph's arrays."""
    is_here = resources.cluster in ("threads", "sync")
    return not is_here and not graph.directory and any(source.tokens for source in graph.sources if source.can_seek)


def settled(graph: Graph, directory: Path) -> Graph:
    """Write a graph's arrays in memory to files of a new directory; return the graph with those."""
    directory.mkdir(parents=True, exist_ok=True)
    made: dict[int, Any] = {}

    def settle(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(settle, value))
        if not isinstance(value, Source) or not value.can_seek:
            return value
        if id(value) not in made:
            made[id(value)] = value, _settled(value)
        return made[id(value)][1]

    def _settled(source: Any) -> Any:
        if isinstance(source, (ArrayRows, MadeRows)):
            return write_rows(source, directory / f"rows-{len(made)}.npy")
        inner = {field.name: settle(getattr(source, field.name)) for field in fields(source)}
        return replace(source, **inner)

    return replace(
        graph,
        edge_sources={etype: settle(source) for etype, source in graph.edge_sources.items()},
        data_sources={of: {n: settle(rows) for n, rows in data.items()} for of, data in graph.data_sources.items()},
    )


def write_rows(rows: Any, path: Path) -> Region:
    """Write rows into an npy file."""
    region = create_npy(path, rows.dtype, rows.shape)
    step = max(1, BYTES_PER_PIECE // max(1, region.row_nbytes))
    for start in range(0, region.num_rows, step):
        region.write(rows.read(start, min(start + step, region.num_rows)), start)
    return region
