"""`Scan`: A graph that has not been read: its files, its identity, and how to read it."""

from __future__ import annotations

import os
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.engine.resources import SMALLEST_TASK_MEMORY, Resources, detect_resources
from daskgraphpart.engine.runner import Runner, open_runner
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.formats import InputFile
from daskgraphpart.graph.graph import Graph
from daskgraphpart.graph.graph_methods import GraphMethods
from daskgraphpart.graph.read_csv import Lines
from daskgraphpart.graph.rows import (
    CastRows,
    ConstantRows,
    EdgeEnds,
    JoinedRows,
    KeptRows,
    ReversedEdges,
    SelfLoops,
    SlicedRows,
)
from daskgraphpart.graph.scan_job import ScanJob
from daskgraphpart.graph.share_arrays import store_arrays
from daskgraphpart.graph.sources import FileEdges, FileRows, LineEdges
from daskgraphpart.keywords import check_keywords
from daskgraphpart.registry import blaming
from daskgraphpart.schema import DataSpec, EdgeType, GraphSchema, NodeType
from daskgraphpart.storage.faults import environment_faults
from daskgraphpart.storage.files import delete_tree, directory_on_disk
from daskgraphpart.storage.paths import opener_like
from daskgraphpart.storage.region import Region
from daskgraphpart.storage.scratch import lasting_directory, scratch_directory
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy import Cluster

    from daskgraphpart.engine.progress import Progress
    from daskgraphpart.graph.transforms.changes import GraphChanges
    from daskgraphpart.storage.paths import Location

ROWS_OF = "rows of"
"""How names of rows in memory begin in what a job depends on."""
STAGED_TYPES = (
    Graph, GraphSchema, NodeType, EdgeType, DataSpec, InputFile, Region, FileRows, FileEdges, ConstantRows, EdgeEnds,
    JoinedRows, KeptRows, ReversedEdges, SlicedRows, CastRows, SelfLoops, LineEdges, Lines,
)  # fmt: skip
"""Of what the graph that a scan stages is made, for the journal."""


class Scan(GraphMethods["Scan"]):
    """How to get a graph: files, options and changes, of which nothing is read yet.

    Every job takes a scan where it takes a graph, and reads it as its first step. `collect` gives the graph itself.

    Attributes
    ----------
    name : str
        Name of the graph.
    files : list of str
        All files, found but not opened.

    Examples
    --------
    >>> scan = dgp.scan_tables("follows.tsv", map_ids=True).without_duplicates()
    >>> scan
    Scan of 'graph', not read yet; collect() reads it
    edges      _N:_E:_N: follows.tsv
    files      follows.tsv, 24 B
    then       deduplicate
    >>> graph = scan.collect(memory="1GB")
    """

    __slots__ = ()
    __all__ = (*GraphMethods.__all__, "collect", "collect_schema", "files", "name")

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the graph."""

    @property
    @abstractmethod
    def files(self) -> list[str]:
        """All files, found but not opened."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Describe the graph, as a flat dictionary of JSON values: what besides the files it depends on."""

    @abstractmethod
    def read(self, job: ScanJob) -> Graph:
        """Read the graph. Any range of its rows can be read, until the directory of the job is removed."""

    @abstractmethod
    def outline(self) -> list[tuple[str, str]]:
        """Say what is known without reading, as pairs of words; a size follows each file."""

    @property
    def source_types(self) -> tuple[type, ...]:
        """Classes of sources that the graph has besides those of chunked graphs: dataclasses, for the journal."""
        return ()

    @property
    def smallest_memory(self) -> int:
        """Bytes without which nothing can be read."""
        return SMALLEST_TASK_MEMORY

    @property
    def known(self) -> Graph | None:
        """The graph, if it is there already."""
        return None

    @property
    def maps_ids(self) -> bool:
        """Whether nodes are in the order of their IDs, which nobody has seen yet."""
        return False

    @property
    def directory(self) -> Location | None:
        """Directory of the metadata, if the graph is a chunked graph."""
        return None

    @property
    def paths(self) -> list[Location]:
        """All files that exist."""
        return [Path(path) for path in self.files if os.path.isfile(path)]

    @classmethod
    def open(cls, given: Any) -> Scan | None:
        """Return a scan of a path or object that users may give in place of a graph; None of any other."""
        return None

    @check_keywords
    def collect(
        self,
        *,
        memory: str | int | None = None,
        cluster: str | Client | Cluster | None = None,
        workers: int | None = None,
        workspace: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Graph:
        """Read the graph. Its rows lie in a temporary directory until Python exits, in `workspace` if you give one.

        Parameters
        ----------
        memory, cluster, workers, workspace, progress : optional
            As in `partition`.

        Returns
        -------
        Graph
            The graph; give it to several jobs, which then need not read the scan again.

        Raises
        ------
        InputFileError
            If files or rows are wrong.
        OptionError
            If an option or a change does not fit what is read.

        Examples
        --------
        >>> graph = dgp.scan_tables("follows.tsv", map_ids=True).collect(memory="1GB", workers=2)
        >>> graph.edges["_N:_E:_N"].compute()
           src  dst
        0    0    1
        1    1    2
        2    0    1
        """
        resources = detect_resources(memory, cluster, workers, workspace=workspace).limited(self.smallest_memory)
        with environment_faults(), open_runner(resources, progress) as runner:
            directory = lasting_directory(resources.workspace)
            runner.check_shared([("workspace", directory, "")])
            return self.stage(directory / "tables", runner)

    @check_keywords
    def collect_schema(
        self,
        *,
        memory: str | int | None = None,
        cluster: str | Client | Cluster | None = None,
        workers: int | None = None,
        workspace: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> GraphSchema:
        """Read what tells the types, counts and features of the graph, and no more.

        Parameters
        ----------
        memory, cluster, workers, workspace, progress : optional
            As in `partition`.

        Returns
        -------
        GraphSchema
            That of the graph that `collect` returns.

        Raises
        ------
        InputFileError
            If files or rows are wrong.
        OptionError
            If an option or a change does not fit what is read.

        Examples
        --------
        >>> dgp.scan_tables("follows.tsv", map_ids=True).collect_schema().num_nodes
        3
        """
        resources = detect_resources(memory, cluster, workers, workspace=workspace)
        with environment_faults(), self.counted(resources, progress=progress) as graph:
            return graph.schema

    def stage(self, directory: Path, runner: Runner, edge_weights: tuple[str, ...] = ()) -> Graph:
        """Read the graph as a step of a job; all its rows then lie in files, those that it makes in the directory."""

        def work() -> Graph:
            delete_tree(directory)  # left by a killed run
            with directory_on_disk(directory) as here:
                job = ScanJob(here, runner, edge_weights=edge_weights, seen=directory)
                return store_arrays(self.read_for(job), directory)

        return runner.step("read-tables", work, (*STAGED_TYPES, *self.source_types), opener_like(lambda: self.paths))

    @contextmanager
    def counted(
        self, resources: Resources, edge_weights: tuple[str, ...] = (), progress: Progress | None = None
    ) -> Iterator[Graph]:
        """Yield the graph with all counts; its feature rows may be missing."""
        with (
            scratch_directory(resources.workspace or tempfile.gettempdir()) as scratch,
            open_runner(replace(resources, cluster="threads"), progress) as runner,
        ):
            job = ScanJob(scratch / "tables", runner, counts_only=True, edge_weights=edge_weights)
            yield self.read_for(job)

    @contextmanager
    def open_graph(self, resources: Resources, progress: Progress | None = None) -> Iterator[Graph]:
        """Yield the graph, read into a temporary directory by threads."""
        with scratch_directory(resources.workspace or tempfile.gettempdir()) as scratch:
            with open_runner(replace(resources, cluster="threads"), progress) as runner:
                graph = self.stage(scratch / "tables", runner)
            yield graph

    def read_for(self, job: ScanJob) -> Graph:
        """Do so in new directories, and name the plug-in if it returns anything else."""
        with blaming("readers", type(self), "a Graph"):
            return self.read(job.started())

    def _viewed(self, changes: GraphChanges) -> Scan:
        return self._scanned(changes)

    if not TYPE_CHECKING:  # a checker knows the names

        def __getattr__(self, name: str) -> Any:
            if name in ("schema", "edges", "node_data", "edge_data"):
                raise AttributeError(f"a scan has no {name}, because nothing is read yet: collect() it first")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        lines = [f"{what:<9}  {words}" for what, words in self.outline()]
        return "\n".join([f"Scan of {self.name!r}, not read yet; collect() reads it", *lines])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def check_read(given: Any) -> None:
    """Refuse a scan where the types of a graph must be known."""
    if isinstance(given, Scan):
        what, hint = "a scan has not read the types of its graph, which are needed here", "collect() it first"
        raise OptionError(what, found=f"a scan of {given.name!r}", hint=hint)


def described_files(files: list[str]) -> str:
    """Say how many files there are, which is the first, and how large they are together."""
    sizes = [os.path.getsize(path) for path in files if os.path.isfile(path)]
    more = f" and {len(files) - 1:,} more" if files[1:] else ""
    return f"{files[0]}{more}, {format_size(sum(sizes))}" if files else "none"
