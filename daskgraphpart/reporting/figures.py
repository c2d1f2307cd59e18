"""The noun `Figures`: what was counted in partitions, and what follows from it by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Classes of the nodes of one type; `key` is ``<ntype>/<name>``.

    `counts` is int64 (parts, classes), by the values that occur and are not negative, ascending; `unlabelled`, int64
    (parts,), counts negative ones.
    """

    key: str
    classes: tuple[int, ...]
    counts: np.ndarray
    unlabelled: np.ndarray

    @property
    def total_variation(self) -> tuple[float | None, ...]:
        """How far each part's distribution of classes is from that of the graph.

        Half the sum of absolute differences, 0 to 1; None for parts without labelled nodes.
        """
        total = self.counts.sum()
        overall = self.counts.sum(axis=0) / max(1, total)
        return tuple(float(np.abs(row / row.sum() - overall).sum() / 2) if row.sum() else None for row in self.counts)


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of partitions; arrays are by part, in their order.

    Parameters
    ----------
    graph_name : str
        Name of the graph.
    halo_hops : int
        Hops of HALO nodes, by the partition config.
    ntypes, etypes : tuple of str
        Node types and canonical edge types.
    inner_nodes : int64 array (parts, node types)
        Nodes each part owns.
    halo_nodes : int64 array (parts, node types)
        Foreign nodes in which edges begin that the part owns: HALO of one hop.
    stored_halo_nodes : int64 array (parts, node types)
        All foreign nodes a part holds: more than `halo_nodes` if there are several hops, or out edges.
    owned_edges, cut_edges : int64 array (parts, edge types)
        Edges each part owns (those that end in its nodes), and those of them that begin in a node of another part.
    edge_matrix : int64 array (parts, parts)
        Edges by owner of the source (row) and owner of the destination (column).
    in_degrees : int64 array (parts, bins)
        Nodes by in-degree: bin 0 is for degree 0, bin b for degrees from 2 ** (b - 1) to 2 ** b - 1.
    max_in_degrees : int64 array (parts,)
        Largest in-degree.
    labels : tuple of Labels
        Classes of nodes.
    masks : mapping of str to int64 array (parts,)
        Marked nodes, by ``<ntype>/<name>``.
    file_sizes : mapping of str to int64 array (parts,)
        Bytes on disk by name of the file.
    notes : tuple of str
        What could not be counted, and why.
    about : mapping of str to str
        Path, method, options, version and date, where they are known.
    """

    graph_name: str
    halo_hops: int
    ntypes: tuple[str, ...]
    etypes: tuple[str, ...]
    inner_nodes: np.ndarray
    halo_nodes: np.ndarray
    stored_halo_nodes: np.ndarray
    owned_edges: np.ndarray
    cut_edges: np.ndarray
    edge_matrix: np.ndarray
    in_degrees: np.ndarray
    max_in_degrees: np.ndarray
    labels: tuple[Labels, ...]
    masks: Mapping[str, np.ndarray]
    file_sizes: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def num_parts(self) -> int:
        """Number of parts."""
        return len(self.inner_nodes)

    @property
    def num_nodes(self) -> int:
        """Number of nodes of the graph."""
        return int(self.inner_nodes.sum())

    @property
    def num_edges(self) -> int:
        """Number of edges of the graph."""
        return int(self.owned_edges.sum())

    @property
    def is_heterogeneous(self) -> bool:
        """Whether there is more than one node or edge type."""
        return len(self.ntypes) > 1 or len(self.etypes) > 1

    @property
    def num_cut_edges(self) -> int:
        """Edges whose ends have different owners."""
        return int(self.cut_edges.sum())

    @property
    def cut_share(self) -> float:
        """Share of edges that are cut."""
        return share(self.num_cut_edges, self.num_edges)

    @property
    def communication_volume(self) -> int:
        """Sum over all nodes of the number of other parts that hold it as HALO of one hop."""
        return int(self.halo_nodes.sum())

    @property
    def replication_factor(self) -> float:
        """Inner nodes and HALO nodes of one hop, for each node of the graph."""
        return 1 + share(self.communication_volume, self.num_nodes)

    @property
    def stored_replication_factor(self) -> float:
        """Nodes that all parts hold, for each node of the graph."""
        return 1 + share(int(self.stored_halo_nodes.sum()), self.num_nodes)

    @property
    def has_more_halo(self) -> bool:
        """Whether parts hold HALO nodes beyond one hop of in-edges."""
        return bool((self.stored_halo_nodes > self.halo_nodes).any())

    @property
    def nbytes(self) -> np.ndarray:
        """Bytes on disk, int64 (parts,)."""
        total = np.zeros(self.num_parts, np.int64)
        for sizes in self.file_sizes.values():
            total += sizes
        return total

    @cached_property
    def measures(self) -> Mapping[str, np.ndarray]:
        """All that should be even, int64 (parts,) each.

        Keys are ``nodes``, ``nodes of <ntype>``, ``edges``, ``edges of <etype>``, ``HALO nodes``, ``cut edges``,
        ``labelled <ntype>/<name>``, ``<ntype>/<mask>`` and ``bytes``.
        """
        found = {"nodes": self.inner_nodes.sum(axis=1)}
        if len(self.ntypes) > 1:
            found |= {f"nodes of {ntype}": self.inner_nodes[:, i] for i, ntype in enumerate(self.ntypes)}
        found["edges"] = self.owned_edges.sum(axis=1)
        if len(self.etypes) > 1:
            found |= {f"edges of {etype}": self.owned_edges[:, i] for i, etype in enumerate(self.etypes)}
        found["HALO nodes"] = self.halo_nodes.sum(axis=1)
        found["cut edges"] = self.cut_edges.sum(axis=1)
        found |= {f"labelled {labels.key}": labels.counts.sum(axis=1) for labels in self.labels}
        return {**found, **self.masks, "bytes": self.nbytes}


def share(count: int, total: int) -> float:
    """Return `count` over `total`; 0 if there is nothing."""
    return count / total if total else 0.0


def balance(values: np.ndarray) -> float:
    """Largest over average; 1 if all are zero."""
    total = int(values.sum())
    return int(values.max()) * len(values) / total if total else 1.0
