"""Suites that hold what other packages bring to its contract; `pytest` runs them.

Nothing of `pytest` is imported here: a suite is a class whose methods are tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from daskgraphpart.jobs.assign_function import assign
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.partitioner.find_method import find_method
from daskgraphpart.readers.objects.from_edges import from_edges

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.graph.graph import Graph
    from daskgraphpart.jobs.owners import Assignment

GROUPS, NODES_OF_GROUP, EDGES_OF_NODE = 8, 60, 6
HEAVY = 1 << 20


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

    def test_memory_is_known_before_and_grows_with_the_graph(self) -> None:
        """It is a number of bytes that no smaller graph exceeds."""
        method = find_method(AssignOptions(self.method, **self.options))
        sizes = [(10, 20, 1), (10_000, 20, 1), (10_000, 100_000, 1), (10_000, 100_000, 3)]
        needs = [method.memory(*size) for size in sizes]
        assert needs == sorted(needs)

    def test_limits_are_kept(self) -> None:
        """No part has more nodes than the tolerance allows, where that is easy."""
        for num_parts in (2, 5) if self.keeps_limits else ():
            report = self.assigned(groups(), num_parts, imbalance=0.1).quality
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


def groups(weight: int = 0) -> Graph:
    """Make a graph of groups of nodes; weights, if any, are those of edges inside groups, beside as many light ones."""
    rng, num_nodes = np.random.default_rng(0), GROUPS * NODES_OF_GROUP
    src = np.repeat(rng.permutation(num_nodes), EDGES_OF_NODE)  # groups are no ranges of IDs
    dst = src % GROUPS + GROUPS * rng.integers(0, NODES_OF_GROUP, src.size)
    others = np.repeat(np.arange(num_nodes), EDGES_OF_NODE if weight else 1)
    ends = np.concatenate([src, others]), np.concatenate([dst, rng.permutation(others)])
    weights = np.repeat(np.array([max(1, weight), 1]), [src.size, others.size])
    return from_edges({"n:r:n": ends}, num_nodes=num_nodes, edge_data={"weight": weights})
