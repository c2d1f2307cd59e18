"""Lay figures out as tables, once for text and for the page: frames, how values are written, what bars show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daskgraphpart.reporting.figures import balance
from daskgraphpart.tables import printable
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from daskgraphpart.reporting.figures import Figures, Labels

MAX_CLASSES = 12
NUM_PAIRS = 10
PERCENT, FINE = "{:.1%}", "{:.3f}"


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One table; columns beside the first are aligned to the right."""

    title: str
    table: pd.DataFrame
    formats: Mapping[Any, Any] = field(default_factory=dict)  # by column; default: counts, and text as it is
    means: tuple[Any, ...] = ()  # columns whose bars begin at the average
    bars: tuple[Any, ...] = ()  # columns whose bars begin at the smallest value a bar may have
    least: float = 0.0  # that value
    about: str = ""

    def text(self, column: Any, value: Any) -> str:
        """Return a value of a column as text; a dash if there is none."""
        if isinstance(value, str):
            return printable(value)
        if pd.isna(value):
            return "-"
        form = self.formats.get(column, format_count)
        return str(form.format(value) if isinstance(form, str) else form(value))


def all_sections(figures: Figures, max_matrix: int) -> Iterator[Section]:
    """Yield all tables, in the order of text and page; of more parts than `max_matrix` pairs are listed."""
    yield _parts(figures)
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


def _parts(figures: Figures) -> Section:
    counts = {"inner nodes": figures.inner_nodes, "HALO nodes": figures.halo_nodes}
    if figures.has_more_halo:
        counts["HALO stored"] = figures.stored_halo_nodes
    counts["owned edges"] = figures.owned_edges
    columns: dict[str, Any] = {"part": _names(figures.num_parts)}
    columns |= {name: by_type.sum(axis=1) for name, by_type in counts.items()}
    columns |= {"cut": _shares(figures.cut_edges.sum(axis=1), columns["owned edges"]), "on disk": figures.nbytes}
    return Section(
        "Parts", pd.DataFrame(columns), {"cut": PERCENT, "on disk": format_size}, means=(*counts, "on disk"),
        about="Bars show how far a part is from the average.",
    )  # fmt: skip


def _balance(figures: Figures) -> Section:
    rows = []
    for name, values in figures.measures.items():
        shown = format_size if name == "bytes" else format_count
        mean = int(values.sum()) / len(values)
        rows.append((name, *map(shown, (int(values.min()), round(mean), int(values.max()))), balance(values)))
    ratio = "largest / average"
    table = pd.DataFrame(rows, columns=["what", "smallest", "average", "largest", ratio])
    return Section("Balance", table, {ratio: FINE}, bars=(ratio,), least=1.0)


def _node_types(figures: Figures) -> Section:
    inner, halo = figures.inner_nodes.sum(axis=0), figures.halo_nodes.sum(axis=0)
    columns = {"node type": figures.ntypes, "nodes": inner, "HALO nodes": halo, "replication": 1 + _shares(halo, inner)}
    return Section("Node types", pd.DataFrame(columns), {"replication": FINE})


def _edge_types(figures: Figures) -> Section:
    edges, cut = figures.owned_edges.sum(axis=0), figures.cut_edges.sum(axis=0)
    columns = {"edge type": figures.etypes, "edges": edges, "cut edges": cut, "cut": _shares(cut, edges)}
    return Section("Edge types", pd.DataFrame(columns), {"cut": "{:.2%}"}, bars=("cut",))


def _matrix(figures: Figures) -> Section:
    parts = range(figures.num_parts)
    table = pd.DataFrame(figures.edge_matrix / figures.num_edges, columns=list(parts))
    table.insert(0, "", _names(figures.num_parts))
    about = "Row: owner of the source, column: owner of the destination."
    return Section("Edges between parts", table, dict.fromkeys(parts, PERCENT), bars=tuple(parts), about=about)


def _pairs(figures: Figures) -> Section:
    between = figures.edge_matrix - np.diag(np.diag(figures.edge_matrix))
    most = np.argsort(-between, axis=None, kind="stable")[:NUM_PAIRS]
    sources, targets = (of.tolist() for of in np.unravel_index(most, between.shape))
    names = [f"{a} to {b}" for a, b in zip(sources, targets, strict=True)]
    counts = between.reshape(-1)[most]
    columns = {"most edges": names, "edges": counts, "of all": counts / figures.num_edges}
    return Section("Edges between parts", pd.DataFrame(columns), {"of all": "{:.3%}"}, bars=("of all",))


def _degrees(figures: Figures) -> Section:
    counts = figures.in_degrees.sum(axis=0)
    lows = [0, *(1 << (b - 1) for b in range(1, counts.size))]
    names = [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in lows]
    columns = {"in-degree": names, "nodes": counts, "of all": counts / max(1, figures.num_nodes)}
    return Section("In-degrees", pd.DataFrame(columns), {"of all": PERCENT}, bars=("of all",))


def _labels(labels: Labels) -> Section:
    of_part, shares = labels.counts.sum(axis=1), _shares(labels.counts, labels.counts.sum(axis=1)[:, None])
    columns: dict[Any, Any] = {"part": _names(len(of_part)), "labelled": of_part, "unlabelled": labels.unlabelled}
    columns["most frequent"] = [
        f"{labels.classes[int(row.argmax())]} ({row.max():.1%})" if row.any() else "-" for row in shares
    ]
    columns["total variation"] = np.array(labels.total_variation, float)
    shown = np.argsort(-labels.counts.sum(axis=0), kind="stable")[:MAX_CLASSES].tolist()
    columns |= {labels.classes[i]: shares[:, i] for i in shown}
    classes = tuple(labels.classes[i] for i in shown)
    about = "Distance of the classes of each part from those of the graph (total variation), and shares of classes."
    return Section(
        f"Classes of {labels.key}", pd.DataFrame(columns), {"total variation": FINE, **dict.fromkeys(classes, PERCENT)},
        means=classes, bars=("total variation",), about=about,
    )  # fmt: skip


def _files(figures: Figures) -> Section:
    names, sizes = list(figures.file_sizes), np.array([*figures.file_sizes.values()]).reshape(-1, figures.num_parts)
    total = sizes.sum(axis=1)
    columns = {"file": names, "all parts": total, "average": sizes.mean(axis=1), "largest": sizes.max(axis=1)}
    formats = {**dict.fromkeys(list(columns)[1:], format_size), "of all": PERCENT}
    table = pd.DataFrame({**columns, "of all": total / max(1, int(total.sum()))})
    return Section("On disk", table, formats, bars=("of all",))


def _names(num_parts: int) -> list[str]:
    return [str(part) for part in range(num_parts)]


def _shares(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Counts over totals; 0 where there is nothing."""
    shares: np.ndarray = counts / np.maximum(totals, 1)
    return shares
