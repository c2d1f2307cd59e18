"""Figures as text: tables that fit a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.reporting.figures import balance, share
from daskgraphpart.tables import text_table
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from daskgraphpart.reporting.figures import Figures, Labels

MOST_PARTS_SHOWN = 16
WIDEST_BAR = 40


def report_text(figures: Figures) -> str:
    """Lay out all figures as text; of many parts, the first are shown."""
    sections = [
        ("", _summary(figures)),
        ("Parts", _parts(figures)),
        ("Balance", _balance(figures)),
        ("Node types", _node_types(figures) if len(figures.ntypes) > 1 else ""),
        ("Edge types", _edge_types(figures) if len(figures.etypes) > 1 else ""),
        ("Edges between parts (row: owner of the source, column: owner of the destination)", _matrix(figures)),
        ("In-degrees", _degrees(figures)),
        *((f"Classes of {labels.key}", _labels(labels)) for labels in figures.labels),
        ("On disk", _files(figures)),
        ("Notes", "\n".join(figures.notes)),
    ]
    return "\n\n".join(f"{title}\n{body}" if title else body for title, body in sections if body)


def key_figures(figures: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and explanation of what matters most."""
    yield "edge cut", f"{figures.cut_share:.2%}", f"{format_count(figures.num_cut_edges)} edges"
    yield "communication volume", format_count(figures.communication_volume), "HALO nodes of one hop, all parts"
    stored = f", {figures.stored_replication_factor:.3f} stored" if figures.has_more_halo else ""
    yield "replication factor", f"{figures.replication_factor:.3f}", f"nodes held per node of the graph{stored}"
    for name in ("nodes", "edges"):
        ratio = balance(figures.measures[name])
        yield f"balance of {name}", f"{ratio:.3f}", "largest part over the average"
    yield "on disk", format_size(int(figures.nbytes.sum())), f"balance {balance(figures.nbytes):.3f}"


def title_of(figures: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    hops = f"{figures.halo_hops} hop{'s' if figures.halo_hops != 1 else ''} of HALO nodes"
    parts = f"{format_count(figures.num_parts)} part{'s' if figures.num_parts != 1 else ''}"
    return f"{parts}, {format_count(figures.num_nodes)} nodes, {format_count(figures.num_edges)} edges, {hops}"


def _summary(figures: Figures) -> str:
    lines = [f"Partitions of {figures.graph_name!r}: {title_of(figures)}", ""]
    lines += [f"{name:<20} {value:<12} {more}" for name, value, more in key_figures(figures)]
    return "\n".join(lines)


def _shortened(rows: Sequence[list[str]]) -> list[list[str]]:
    """Leave out rows of many parts."""
    if len(rows) <= MOST_PARTS_SHOWN:
        return list(rows)
    left_out = ["..."] + [""] * (len(rows[0]) - 1)
    return [*rows[: MOST_PARTS_SHOWN - 1], left_out, rows[-1]]


def _parts(figures: Figures) -> str:
    inner, edges = figures.inner_nodes.sum(axis=1), figures.owned_edges.sum(axis=1)
    halo, cut = figures.halo_nodes.sum(axis=1), figures.cut_edges.sum(axis=1)
    heads = ["part", "inner nodes", "HALO nodes", "owned edges", "cut", "on disk"]
    shares = [f"{share(*of):.1%}" for of in zip(cut.tolist(), edges.tolist(), strict=True)]
    sizes = [format_size(nbytes) for nbytes in figures.nbytes.tolist()]
    counts = zip(inner, halo, edges, strict=True)
    rows = [[str(i), *map(format_count, count), shares[i], sizes[i]] for i, count in enumerate(counts)]
    if figures.has_more_halo:
        heads.insert(3, "HALO stored")
        stored = figures.stored_halo_nodes.sum(axis=1)
        for i, row in enumerate(rows):
            row.insert(3, format_count(stored[i]))
    return text_table(heads, _shortened(rows), align=">" * len(heads))


def _balance(figures: Figures) -> str:
    rows = []
    for name, values in figures.measures.items():
        shown = format_size if name == "bytes" else format_count
        mean = round(int(values.sum()) / len(values))
        rows.append([name, shown(int(values.min())), shown(mean), shown(int(values.max())), f"{balance(values):.3f}"])
    return text_table(["what", "smallest", "average", "largest", "largest / average"], rows, align="<>>>>")


def _node_types(figures: Figures) -> str:
    inner, halo = figures.inner_nodes.sum(axis=0), figures.halo_nodes.sum(axis=0)
    rows = [
        [ntype, format_count(inner[i]), format_count(halo[i]), f"{1 + share(halo[i], inner[i]):.3f}"]
        for i, ntype in enumerate(figures.ntypes)
    ]
    return text_table(["node type", "nodes", "HALO nodes", "replication"], rows, align="<>>>")


def _edge_types(figures: Figures) -> str:
    edges, cut = figures.owned_edges.sum(axis=0), figures.cut_edges.sum(axis=0)
    rows = [
        [etype, format_count(edges[i]), format_count(cut[i]), f"{share(cut[i], edges[i]):.2%}"]
        for i, etype in enumerate(figures.etypes)
    ]
    return text_table(["edge type", "edges", "cut edges", "cut"], rows, align="<>>>")


def _matrix(figures: Figures) -> str:
    matrix, total = figures.edge_matrix, figures.num_edges
    if figures.num_parts == 1 or not total:
        return ""
    if figures.num_parts <= MOST_PARTS_SHOWN:
        heads = ["", *map(str, range(figures.num_parts))]
        rows = [[str(i), *(f"{share(int(count), total):.1%}" for count in row)] for i, row in enumerate(matrix)]
        return text_table(heads, rows, align=">" * len(heads))
    between = matrix - np.diag(np.diag(matrix))
    most = np.argsort(-between, axis=None, kind="stable")[:10]
    pairs = [(int(i) // figures.num_parts, int(i) % figures.num_parts) for i in most]
    rows = [[f"{a} to {b}", format_count(between[a, b]), f"{share(int(between[a, b]), total):.3%}"] for a, b in pairs]
    return text_table(["most edges", "edges", "of all"], rows, align="<>>")


def degree_names(num_bins: int) -> list[str]:
    """Return what each bin of in-degrees is for: ``"0"``, ``"1"``, ``"2 to 3"``, ``"4 to 7"``."""
    least = [0, *(1 << (b - 1) for b in range(1, num_bins))]
    return [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in least]


def _degrees(figures: Figures) -> str:
    counts = figures.in_degrees.sum(axis=0)
    most = max(1, int(counts.max(initial=0)))
    rows = []
    for name, count in zip(degree_names(len(counts)), counts.tolist(), strict=True):
        bar = "#" * -(-count * WIDEST_BAR // most)
        rows.append([name, format_count(count), f"{share(count, figures.num_nodes):.1%}", bar])
    return text_table(["in-degree", "nodes", "of all", ""], rows, align=">>><")


def _labels(labels: Labels) -> str:
    rows = []
    for part, (counts, distance) in enumerate(zip(labels.counts, labels.total_variation, strict=True)):
        most = int(counts.argmax()) if counts.sum() else None
        shown = "-" if most is None else f"{labels.classes[most]} ({share(int(counts[most]), int(counts.sum())):.1%})"
        far = "-" if distance is None else f"{distance:.3f}"
        rows.append([str(part), *map(format_count, (counts.sum(), labels.unlabelled[part])), shown, far])
    heads = ["part", "labelled", "unlabelled", "most frequent", "total variation"]
    return text_table(heads, _shortened(rows), align=">>>>>")


def _files(figures: Figures) -> str:
    rows = []
    for name, sizes in figures.file_sizes.items():
        total = int(sizes.sum())
        rows.append([name, format_size(total), format_size(total / len(sizes)), format_size(int(sizes.max()))])
    return text_table(["file", "all parts", "average", "largest"], rows, align="<>>>")
