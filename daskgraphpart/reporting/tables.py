"""Lay a report out as tables, once for text and for the page: frames, how values are written, what bars show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from daskgraphpart.reporting.figures import balance
from daskgraphpart.tables import printable
from daskgraphpart.units import format_count, format_number, format_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from daskgraphpart.reporting.figures import Figures, Labels

MAX_CLASSES = 12
CUT, OF_ALL, ON_DISK, RATIO, VARIATION = "cut", "of all", "on disk", "largest / average", "total variation"
FORMATS: dict[Any, Any] = {
    **dict.fromkeys((CUT, OF_ALL), "{:.1%}".format),
    **dict.fromkeys((RATIO, VARIATION, "replication"), "{:.3f}".format),
    **dict.fromkeys((ON_DISK, "all parts", "average", "largest"), format_size),
}
"""How the values of a column are written: by default as counts, below a number (of a part, a class) as shares."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """One table; columns beside the first are aligned to the right."""

    title: str
    table: pd.DataFrame
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
        default = FORMATS[OF_ALL] if isinstance(column, int) else format_count
        return str(FORMATS.get(column, default)(value))


def all_sections(report: Figures, max_matrix: int) -> Iterator[Section]:
    """Yield all tables, in the order of text and page; with the edges between at most so many parts."""
    yield _parts(report)
    yield _balance(report)
    if len(report.ntypes) > 1:
        inner, halo = report.inner_nodes.sum(axis=0), report.halo_nodes.sum(axis=0)
        columns = {"nodes": inner, "HALO nodes": halo, "replication": 1 + _shares(halo, inner)}
        yield Section("Node types", pd.DataFrame({"node type": report.ntypes, **columns}))
    if len(report.etypes) > 1:
        edges, cut = report.owned_edges.sum(axis=0), report.cut_edges.sum(axis=0)
        columns = {"edges": edges, "cut edges": cut, CUT: _shares(cut, edges)}
        yield Section("Edge types", pd.DataFrame({"edge type": report.etypes, **columns}), bars=(CUT,))
    if 1 < report.num_parts <= max_matrix and report.num_edges:
        parts = range(report.num_parts)
        table = pd.DataFrame(report.edge_matrix / report.num_edges, columns=list(parts))
        table.insert(0, "", _names(report.num_parts))
        about = "Row: owner of the source, column: owner of the destination."
        yield Section("Edges between parts", table, bars=tuple(parts), about=about)
    yield _degrees(report)
    yield from map(_labels, report.labels)
    yield _files(report)


def key_figures(report: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and explanation of what matters most."""
    yield "edge cut", f"{report.cut_share:.2%}", f"{format_count(report.num_cut_edges)} edges"
    yield "communication volume", format_count(report.communication_volume), "HALO nodes of one hop, all parts"
    stored = f", {report.stored_replication_factor:.3f} stored" if report.has_more_halo else ""
    yield "replication factor", f"{report.replication_factor:.3f}", f"nodes held per node of the graph{stored}"
    for name in ("nodes", "edges"):
        yield f"balance of {name}", f"{balance(report.measures[name]):.3f}", "largest part over the average"
    yield ON_DISK, format_size(int(report.nbytes.sum())), f"balance {balance(report.nbytes):.3f}"


def title_of(report: Figures) -> str:
    """Return parts, nodes, edges and hops in one line."""
    counts = (
        (report.num_parts, "part"),
        (report.num_nodes, "node"),
        (report.num_edges, "edge"),
        (report.halo_hops, "hop"),
    )
    return f"{', '.join(format_number(*count) for count in counts)} of HALO nodes"


def _parts(report: Figures) -> Section:
    counts = {"inner nodes": report.inner_nodes, "HALO nodes": report.halo_nodes}
    if report.has_more_halo:
        counts["HALO stored"] = report.stored_halo_nodes
    counts["owned edges"] = report.owned_edges
    columns: dict[str, Any] = {"part": _names(report.num_parts)}
    columns |= {name: by_type.sum(axis=1) for name, by_type in counts.items()}
    columns |= {CUT: _shares(report.cut_edges.sum(axis=1), columns["owned edges"]), ON_DISK: report.nbytes}
    about = "Bars show how far a part is from the average."
    return Section("Parts", pd.DataFrame(columns), means=(*counts, ON_DISK), about=about)


def _balance(report: Figures) -> Section:
    rows = []
    for name, values in report.measures.items():
        shown = format_size if name == "bytes" else format_count
        mean = int(values.sum()) / len(values)
        rows.append((name, *map(shown, (int(values.min()), round(mean), int(values.max()))), balance(values)))
    table = pd.DataFrame(rows, columns=["what", "smallest", "average", "largest", RATIO])
    return Section("Balance", table, bars=(RATIO,), least=1.0)


def _degrees(report: Figures) -> Section:
    counts = report.in_degrees.sum(axis=0)
    lows = [0, *(1 << (b - 1) for b in range(1, counts.size))]
    names = [format_count(low) if low < 2 else f"{low:,} to {2 * low - 1:,}" for low in lows]
    table = pd.DataFrame({"in-degree": names, "nodes": counts, OF_ALL: counts / max(1, report.num_nodes)})
    return Section("In-degrees", table, bars=(OF_ALL,))


def _labels(labels: Labels) -> Section:
    of_part, shares = labels.counts.sum(axis=1), _shares(labels.counts, labels.counts.sum(axis=1)[:, None])
    columns: dict[Any, Any] = {"part": _names(len(of_part)), "labelled": of_part, "unlabelled": labels.unlabelled}
    columns["most frequent"] = [
        f"{labels.classes[int(row.argmax())]} ({row.max():.1%})" if row.any() else "-" for row in shares
    ]
    columns[VARIATION] = np.array(labels.total_variation, float)
    shown = np.argsort(-labels.counts.sum(axis=0), kind="stable")[:MAX_CLASSES].tolist()
    columns |= {labels.classes[i]: shares[:, i] for i in shown}
    classes = tuple(labels.classes[i] for i in shown)
    about = "Distance of the classes of each part from those of the graph (total variation), and shares of classes."
    return Section(f"Classes of {labels.key}", pd.DataFrame(columns), means=classes, bars=(VARIATION,), about=about)


def _files(report: Figures) -> Section:
    sizes = np.array([*report.file_sizes.values()]).reshape(-1, report.num_parts)
    total = sizes.sum(axis=1)
    columns = {"file": list(report.file_sizes), "all parts": total, "average": sizes.mean(axis=1)}
    shares = total / max(1, int(total.sum()))
    return Section("On disk", pd.DataFrame({**columns, "largest": sizes.max(axis=1), OF_ALL: shares}), bars=(OF_ALL,))


def _names(num_parts: int) -> list[str]:
    return [str(part) for part in range(num_parts)]


def _shares(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Counts over totals; 0 where there is nothing."""
    shares: np.ndarray = counts / np.maximum(totals, 1)
    return shares
