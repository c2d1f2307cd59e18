"""Say in words what the figures mean, and explain the terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.reporting.figures import balance, share
from daskgraphpart.units import format_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.reporting.figures import Figures

EVEN, UNEVEN, SMALL = 1.105, 1.25, 0.6
"""A part may be so much larger than the average and be called balanced; so much, and be called nearly so. Parts
below the third are named."""

TERMS = {
    "edge cut": "edges whose two ends have different owners. Sampling across them fetches features from another part.",
    "HALO node": "a node that a part holds because one of its edges starts there, although another part owns it.",
    "replication factor": "nodes that all parts hold, inner and HALO, over the nodes of the graph.",
    "balance": "the largest part over the average. 1.00 is perfectly even.",
    "remote rows": "of the rows of features that a batch needs, those that another part owns, and sends.",
    "total variation": "how far the mix of classes in a part is from that of the graph: 0 is the same, 1 is disjoint.",
}


def verdict(report: Figures) -> str:
    """Return the most important facts in a few sentences."""
    return " ".join(_sentences(report))


def _sentences(report: Figures) -> Iterator[str]:
    if report.num_parts == 1:
        yield "One part holds the whole graph: nothing is cut, and nothing has to be balanced."
        return
    yield _balance(report)
    if not report.num_edges:
        yield "There are no edges to cut."
        return
    halo = share(report.communication_volume, report.num_nodes)
    copies = f"parts hold {halo:.2f} HALO nodes for each node that they own"
    yield f"{report.cut_share:.1%} of edges are cut, and {copies}."
    if report.sampling is not None:
        yield f"A trainer fetches {report.sampling.share:.0%} of its input rows from other parts."
    shares = report.cut_edges.sum(axis=0) / np.maximum(report.owned_edges.sum(axis=0), 1)
    worst = int(shares.argmax())
    if len(report.etypes) > 1 and shares[worst] > report.cut_share:
        yield f"The edge type that is cut most is {report.etypes[worst]} ({shares[worst]:.1%})."


def _balance(report: Figures) -> str:
    of_parts = {name: report.measures[name] for name in ("nodes", "edges")}
    of_parts |= {f"nodes in {key}": marked for key, marked in report.masks.items() if "train" in key}
    found = {name: balance(values) for name, values in of_parts.items()}
    worst = max(found, key=found.__getitem__)
    excess = {name: f"{value - 1:.0%} more {name}" for name, value in found.items()}
    least = {name: share(int(values.min()) * len(values), int(values.sum())) for name, values in of_parts.items()}
    emptiest = min(least, key=least.__getitem__)
    small = f"part {of_parts[emptiest].argmin()} has {1 - least[emptiest]:.0%} fewer {emptiest}"
    if found[worst] <= EVEN:
        rest = f", but {small}" if least[emptiest] < SMALL else ""
        return f"Balanced: the largest part has {excess['nodes']} and {excess['edges']} than the average{rest}."
    how = "Unbalanced" if found[worst] > UNEVEN else "Not quite balanced"
    rest = f", and {small}" if least[emptiest] < SMALL else ""
    return f"{how}: part {of_parts[worst].argmax()} has {excess[worst]} than the average{rest}."


def title_of(report: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    counts = ((report.num_parts, "part"), (report.num_nodes, "node"), (report.num_edges, "edge"))
    hops = format_number(report.halo_hops, "hop")
    return f"{', '.join(format_number(*count) for count in counts)}, {hops} of HALO nodes"
