"""Lay figures out as tables, once for text and for the page; cells know what a page draws behind their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from daskgraphpart.reporting.figures import balance, share
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from daskgraphpart.reporting.figures import Figures, Labels

MAX_CLASSES = 12
NUM_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a cell; a page draws a bar or an interval from `low` to `high` beside it, or shades it by `high`."""

    text: str
    high: float = 0.0
    low: float = 0.0
    drawn: Literal["", "bar", "deviation", "shade"] = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One table; columns beside the first are aligned to the right."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    about: str = ""


def all_sections(figures: Figures, max_matrix: int) -> Iterator[Section]:
    """Yield all tables, in the order of text and page; of more parts than `max_matrix` pairs are listed."""
    yield parts_section(figures)
    yield _balance(figures)
    if len(figures.ntypes) > 1:
        yield _node_types(figures)
    if len(figures.etypes) > 1:
        yield _edge_types(figures)
    if figures.num_parts > 1 and figures.num_edges:
        yield _matrix(figures) if figures.num_parts <= max_matrix else _pairs(figures)
    yield _degrees(figures)
    for labels in figures.labels:
        yield _labels(labels)
    yield _files(figures)


def key_figures(figures: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and explanation of what matters most."""
    yield "edge cut", f"{figures.cut_share:.2%}", f"{format_count(figures.num_cut_edges)} edges"
    yield "communication volume", format_count(figures.communication_volume), "HALO nodes of one hop, all parts"
    stored = f", {figures.stored_replication_factor:.3f} stored" if figures.has_more_halo else ""
    yield "replication factor", f"{figures.replication_factor:.3f}", f"nodes held per node of the graph{stored}"
    for name in ("nodes", "edges"):
        yield f"balance of {name}", f"{balance(figures.measures[name]):.3f}", "largest part over the average"
    yield "on disk", format_size(int(figures.nbytes.sum())), f"balance {balance(figures.nbytes):.3f}"


def title_of(figures: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    hops = f"{figures.halo_hops} hop{'s' if figures.halo_hops != 1 else ''} of HALO nodes"
    parts = f"{format_count(figures.num_parts)} part{'s' if figures.num_parts != 1 else ''}"
    return f"{parts}, {format_count(figures.num_nodes)} nodes, {format_count(figures.num_edges)} edges, {hops}"


def parts_section(figures: Figures) -> Section:
    """Lay out what each part holds, beside its deviation from the average."""
    edges, cut = figures.owned_edges.sum(axis=1), figures.cut_edges.sum(axis=1)
    columns = {
        "inner nodes": figures.inner_nodes.sum(axis=1),
        "HALO nodes": figures.halo_nodes.sum(axis=1),
        **({"HALO stored": figures.stored_halo_nodes.sum(axis=1)} if figures.has_more_halo else {}),
        "owned edges": edges,
    }
    cells = [[Cell(str(part)) for part in range(figures.num_parts)]]
    cells += [_deviations(values, format_count) for values in columns.values()]
    cells.append([Cell(f"{share(*of):.1%}") for of in zip(cut.tolist(), edges.tolist(), strict=True)])
    cells.append(_deviations(figures.nbytes, format_size))
    about = "Bars show how far a part is from the average."
    return Section("Parts", ["part", *columns, "cut", "on disk"], [*zip(*cells, strict=True)], about)


def _deviations(values: np.ndarray, shown: Callable[[int], str]) -> list[Cell]:
    mean = float(values.mean())
    return [_deviation(int(value), mean, shown(int(value))) for value in values]


def _deviation(value: int, mean: float, text: str) -> Cell:
    off = value / mean - 1 if mean else 0.0
    return Cell(text, max(off, 0.0), min(off, 0.0), "deviation", f"{off:+.1%}")


def _balance(figures: Figures) -> Section:
    rows = []
    for name, values in figures.measures.items():
        shown = format_size if name == "bytes" else format_count
        mean, low, high = int(values.sum()) / len(values), int(values.min()), int(values.max())
        ratios = (high / mean - 1, low / mean - 1) if mean else (0.0, 0.0)
        texts = [name, shown(low), shown(round(mean)), shown(high)]
        rows.append([*map(Cell, texts), Cell(f"{balance(values):.3f}", *ratios, "deviation")])
    about = "Bars reach from the smallest to the largest part, around the average."
    return Section("Balance", ["what", "smallest", "average", "largest", "largest / average"], rows, about)


def _node_types(figures: Figures) -> Section:
    inner, halo = figures.inner_nodes.sum(axis=0).tolist(), figures.halo_nodes.sum(axis=0).tolist()
    rows = [
        [Cell(ntype), Cell(format_count(nodes)), Cell(format_count(far)), Cell(f"{1 + share(far, nodes):.3f}")]
        for ntype, nodes, far in zip(figures.ntypes, inner, halo, strict=True)
    ]
    return Section("Node types", ["node type", "nodes", "HALO nodes", "replication"], rows)


def _edge_types(figures: Figures) -> Section:
    edges, cut = figures.owned_edges.sum(axis=0).tolist(), figures.cut_edges.sum(axis=0).tolist()
    rows = [
        [Cell(etype), Cell(format_count(count)), Cell(format_count(of)), _share(of, count, 2)]
        for etype, count, of in zip(figures.etypes, edges, cut, strict=True)
    ]
    return Section("Edge types", ["edge type", "edges", "cut edges", "cut"], rows)


def _share(count: int, total: int, digits: int) -> Cell:
    return Cell(f"{share(count, total):.{digits}%}", share(count, total), drawn="bar")


def _matrix(figures: Figures) -> Section:
    between = figures.edge_matrix
    highest = max(1, int((between - np.diag(np.diag(between))).max()))
    rows = [
        [Cell(str(i)), *(_matrix_cell(int(count), figures.num_edges, highest, i == j) for j, count in enumerate(row))]
        for i, row in enumerate(between)
    ]
    about = "Row: owner of the source, column: owner of the destination."
    return Section("Edges between parts", ["", *map(str, range(figures.num_parts))], rows, about)


def _matrix_cell(count: int, total: int, highest: int, is_inside: bool) -> Cell:
    text = f"{share(count, total):.1%}"
    return Cell(text) if is_inside else Cell(text, count / highest, drawn="shade")


def _pairs(figures: Figures) -> Section:
    between = figures.edge_matrix - np.diag(np.diag(figures.edge_matrix))
    most = np.argsort(-between, axis=None, kind="stable")[:NUM_PAIRS]
    pairs = [divmod(int(i), figures.num_parts) for i in most]
    rows = [
        [Cell(f"{a} to {b}"), Cell(format_count(between[a, b])), _share(int(between[a, b]), figures.num_edges, 3)]
        for a, b in pairs
    ]
    return Section("Edges between parts", ["most edges", "edges", "of all"], rows)


def degree_names(num_bins: int) -> list[str]:
    """Return what each bin of in-degrees is for: ``"0"``, ``"1"``, ``"2 to 3"``, ``"4 to 7"``."""
    least = [0, *(1 << (b - 1) for b in range(1, num_bins))]
    return [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in least]


def _degrees(figures: Figures) -> Section:
    counts = figures.in_degrees.sum(axis=0).tolist()
    rows = [
        [Cell(name), Cell(format_count(count)), _share(count, figures.num_nodes, 1)]
        for name, count in zip(degree_names(len(counts)), counts, strict=True)
    ]
    return Section("In-degrees", ["in-degree", "nodes", "of all"], rows)


def _labels(labels: Labels) -> Section:
    total = labels.counts.sum(axis=0)
    shown = np.argsort(-total, kind="stable")[:MAX_CLASSES].tolist()
    rows = []
    for part, (counts, distance) in enumerate(zip(labels.counts, labels.total_variation, strict=True)):
        of_part, most = int(counts.sum()), int(counts.argmax()) if counts.sum() else None
        frequent = "-" if most is None else f"{labels.classes[most]} ({share(int(counts[most]), of_part):.1%})"
        texts = [str(part), format_count(of_part), format_count(int(labels.unlabelled[part])), frequent]
        far = Cell("-") if distance is None else Cell(f"{distance:.3f}", distance, drawn="bar")
        shares = [share(int(counts[i]), of_part) - share(int(total[i]), int(total.sum())) for i in shown]
        classes = [
            Cell(f"{share(int(counts[i]), of_part):.1%}", max(off, 0.0), min(off, 0.0), "deviation")
            for i, off in zip(shown, shares, strict=True)
        ]
        rows.append([*map(Cell, texts), far, *classes])
    heads = ["part", "labelled", "unlabelled", "most frequent", "total variation"]
    about = "Distance of the classes of each part from those of the graph (total variation), and shares of classes."
    return Section(f"Classes of {labels.key}", [*heads, *(str(labels.classes[i]) for i in shown)], rows, about)


def _files(figures: Figures) -> Section:
    total = int(figures.nbytes.sum())
    rows = []
    for name, sizes in figures.file_sizes.items():
        mine = int(sizes.sum())
        texts = [name, *map(format_size, (mine, mine / len(sizes), int(sizes.max())))]
        rows.append([*map(Cell, texts), _share(mine, total, 1)])
    return Section("On disk", ["file", "all parts", "average", "largest", "of all"], rows)
