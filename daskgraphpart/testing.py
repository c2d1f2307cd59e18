"""Suites that hold what other packages bring to its contract; `pytest` runs them.

Nothing of `pytest` is imported here: a suite is a class whose methods are tests.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from daskgraphpart.engine.resources import Resources
from daskgraphpart.errors import LayoutError, OptionError
from daskgraphpart.graph.scan import Scan
from daskgraphpart.jobs.assign_function import assign
from daskgraphpart.jobs.partition_function import partition
from daskgraphpart.method import Method, find_method
from daskgraphpart.options import stated_options
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.readers.objects.from_edges import from_edges
from daskgraphpart.registry import load_class
from daskgraphpart.tools.verification.verify_partitions import verify

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.jobs.owners import Assignment

GROUPS, NODES_OF_GROUP, EDGES_OF_NODE = 8, 60, 6
HEAVY = 1 << 20
ONE_CORE = Resources(1 << 30, "threads")


class MethodSuite:
    """What every method does. Inherit in a test module, and say which by its name; the package must be installed.

    Examples
    --------
    >>> class TestMine(MethodSuite):
    ...     method = "mine"
    """

    method: str
    """Name of the method, as registered."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Further keywords of `assign`, for all tests."""
    keeps_limits: ClassVar[bool] = True
    """Whether parts of a graph whose nodes all weigh 1 are always within the limits."""
    looks_at_weights: ClassVar[bool] = True
    """Whether the weights of edges, if there are any, decide what is cut."""

    def assigned(self, graph: Graph, num_parts: int, **how: Any) -> Assignment:
        """Assign a graph by the method, and check the record of owners."""
        where = {"memory": "1GB", "workers": 2, "cluster": "threads", "progress": False, **how}
        assignment = assign(graph, num_parts, **{"method": self.method, "balance": "nodes", **self.options, **where})
        assert (assignment.method, assignment.num_parts) == (self.method, num_parts)
        return assignment

    def test_every_node_of_any_graph_has_an_owner(self) -> None:
        """Of graphs without edges, with self-loops and parallel edges, of several types, and of one part, too."""
        some, ends = np.arange(7), (np.array([0, 0, 1, 2, 2, 5]), np.array([0, 1, 0, 3, 3, 5]))
        typed = {"a:to:b": (some, some[::-1]), "b:to:b": ends}
        graphs = [
            from_edges({"n:r:n": ends}, num_nodes=9),
            from_edges({"n:r:n": (some[:0], some[:0])}, num_nodes=9),
            from_edges(typed, num_nodes={"a": 7, "b": 9, "c": 4}),
            groups(),
        ]
        for graph in graphs:
            for num_parts in (1, 3):
                assignment = self.assigned(graph, num_parts)  # checks what the method returns
                for ntype, count in zip(graph.schema.ntypes, np.diff(graph.schema.homo_starts), strict=True):
                    owners = assignment.owners[ntype].compute()
                    assert owners.shape == (count,)
                    assert owners.max(initial=0) < num_parts

    def test_owners_are_the_same_in_each_run(self) -> None:
        """Whatever the memory and the workers of the job are: a job that resumes relies on it."""
        how: list[dict[str, Any]] = [{}, {}, {"workers": 1}, {"memory": "4GB"}, {"cluster": "processes"}]
        first, *others = [self.assigned(groups(), 4, **of).owners["n"].compute() for of in how]
        for owners in others:
            np.testing.assert_array_equal(owners, first)

    def test_options_of_its_own_are_taken_by_name(self) -> None:
        """Those that it states, whose defaults change nothing; another one is refused with the names of all."""
        stated = stated_options(load_class("methods", self.method, Method))
        given = {"method_options": {name: of.default for name, of in stated.items()}}
        owners = [self.assigned(groups(), 4, **how).owners["n"].compute() for how in ({}, given)]
        np.testing.assert_array_equal(*owners)
        with suppress(OptionError):
            AssignOptions(self.method, method_options={"no such option": 1})
            raise AssertionError("an unknown option is refused")

    def test_memory_is_known_before_and_grows_with_the_graph(self) -> None:
        """It is a number of bytes that no smaller graph exceeds."""
        method = find_method(AssignOptions(self.method, **self.options))
        sizes = [(10, 20, 1), (10_000, 20, 1), (10_000, 100_000, 1), (10_000, 100_000, 3)]
        needs = [method.memory(*size) for size in sizes]
        assert needs == sorted(needs)

    def test_limits_are_kept(self) -> None:
        """No part has more nodes than the tolerance allows, where that is easy."""
        for num_parts in (2, 5) if self.keeps_limits else ():
            report = self.assigned(groups(), num_parts, balance="nodes=0.1,edges").quality
            assert report.balance_of("nodes").is_kept, report.constraints

    def test_groups_are_found(self) -> None:
        """Of a graph of groups with few edges between them, a method that reads edges cuts less than chance does."""
        options = AssignOptions(self.method, **self.options)
        if not options.counts_nodes:
            assert self.assigned(groups(), 4).quality.cut_share < 0.5

    def test_heavy_edges_are_kept(self) -> None:
        """Of two ways to group nodes, the one with heavy edges wins, though it has fewer."""
        if self.looks_at_weights and not AssignOptions(self.method, **self.options).counts_nodes:
            weighted = self.assigned(groups(weight=HEAVY), 4, edge_weight="n:r:n/weight").quality.weighted
            assert weighted is not None
            assert weighted.share < 0.5


class LayoutSuite:
    """What every layout does. Inherit in a test module, and say which by its name; the package must be installed.

    Examples
    --------
    >>> class TestMine(LayoutSuite):
    ...     layout = "mine"
    """

    layout: str
    """Name of the layout, as registered."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Its own options."""
    num_parts: ClassVar[int] = 3
    """A number of parts that it can hold."""

    def written(self, graph: Graph, out: Path, num_parts: int = 0, **how: Any) -> dict[str, bytes]:
        """Partition a graph at random; return the content of all files by path."""
        where = {"memory": "1GB", "workers": 2, "cluster": "threads", "progress": False, **how}
        layouts: dict[str, Any] = {"layout": self.layout, "layout_options": self.options}
        partition(graph, out, num_parts or self.num_parts, method="random", **layouts, **where)
        return contents(out)

    def test_graphs_of_any_kind_are_written_or_refused_before_work(self, tmp_path: Path) -> None:
        """Whether types have edges, features and masks, or none; what is refused leaves nothing."""
        written = 0
        for name, graph in {"typed": typed(), "plain": plain(), "empty": plain(num_edges=0)}.items():
            for num_parts in {1, self.num_parts}:
                out = tmp_path / f"{name}-{num_parts}"
                try:
                    assert self.written(graph, out, num_parts)
                    written += 1
                except OptionError:
                    assert not contents(out)
                else:
                    assert verify(None, out, memory="1GB", cluster="threads").ok
        assert written > 0

    def test_files_are_the_same_in_each_run(self, tmp_path: Path) -> None:
        """Whatever the workers, the scheduler and the staging of the job are."""
        expected = self.written(typed(), tmp_path / "0")
        how: list[dict[str, Any]] = [
            {"workers": 1},
            {"cluster": "processes"},
            {"workspace_options": {"staging": "zarr"}},
        ]
        for number, of in enumerate(how, 1):
            assert self.written(typed(), tmp_path / str(number), **of) == expected

    def test_every_file_is_in_a_directory_of_its_name_and_has_a_checksum(self, tmp_path: Path) -> None:
        """One by one they are damaged and lost: `verify` names each."""
        files = self.written(typed(), tmp_path / "out")
        for path, content in files.items():
            assert path.startswith(f"{self.layout}/")
            file = tmp_path / "out" / path
            for damaged in (content + b"?", bytes([content[0] ^ 1]) + content[1:] if content else b"?", None):
                file.unlink()
                if damaged is not None:
                    file.write_bytes(damaged)
                with suppress(LayoutError):  # of the file that says that there are partitions
                    assert not verify(None, tmp_path / "out", memory="1GB", cluster="threads").ok, path
                file.write_bytes(content)
        assert verify(None, tmp_path / "out", memory="1GB", cluster="threads").ok

    def test_nothing_is_left_of_what_is_overwritten(self, tmp_path: Path) -> None:
        """With fewer types and features, the files are those of a run into an empty directory."""
        expected = self.written(plain(), tmp_path / "fresh")
        self.written(typed(), tmp_path / "out")
        (tmp_path / "out" / self.layout / "notes.txt").write_text("not ours")
        files = self.written(plain(), tmp_path / "out", overwrite=True)
        assert files == {**expected, f"{self.layout}/notes.txt": b"not ours"}

    def test_other_layouts_are_not_changed(self, tmp_path: Path) -> None:
        """Beside files of DGL, both are as if written alone."""
        expected = self.written(typed(), tmp_path / "alone")
        how: dict[str, Any] = {"method": "random", "memory": "1GB", "cluster": "threads", "progress": False}
        partition(typed(), tmp_path / "dgl", self.num_parts, **how)
        both = ("dgl", self.layout)
        partition(typed(), tmp_path / "both", self.num_parts, layout=both, layout_options=self.options, **how)
        assert contents(tmp_path / "both") == {**contents(tmp_path / "dgl"), **expected}


class ReaderSuite:
    r"""What every reader does. Inherit in a test module, and write an example; the package must be installed.

    Examples
    --------
    >>> class TestMine(ReaderSuite):
    ...     reader = "mine"
    ...
    ...     def example(self, directory):
    ...         (directory / "graph.mine").write_text("0 1\n1 2\n")
    ...         return directory / "graph.mine", dgp.from_edges({"_N:_E:_N": ([0, 1], [1, 2])}, num_nodes=3)
    """

    reader: str
    """Name of the reader, as registered."""

    def example(self, directory: Path) -> tuple[Any, Graph]:
        """Write files; return what a user gives for them, and the graph that they hold."""
        raise NotImplementedError

    def opened(self, directory: Path) -> tuple[Any, Scan, Graph]:
        """Open the example by the reader."""
        given, expected = self.example(directory)
        scan = load_class("readers", self.reader, Scan).open(given)
        assert isinstance(scan, Scan)
        return given, scan, expected

    def test_it_leaves_to_others_what_is_not_its_own(self, tmp_path: Path) -> None:
        """Whatever a user may give in place of a graph, and without reading it."""
        opener = load_class("readers", self.reader, Scan).open
        for other in (None, 7, "no/such/file.odd", tmp_path, b"", np.arange(4), {}, [], object(), plain()):
            assert opener(other) is None

    def test_it_says_what_it_depends_on(self, tmp_path: Path) -> None:
        """Its identity is JSON, and its files are there: an unfinished job compares them."""
        _, scan, _ = self.opened(tmp_path)
        assert json.loads(json.dumps(scan.identity())) == scan.identity()
        assert scan.files
        assert repr(scan)

    def test_the_graph_is_the_one_in_the_files(self, tmp_path: Path) -> None:
        """Types, counts, edges and features; types and counts are known without the rows, too."""
        _, scan, expected = self.opened(tmp_path)
        graph = scan.collect(memory="1GB")
        assert scan.collect_schema() == graph.schema
        assert graph.schema.row_types == expected.schema.row_types
        for rows, wanted in zip(_rows(graph), _rows(expected), strict=True):
            np.testing.assert_array_equal(rows, wanted)

    def test_jobs_take_it_as_they_take_the_graph(self, tmp_path: Path) -> None:
        """Partitions have the same bytes, whatever the memory and the workers of the job are."""
        given, scan, expected = self.opened(tmp_path)
        how: dict[str, Any] = {"method": "random", "progress": False, "layout_options": {"config_name": "graph.json"}}
        partition(expected, tmp_path / "expected", 3, cluster="threads", memory="1GB", **how)
        where: list[dict[str, Any]] = [{"cluster": "threads"}, {"cluster": "processes", "workers": 2}, {"workers": 1}]
        for number, of in enumerate(where):
            partition(given, tmp_path / str(number), 3, memory="1GB", **of, **how)
            assert contents(tmp_path / str(number)) == contents(tmp_path / "expected")
            report = verify(expected, tmp_path / str(number), cluster="threads", memory="1GB")
            assert report.ok, report
        assert scan.with_reverse_edges().collect(memory="1GB").schema.etypes


def groups(weight: int = 0) -> Graph:
    """Make a graph of groups of nodes; weights, if any, are those of edges inside groups, beside as many light ones."""
    rng, num_nodes = np.random.default_rng(0), GROUPS * NODES_OF_GROUP
    src = np.repeat(rng.permutation(num_nodes), EDGES_OF_NODE)  # groups are no ranges of IDs
    dst = src % GROUPS + GROUPS * rng.integers(0, NODES_OF_GROUP, src.size)
    others = np.repeat(np.arange(num_nodes), EDGES_OF_NODE if weight else 1)
    ends = np.concatenate([src, others]), np.concatenate([dst, rng.permutation(others)])
    weights = np.repeat(np.array([max(1, weight), 1]), [src.size, others.size])
    return from_edges({"n:r:n": ends}, num_nodes=num_nodes, edge_data={"weight": weights})


def contents(directory: Path) -> dict[str, bytes]:
    """Content of all files below a directory, by path."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def plain(num_edges: int = 40) -> Graph:
    """Make a graph of one type, without features."""
    edges = np.arange(num_edges)
    return from_edges({"n:r:n": (edges * 7 % 12, edges * 5 % 11)}, num_nodes=12, name="graph")


def typed() -> Graph:
    """Make a graph of several types, one without edges, with features of several dtypes and shapes, and a mask."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 12, 60), rng.integers(0, 3, 60)
    nodes = {
        "feat": rng.random((12, 3), np.float32),
        "label": rng.integers(0, 4, 12),
        "train_mask": rng.random(12) < 0.5,
    }
    none = np.empty(0, np.int64)
    return from_edges(
        {"u:r:v": ends, "v:s:u": (none, none)},
        num_nodes={"u": 12, "v": 3},
        node_data={"u": nodes},
        edge_data={"u:r:v": {"feat": rng.random((60, 2), np.float32)}},
        name="graph",
    )


def _rows(graph: Graph) -> Iterator[np.ndarray]:
    """Yield all edges and features, in the order of types and names."""
    for etype in graph.schema.etypes:
        yield graph.edge_sources[etype].read(0, graph.edge_sources[etype].shape[0])
    for of in graph.schema.row_types:
        for spec in of.data:
            source = graph.data_sources[of.name][spec.name]
            yield source.read(0, source.shape[0])
