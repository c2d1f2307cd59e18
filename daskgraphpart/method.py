"""The contract of a method: from a weighted graph, or from counts of nodes, to the part of every node.

A package registers a subclass of `Method` by its name in the group ``daskgraphpart.methods``; ours stand beside it, in
`daskgraphpart.registry`. `daskgraphpart.testing.MethodSuite` holds one to its contract; so does `CheckedMethod`, which
stands between a job and a method, so that nothing else has to ask whose a method is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from daskgraphpart.options import check_options, from_text, stated_options
from daskgraphpart.registry import blaming, broken_contract, load_class

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from daskgraphpart.schema import GraphSchema


class RowBlock(Protocol):
    """Rows of the nodes ``start, ..., stop - 1`` of a graph, in memory or in a file."""

    @property
    def start(self) -> int:
        """First node."""

    @property
    def stop(self) -> int:
        """Node after the last."""

    def read(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read starts of rows int64 (nodes + 1,), neighbours (arcs,), and weights (arcs,), or (0,) if all are 1."""


class WeightedRows(Protocol):
    """An undirected graph: each edge is in the rows of both of its ends, without self-loops or parallel edges."""

    @property
    def blocks(self) -> Sequence[RowBlock]:
        """All rows, in the order of nodes."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""

    @property
    def num_arcs(self) -> int:
        """Neighbours in all rows: twice the number of edges."""

    def node_weights(self, start: int, stop: int) -> np.ndarray:
        """Weights of the nodes ``start, ..., stop - 1``, int64 (nodes, constraints)."""


@dataclass(frozen=True, slots=True, eq=False)
class MethodJob:
    """What to assign: all nodes of a graph, or some by their count.

    Nodes are numbered over all types, in their order. Only the graph, the limits, the number of parts and the seed may
    change owners: `memory`, `threads` and `directory` are other ones in each run.

    Attributes
    ----------
    schema : GraphSchema
        Types of the graph, with counts.
    num_parts : int
        Number of parts.
    seed : int
        What the user gave as `seed`.
    nodes : range
        Whose parts to return: all, or some of one type if the method reads no edges.
    graph : WeightedRows, optional
        The graph; None if the method reads no edges.
    limits : np.ndarray
        Most that a part may weigh, int64 (constraints,).
    num_isolated : int
        Nodes without neighbours.
    is_impossible : bool
        Whether a single node is above what the user tolerates; the limits have room for it.
    directory : Path
        Empty directory for temporary files.
    memory : int
        Bytes for the whole job.
    threads : int
        Threads to use.
    """

    schema: GraphSchema
    num_parts: int
    seed: int
    nodes: range
    graph: WeightedRows | None = None
    limits: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    num_isolated: int = 0
    is_impossible: bool = False
    directory: Path | None = None
    memory: int = 0
    threads: int = 1
    told: list[str] = field(default_factory=list)

    def tell(self, how: str) -> None:
        """Say what ran, for summaries and reports, such as ``metis (k-way, seed 0)``; default: the method's name."""
        self.told.append(how)

    def types(self) -> Iterator[tuple[str, range]]:
        """Yield each node type that `nodes` has some of, and their numbers within the type."""
        starts = self.schema.homo_starts
        for name, first, last in zip(self.schema.ntypes, starts[:-1], starts[1:], strict=True):
            start, stop = max(self.nodes.start, first), min(self.nodes.stop, last)
            if start < stop:
                yield name, range(int(start - first), int(stop - first))

    @property
    def node_weights(self) -> np.ndarray:
        """Weights of all nodes, int64 (nodes, constraints)."""
        assert self.graph is not None, "the method reads edges"
        return self.graph.node_weights(0, len(self.nodes))

    def csr(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Read the whole graph: starts of rows int64 (nodes + 1,), neighbours (arcs,), weights (arcs,)."""
        assert self.graph is not None, "the method reads edges"
        blocks, first = [block.read() for block in self.graph.blocks], 0
        starts, neighbours, weights = [np.zeros(1, np.int64)], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for indptr, indices, values in blocks:
            starts.append(indptr[1:] + first)
            neighbours.append(indices)
            weights.append(values if values.size else np.ones(indices.size, np.int32))
            first += indices.size
        return np.concatenate(starts), np.concatenate(neighbours), np.concatenate(weights)


@dataclass(frozen=True)
class Method(ABC):
    """A way to assign nodes to parts, chosen by ``--method NAME``.

    daskgraphpart makes the graph from the input, weighs nodes by `balance`, calls `owners` in one task, checks what it
    returns, refines it if the user asks for that, and measures it.
    """

    reads_edges: ClassVar[bool] = True
    """If not, `owners` is called without a graph, for some nodes of one type at a time, by many tasks."""

    @classmethod
    def of(cls, options: Any) -> Self:
        """Make the method for a job with these `AssignOptions`; its fields made by `options.option` are its own."""
        stated, given = stated_options(cls), options.method_options or {}
        method = cls(**{name: from_text(value, stated[name].metadata["kind"]) for name, value in given.items()})
        check_options(method)
        return method

    @abstractmethod
    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        """Return the bytes that `owners` needs; a job with less is refused before it starts.

        Raise an `OptionError` here for what the method cannot do, such as without a library.
        """

    @abstractmethod
    def owners(self, job: MethodJob) -> np.ndarray[Any, Any]:
        """Return the part of each node of ``job.nodes``, whole numbers (nodes,) from 0: the same ones each time."""


def find_method(options: Any) -> CheckedMethod:
    """Make the method that `AssignOptions` name; raise a `PluginError` if it is not there, or fails."""
    name = str(options.method)
    kind = load_class("methods", name, Method)
    with blaming("methods", name, "a method"):
        return CheckedMethod(name, kind.of(options))


@dataclass(frozen=True, slots=True)
class CheckedMethod(Method):
    """A method whose answers are checked."""

    name: str
    method: Method

    def memory(self, num_nodes: int, num_arcs: int, num_constraints: int) -> int:
        """Ask the method."""
        with blaming("methods", self.name, "memory"):
            nbytes: Any = self.method.memory(num_nodes, num_arcs, num_constraints)
        if not isinstance(nbytes, (int, np.integer)) or nbytes < 0:
            raise broken_contract("methods", self.name, "memory returns a number of bytes", repr(nbytes))
        return int(nbytes)

    def owners(self, job: MethodJob) -> np.ndarray:
        """Ask the method; return int32 (nodes,)."""
        with blaming("methods", self.name, "owners"):
            given: Any = self.method.owners(job)
            parts = np.asarray(given)
        expected = f"owners returns a whole number from 0 to {job.num_parts - 1} for each of {len(job.nodes):,} nodes"
        if parts.shape != (len(job.nodes),) or parts.dtype.kind not in "iu":
            what = f"{parts.dtype} {parts.shape}" if isinstance(given, np.ndarray) else type(given).__name__
            raise broken_contract("methods", self.name, expected, what)
        outside = np.flatnonzero((parts < 0) | (parts >= job.num_parts))
        if outside.size:
            where = f"{parts[outside[0]]} for node {job.nodes[outside[0]]:,}"
            raise broken_contract("methods", self.name, expected, where)
        return parts.astype(np.int32, copy=False)
