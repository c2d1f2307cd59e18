"""The charts of the HTML report: which figures are drawn, and how many of them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from daskgraphpart.reporting.figures import balance, share
from daskgraphpart.reporting.svg import (
    NUM_COLORS,
    Frame,
    Series,
    bars,
    compact,
    heat,
    heat_map,
    log_lines,
    stacked_bars,
)
from daskgraphpart.reporting.text import degree_names
from daskgraphpart.units import format_count, format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daskgraphpart.reporting.figures import Figures, Labels

MOST_STRIPS = 24
MOST_CELLS = 64
MOST_CELLS_WITH_TEXT = 8
MOST_LINES = 16
UNEVEN = 1.1
"""Where the balance of a measure is written in another colour."""

HALF, WHOLE = 540.0, 1100.0


def measure_strips(figures: Figures) -> str:
    """Bars of all that should be even; of very many types the first are drawn."""
    strips = []
    keys = [*figures.measures]
    if len(keys) > MOST_STRIPS:  # types are what there may be many of
        keys = [key for key in keys if " of " not in key][:MOST_STRIPS]
    for key in keys:
        values = figures.measures[key]
        shown = format_size if key == "bytes" else format_count
        frame = Frame(360, 104, _parts(figures.num_parts))
        drawn = bars(values.tolist(), float(values.mean()), frame, shown)
        name = escape("bytes on disk" if key == "bytes" else key)
        ratio = balance(values)
        tone = " class='far'" if ratio > UNEVEN else ""
        head = f"<h3><span title='{name}'>{name}</span><span{tone}>{ratio:.3f}</span></h3>"
        strips.append(f"<div class='strip'>{head}{drawn}</div>")
    return f"<div class='strips'>{''.join(strips)}</div>"


def halo_chart(figures: Figures) -> str:
    """HALO nodes of one hop by type and part, and below them, so to say, those of more hops."""
    order = np.argsort(-figures.halo_nodes.sum(axis=0), kind="stable").tolist()
    columns = [(figures.ntypes[i], figures.halo_nodes[:, i]) for i in order if figures.halo_nodes[:, i].any()]
    if len(columns) >= NUM_COLORS - 1:
        rest = np.sum([values for _, values in columns[NUM_COLORS - 2 :]], axis=0)
        columns = [*columns[: NUM_COLORS - 2], ("other types", rest)]
    if len(figures.ntypes) == 1:
        columns = [("one hop", values) for _, values in columns]
    series = [Series(name, f"c{i}", values.tolist()) for i, (name, values) in enumerate(columns)]
    if figures.has_more_halo:
        more = (figures.stored_halo_nodes - figures.halo_nodes).sum(axis=1)
        series.append(Series("more hops and out edges", "c9", more.tolist()))
    if not series:
        return "<p>There are none.</p>"
    return stacked_bars(series, Frame(HALF, 210, _parts(figures.num_parts)), compact) + _legend(series)


def matrix_chart(figures: Figures) -> str:
    """Edges by owner of source and destination; groups of parts where they are many."""
    group = -(-figures.num_parts // MOST_CELLS)
    starts = np.arange(0, figures.num_parts, group)
    matrix = np.add.reduceat(np.add.reduceat(figures.edge_matrix, starts, axis=0), starts, axis=1)
    names = [_group_name(int(start), group, figures.num_parts) for start in starts]
    own = np.eye(len(starts), dtype=bool)
    highest = max(1, int(matrix[~own].max(initial=0)))
    # square roots, so that pairs with few edges can be told apart
    cells = np.where(own, -1.0, np.sqrt(matrix / highest))
    titles = [
        [
            f"{a} to {b}: {share(int(count), figures.num_edges):.1%}, {int(count):,} edges"
            for b, count in zip(names, row, strict=True)
        ]
        for a, row in zip(names, matrix, strict=True)
    ]
    frame = Frame(HALF, HALF, names, left=40)
    drawn = heat_map(cells.tolist(), titles, frame, len(starts) <= MOST_CELLS_WITH_TEXT)
    swatches = "".join(
        f"<li><i style='background:var(--heat);opacity:{heat(level**0.5):.2f}'></i>{compact(edges)}</li>"
        for level, edges in ((level, round(highest * level)) for level in (0.0, 0.1, 0.25, 0.5, 1.0))
    )
    inside = f"inside each group of {group} parts" if group > 1 else "not cut"
    return f"{drawn}<ul class='legend'>{swatches}<li><i style='background:var(--own)'></i>{inside}</li></ul>"


def degree_chart(figures: Figures) -> str:
    """In-degrees of all nodes as a line with dots, of parts as thin lines, or as a band where they are many."""
    counts = figures.in_degrees
    names = [name.partition(" ")[0] for name in degree_names(counts.shape[1])]
    lines, band = [], None
    if 1 < figures.num_parts <= MOST_LINES:
        lines = [Series(f"part {part}", "part", row.tolist()) for part, row in enumerate(counts)]
    elif figures.num_parts > 1:
        least = np.where(counts > 0, counts, np.iinfo(np.int64).max).min(axis=0)
        band = np.where(counts.any(axis=0), least, 0).tolist(), counts.max(axis=0).tolist()
    lines.append(Series("all nodes", "all", counts.sum(axis=0).tolist()))
    drawn = log_lines(lines, band, Frame(HALF if figures.num_parts > 1 else WHOLE, 210, names))
    of_parts = "<li><i class='c9'></i>each part</li>" if lines[1:] else ""
    if band is not None:
        of_parts = "<li><i style='background:var(--c0);opacity:.3'></i>from the smallest to the largest part</li>"
    return f"{drawn}<ul class='legend'><li><i class='c0'></i>all nodes</li>{of_parts}</ul>"


def label_chart(labels: Labels) -> str:
    """Shares of the most frequent classes in the graph and in each part, and how far parts are from the graph."""
    overall = labels.counts.sum(axis=0)
    if not overall.sum():
        return "<p>No node is labelled.</p>"
    order = np.argsort(-overall, kind="stable").tolist()
    shown = order if len(order) <= NUM_COLORS - 1 else order[: NUM_COLORS - 1]
    rows = np.vstack([overall, labels.counts])
    shares = rows / np.maximum(1, rows.sum(axis=1, keepdims=True))
    series = [Series(f"class {labels.classes[c]}", f"c{i}", shares[:, c].tolist()) for i, c in enumerate(shown)]
    if len(shown) < len(order):
        others = shares[:, order[len(shown) :]].sum(axis=1)
        series.append(Series(f"{len(order) - len(shown)} other classes", f"c{NUM_COLORS - 1}", others.tolist()))
    names = ["all", *(_parts(len(labels.counts)))]
    drawn = stacked_bars(series, Frame(WHOLE, 240, names), lambda value: f"{value:.0%}", top=1.0)
    far = [round(1000 * (distance or 0.0)) for distance in labels.total_variation]
    frame = Frame(WHOLE, 104, _parts(len(far)))
    distances = bars(far, sum(far) / len(far), frame, lambda value: f"{value / 1000:.3f}")
    head = "<h3><span>distance from the classes of the whole graph (total variation, 0 is the same)</span></h3>"
    return f"{drawn}{_legend(series)}<div class='strip' style='margin-top:14px'>{head}{distances}</div>"


def _parts(count: int) -> list[str]:
    return [str(part) for part in range(count)]


def _group_name(start: int, group: int, num_parts: int) -> str:
    stop = min(start + group, num_parts)
    return str(start) if stop - start == 1 else f"{start}-{stop - 1}"


def _legend(series: Sequence[Series]) -> str:
    items = "".join(f"<li><i class='{of.color}'></i>{escape(of.name)}</li>" for of in series)
    return f"<ul class='legend'>{items}</ul>"
