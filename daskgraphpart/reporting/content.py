"""Figures as a dictionary with stable keys: what JSON holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from daskgraphpart.reporting.figures import balance, share

if TYPE_CHECKING:
    import numpy as np

    from daskgraphpart.reporting.figures import Figures, Labels

FORMAT, VERSION = "daskgraphpart report", 1


def report_content(figures: Figures) -> dict[str, Any]:
    """Return all figures as lists, numbers and text.

    Lists over parts are in the order of the parts. Keys stay as they are while `VERSION` does; keys may be added.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "about": dict(figures.about),
        "graph_name": figures.graph_name,
        "num_parts": figures.num_parts,
        "num_nodes": figures.num_nodes,
        "num_edges": figures.num_edges,
        "halo_hops": figures.halo_hops,
        "num_nodes_per_type": _by_type(figures.ntypes, figures.inner_nodes.sum(axis=0)),
        "num_edges_per_type": _by_type(figures.etypes, figures.owned_edges.sum(axis=0)),
        "edge_cut": _cut(figures),
        "communication_volume": figures.communication_volume,
        "replication_factor": figures.replication_factor,
        "stored_replication_factor": figures.stored_replication_factor,
        "halo": {
            "by_part": figures.halo_nodes.sum(axis=1).tolist(),
            "by_type": _by_type(figures.ntypes, figures.halo_nodes.T),
            "stored_by_part": figures.stored_halo_nodes.sum(axis=1).tolist(),
            "stored_by_type": _by_type(figures.ntypes, figures.stored_halo_nodes.T),
        },
        "balance": {
            name: {"by_part": values.tolist(), "max_over_mean": balance(values)}
            for name, values in figures.measures.items()
        },
        "edge_matrix": figures.edge_matrix.tolist(),
        "in_degrees": {
            "least_of_bin": [0, *(1 << (b - 1) for b in range(1, figures.in_degrees.shape[1]))],
            "all": figures.in_degrees.sum(axis=0).tolist(),
            "by_part": figures.in_degrees.tolist(),
            "max_by_part": figures.max_in_degrees.tolist(),
        },
        "labels": {labels.key: _labels(labels) for labels in figures.labels},
        "masks": {key: counts.tolist() for key, counts in figures.masks.items()},
        "files": {name: sizes.tolist() for name, sizes in figures.file_sizes.items()},
        "notes": list(figures.notes),
    }


def _by_type(names: tuple[str, ...], counts: np.ndarray) -> dict[str, Any]:
    return dict(zip(names, counts.tolist(), strict=True))


def _cut(figures: Figures) -> dict[str, Any]:
    edges, cut = figures.owned_edges.sum(axis=0).tolist(), figures.cut_edges.sum(axis=0).tolist()
    by_type = {
        etype: {"num_edges": edges[i], "num_cut_edges": cut[i], "cut_share": share(cut[i], edges[i])}
        for i, etype in enumerate(figures.etypes)
    }
    return {"num_cut_edges": figures.num_cut_edges, "cut_share": figures.cut_share, "by_edge_type": by_type}


def _labels(labels: Labels) -> dict[str, Any]:
    return {
        "classes": list(labels.classes),
        "all": labels.counts.sum(axis=0).tolist(),
        "by_part": labels.counts.tolist(),
        "unlabelled_by_part": labels.unlabelled.tolist(),
        "total_variation_by_part": list(labels.total_variation),
    }
