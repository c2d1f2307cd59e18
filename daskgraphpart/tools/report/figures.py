"""The noun `Figures`: what was counted in partitions, and what follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daskgraphpart.public import Public

if TYPE_CHECKING:
    from daskgraphpart.storage.region import Region

    NodeRegions: TypeAlias = Sequence[Mapping[str, Mapping[str, Region]]]
    """Node data of each part, by type and name."""

FORMAT, VERSION = "daskgraphpart report", 1
MAX_MATRIX = 256
"""Parts of which the edges between each two are counted: what is held would grow with their square."""


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Classes of one type's nodes; `key` is ``<ntype>/<name>``.

    `counts`, int64 (parts, classes), has the non-negative values that occur, ascending; `unlabelled`, int64 (parts,),
    counts negative ones.
    """

    key: str
    classes: tuple[int, ...]
    counts: np.ndarray
    unlabelled: np.ndarray

    @property
    def total_variation(self) -> tuple[float | None, ...]:
        """Distance of each part's distribution of classes from the graph's.

        Half the sum of absolute differences, 0 to 1; None for parts without labelled nodes.
        """
        total = self.counts.sum()
        overall = self.counts.sum(axis=0) / max(1, total)
        return tuple(float(np.abs(row / row.sum() - overall).sum() / 2) if row.sum() else None for row in self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        return {
            "classes": list(self.classes),
            "all": self.counts.sum(axis=0).tolist(),
            "by_part": self.counts.tolist(),
            "unlabelled_by_part": self.unlabelled.tolist(),
            "total_variation_by_part": list(self.total_variation),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Fetching:
    """What trainers fetch, by sampling; arrays are by part."""

    fanouts: tuple[int, ...]
    batch_size: int
    network: float  # bits per second
    seeds: np.ndarray  # int64 (parts,): training nodes; all nodes without a mask
    num_batches: np.ndarray  # int64 (parts,): sampled batches
    input_nodes: np.ndarray  # int64 (parts,): distinct input nodes of each batch, summed up
    remote_nodes: np.ndarray  # int64 (parts,): those that other parts own
    remote_nbytes: np.ndarray  # int64 (parts,): bytes of their features, without masks and labels
    hot_rows: np.ndarray  # int64 (parts,): rows that would lie beside the part, chosen in other epochs
    cold_nodes: np.ndarray  # int64 (parts,): remote nodes that are none of these
    cold_nbytes: np.ndarray  # int64 (parts,): bytes of their features
    inputs_from: np.ndarray | None  # int64 (parts, parts): input nodes by owner, and part; None of too many parts
    has_masks: bool
    num_nodes: int  # of the graph

    @property
    def by_part(self) -> dict[str, np.ndarray]:
        """Figures of each part, (parts,) each: rows, bytes and seconds are of an epoch."""
        nbytes = self.per_epoch(self.remote_nbytes)
        return {
            "training_nodes": self.seeds,
            "batches": -(-self.seeds // self.batch_size),
            "sampled_batches": self.num_batches,
            "input_nodes": self.input_nodes / np.maximum(self.num_batches, 1),  # of a batch, distinct
            "remote_share": self.remote_nodes / np.maximum(self.input_nodes, 1),
            "rows_per_epoch": self.per_epoch(self.remote_nodes),
            "bytes_per_epoch": nbytes,
            "seconds_per_epoch": 8 * nbytes / self.network,
        }

    def per_epoch(self, counts: np.ndarray) -> np.ndarray:
        """Counts of the sampled batches as those of an epoch, int64 (parts,)."""
        per_epoch: np.ndarray = np.rint(counts * self._scale).astype(np.int64)
        return per_epoch

    @property
    def share(self) -> float:
        """Share of all trainers' input nodes that other parts own."""
        return self._share_of(self.remote_nodes)

    @property
    def cold_share(self) -> float:
        """Share of all trainers' input nodes that are still fetched with hot rows beside each part."""
        return self._share_of(self.cold_nodes)

    @property
    def random_share(self) -> float:
        """About the share with a random assignment: seeds are a trainer's own, and so are fewer of all other nodes."""
        seeds = np.minimum(self.num_batches * self.batch_size, self.seeds)
        others = self.num_nodes - seeds / np.maximum(self.num_batches, 1)
        foreign = np.minimum(self.num_nodes * (1 - 1 / len(self.seeds)) / np.maximum(others, 1), 1)
        return self._share_of((self.input_nodes - seeds) * foreign)

    def _share_of(self, counts: np.ndarray) -> float:
        return share(float((counts * self._scale).sum()), float((self.input_nodes * self._scale).sum()))

    @property
    def _scale(self) -> np.ndarray:
        """Epochs per sampled batches, float64 (parts,)."""
        scale: np.ndarray = self.seeds / np.maximum(np.minimum(self.num_batches * self.batch_size, self.seeds), 1)
        return scale

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        of = self.by_part
        hot = {"rows_per_epoch": self.per_epoch(self.cold_nodes), "bytes_per_epoch": self.per_epoch(self.cold_nbytes)}
        return {
            "fanouts": list(self.fanouts),
            "batch_size": self.batch_size,
            "training_nodes": "masks" if self.has_masks else "all nodes",
            "remote_share": self.share,
            "remote_share_of_random_parts": self.random_share,
            "worst_part": int(of["remote_share"].argmax()),
            "bytes_per_epoch": int(of["bytes_per_epoch"].sum()),
            "network_bits_per_second": self.network,
            **_by_part(of),
            "rows_by_owner_and_part": None if self.inputs_from is None else self.inputs_from.tolist(),
            "with_hot_rows": {
                "remote_share": self.cold_share,
                "bytes_per_epoch": int(hot["bytes_per_epoch"].sum()),
                **_by_part({"hot_rows": self.hot_rows, **hot}),
            },
        }


@dataclass(frozen=True, eq=False, repr=False)
class Figures(Public):
    """What was counted in partitions, and what follows; arrays are by part."""

    graph_name: str  # name of the graph
    halo_hops: int  # from the partition config
    ntypes: tuple[str, ...]  # node types
    etypes: tuple[str, ...]  # canonical edge types
    inner_nodes: np.ndarray  # int64 (parts, node types): own nodes
    # int64 (parts, node types): foreign sources of own edges, that is halo nodes of one hop
    halo_nodes: np.ndarray
    # int64 (parts, node types): all foreign nodes; more than `halo_nodes` with several hops or out edges
    stored_halo_nodes: np.ndarray
    owned_edges: np.ndarray  # int64 (parts, edge types): own edges
    cut_edges: np.ndarray  # int64 (parts, edge types): own edges with a foreign source
    # int64 (parts, parts): edges by owner of source (row) and destination (column); (0, 0) above `MAX_MATRIX` parts
    edge_matrix: np.ndarray
    # int64 (parts, bins): nodes by in-degree: bin 0 is degree 0, bin b is 2 ** (b - 1) to 2 ** b - 1
    in_degrees: np.ndarray
    max_in_degrees: np.ndarray  # int64 (parts,): largest in-degree
    labels: tuple[Labels, ...]  # classes of nodes
    masks: Mapping[str, np.ndarray]  # int64 (parts,) each: marked nodes, by ``<ntype>/<name>``
    file_sizes: Mapping[str, np.ndarray]  # int64 (parts,) each: bytes on disk, by file name
    notes: tuple[str, ...] = ()  # what was not counted, and why
    sampling: Fetching | None = None  # what training fetches, if requested
    # path, method, options, constraints, date and version, if known
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
    def num_cut_edges(self) -> int:
        """Edges whose ends have different owners."""
        return int(self.cut_edges.sum())

    @property
    def cut_share(self) -> float:
        """Share of edges that are cut."""
        return share(self.num_cut_edges, self.num_edges)

    @property
    def communication_volume(self) -> int:
        """Sum over nodes of the number of other parts that hold it as a halo node of one hop."""
        return int(self.halo_nodes.sum())

    @property
    def replication_factor(self) -> float:
        """Own nodes and one-hop halo nodes / nodes of the graph."""
        return 1 + share(self.communication_volume, self.num_nodes)

    @property
    def stored_replication_factor(self) -> float:
        """Nodes in all parts / nodes of the graph."""
        return 1 + share(int(self.stored_halo_nodes.sum()), self.num_nodes)

    @property
    def has_more_halo(self) -> bool:
        """Whether parts hold halo nodes beyond one hop of in-edges."""
        return bool((self.stored_halo_nodes > self.halo_nodes).any())

    @property
    def nbytes(self) -> np.ndarray:
        """Bytes on disk, int64 (parts,)."""
        return sum(self.file_sizes.values(), np.zeros(self.num_parts, np.int64))

    @cached_property
    def measures(self) -> Mapping[str, np.ndarray]:
        """Everything that should be even, int64 (parts,) each.

        Keys are ``nodes``, ``nodes of <ntype>``, ``edges``, ``edges of <etype>``, ``halo nodes``, ``cut edges``,
        ``labelled <ntype>/<name>``, ``<ntype>/<mask>`` and ``bytes``.
        """
        by_name = {"nodes": self.inner_nodes.sum(axis=1)}
        if len(self.ntypes) > 1:
            by_name |= {f"nodes of {ntype}": self.inner_nodes[:, i] for i, ntype in enumerate(self.ntypes)}
        by_name["edges"] = self.owned_edges.sum(axis=1)
        if len(self.etypes) > 1:
            by_name |= {f"edges of {etype}": self.owned_edges[:, i] for i, etype in enumerate(self.etypes)}
        by_name["halo nodes"] = self.halo_nodes.sum(axis=1)
        by_name["cut edges"] = self.cut_edges.sum(axis=1)
        by_name |= {f"labelled {labels.key}": labels.counts.sum(axis=1) for labels in self.labels}
        return {**by_name, **self.masks, "bytes": self.nbytes}

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as lists, numbers and text, as in ``daskgraphpart report --format json``.

        Lists over parts are in part order. Keys stay while `VERSION` does; new ones may come.
        """
        edges, cut = self.owned_edges.sum(axis=0).tolist(), self.cut_edges.sum(axis=0).tolist()
        cut_by_type = {
            etype: {"num_edges": edges[i], "num_cut_edges": cut[i], "cut_share": share(cut[i], edges[i])}
            for i, etype in enumerate(self.etypes)
        }
        return {
            "format": FORMAT,
            "version": VERSION,
            "about": dict(self.about),
            "graph_name": self.graph_name,
            "num_parts": self.num_parts,
            "num_nodes": self.num_nodes,
            "num_edges": self.num_edges,
            "halo_hops": self.halo_hops,
            "num_nodes_per_type": _by_type(self.ntypes, self.inner_nodes.sum(axis=0)),
            "num_edges_per_type": _by_type(self.etypes, self.owned_edges.sum(axis=0)),
            "edge_cut": {
                "num_cut_edges": self.num_cut_edges,
                "cut_share": self.cut_share,
                "by_edge_type": cut_by_type,
            },
            "communication_volume": self.communication_volume,
            "replication_factor": self.replication_factor,
            "stored_replication_factor": self.stored_replication_factor,
            "halo": {
                "by_part": self.halo_nodes.sum(axis=1).tolist(),
                "by_type": _by_type(self.ntypes, self.halo_nodes.T),
                "stored_by_part": self.stored_halo_nodes.sum(axis=1).tolist(),
                "stored_by_type": _by_type(self.ntypes, self.stored_halo_nodes.T),
            },
            "balance": {
                name: {"by_part": values.tolist(), "max_over_mean": balance(values)}
                for name, values in self.measures.items()
            },
            "edge_matrix": self.edge_matrix.tolist(),
            "in_degrees": {
                "least_of_bin": [0, *(1 << (b - 1) for b in range(1, self.in_degrees.shape[1]))],
                "all": self.in_degrees.sum(axis=0).tolist(),
                "by_part": self.in_degrees.tolist(),
                "max_by_part": self.max_in_degrees.tolist(),
            },
            "labels": {labels.key: labels.to_dict() for labels in self.labels},
            "masks": {key: counts.tolist() for key, counts in self.masks.items()},
            "files": {name: sizes.tolist() for name, sizes in self.file_sizes.items()},
            "notes": list(self.notes),
            **({} if self.sampling is None else {"sampling": self.sampling.to_dict()}),
        }


def share(count: float, total: float) -> float:
    """Return `count` over `total`; 0 if both are 0."""
    return count / total if total else 0.0


def balance(values: np.ndarray) -> float:
    """Largest over average; 1 if all are zero."""
    total = int(values.sum())
    return int(values.max()) * len(values) / total if total else 1.0


def _by_type(names: tuple[str, ...], counts: np.ndarray) -> dict[str, Any]:
    return dict(zip(names, counts.tolist(), strict=True))


def _by_part(counts: Mapping[str, np.ndarray]) -> dict[str, list[Any]]:
    return {f"{name}_by_part": of.tolist() for name, of in counts.items()}
