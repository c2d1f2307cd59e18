"""Draw a report's pictures with matplotlib, as SVG that takes its ink from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from daskgraphpart.errors import printable
from daskgraphpart.units import format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from daskgraphpart.tools.report.figures import Figures

OWN, FOREIGN, CUT, COUNTS = "#0d9488", "#f59e0b", "#ea580c", "#6366f1"
INK = "#010203"
"""Stands for the colour of the page's text, which depends on light and dark."""
MOST_BARS, MOST_NAMES, MOST_NUMBERS = 64, 20, 10
STYLE: Any = {  # matplotlib types the keys as literals
    "svg.fonttype": "none",
    "svg.hashsalt": "daskgraphpart",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}


def pictures_of(report: Figures) -> Iterator[tuple[str, str, str]]:
    """Yield a question, its answer as SVG, and a line that explains the picture; first what one can act on."""
    of_sampling = partial(_matrix, of_column="part that trains", of_row="part that owns the row")
    of_edges = partial(_matrix, of_column="part that owns the edge", of_row="part of the source")
    with style.context(STYLE, after_reset=True):  # overrides the user's own plot style
        about = "Bars are parts; the dashed line is their average."
        yield "How even are the parts?", _drawn(_parts, report, 4.4), about
        if report.sampling is not None and report.sampling.inputs_from is not None and report.num_parts > 1:
            about = (
                "Read down a column: who owns the rows that a part's batches need. Off the diagonal, they are fetched."
            )
            yield "Who fetches from whom?", _drawn(of_sampling, report.sampling.inputs_from, 4.4), about
        if report.num_parts > 1 and report.edge_matrix.any():
            about = "Read down a column: where the edges of a part come from. Off the diagonal, features travel."
            yield "Who talks to whom?", _drawn(of_edges, report.edge_matrix, 4.4), about
        if len(report.etypes) > 1 and report.num_edges:
            about = "Share of the edges of each type whose ends are in different parts."
            yield "Which types are cut?", _drawn(_types, report, _height(len(report.etypes))), about
        if report.file_sizes and report.nbytes.any():
            about = "All parts together, by file."
            yield "What is on disk?", _drawn(_disk, report, _height(len(report.file_sizes))), about
        if report.in_degrees.any():
            about = "Nodes by number of in-edges; bins double in width."
            yield "How are in-degrees distributed?", _drawn(_degrees, report, 2.8), about


def _height(num_names: int) -> float:
    return 0.9 + 0.3 * min(num_names, MOST_NAMES)


def _drawn(draw: Callable[[Figure, Any], None], what: Any, height: float) -> str:
    """Draw into a figure of this height in inches; return SVG for a page."""
    figure = Figure(figsize=(6.4, height), layout="constrained")
    draw(figure, what)
    written = io.StringIO()
    figure.savefig(
        written, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    text = re.sub(r'<svg width="[^"]*" height="[^"]*"', "<svg role='img'", text, count=1)
    return re.sub(r"\s*\n\s*", " ", text.replace(INK, "currentColor"))


def _parts(figure: Figure, report: Figures) -> None:
    """Bars of nodes, edges and, with masks, training nodes, by part."""
    rows = [("nodes", report.inner_nodes.sum(axis=1), report.halo_nodes.sum(axis=1), "halo")]
    cut = report.cut_edges.sum(axis=1)
    rows.append(("edges", report.owned_edges.sum(axis=1) - cut, cut, "cut"))
    marked = next((key for key in report.masks if "train" in key), next(iter(report.masks), None))
    if marked is not None:
        rows.append((f"nodes in {printable(marked)}", report.masks[marked], None, ""))
    for axes, (name, own, foreign, of_foreign) in zip(
        np.atleast_1d(figure.subplots(len(rows), 1, sharex=True)), rows, strict=True
    ):
        _bars(axes, own, foreign, of_foreign)
        axes.set_title(name, loc="left", fontsize=10)
    axes.set_xlabel("part" if report.num_parts <= MOST_BARS else "parts, from the largest to the smallest")


def _bars(axes: Axes, own: np.ndarray, foreign: np.ndarray | None, of_foreign: str) -> None:
    places = np.arange(len(own))
    if len(own) > MOST_BARS:  # a curve: bars would be thinner than a line
        axes.fill_between(places, np.sort(own + (0 if foreign is None else foreign))[::-1], color=OWN, lw=0)
    else:
        axes.bar(places, own, color=OWN, label="own" if of_foreign != "cut" else "within")
        if foreign is not None:
            axes.bar(places, foreign, bottom=own, color=FOREIGN if of_foreign == "halo" else CUT, label=of_foreign)
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    total = own if foreign is None or of_foreign == "halo" else own + foreign
    axes.axhline(float(total.mean()), color=INK, lw=0.8, ls=(0, (4, 3)))
    axes.yaxis.set_major_formatter(FuncFormatter(_short))
    axes.yaxis.set_major_locator(MaxNLocator(3))


def _matrix(figure: Figure, counts: np.ndarray, of_column: str, of_row: str) -> None:
    """Heat map of counts between parts, as shares of each column."""
    num_parts = len(counts)
    each = -(-num_parts // MOST_BARS)  # with many parts, neighbours share a cell
    starts = np.arange(0, num_parts, each)
    counts = np.add.reduceat(np.add.reduceat(counts, starts, axis=0), starts, axis=1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    of_parts = "" if each == 1 else f", {each} to a cell"
    axes = figure.subplots()
    last = num_parts - 0.5
    image = axes.imshow(shares, cmap="BuGn", vmin=0, interpolation="nearest", extent=(-0.5, last, last, -0.5))
    axes.set(xlabel=f"{of_column}{of_parts}", ylabel=of_row)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if num_parts <= MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(shares):
            ink = "white" if value > 0.6 * shares.max() else "#1f2937"
            axes.text(column, row, f"{value:.0%}", ha="center", va="center", fontsize=9, color=ink)
    else:
        figure.colorbar(image, ax=axes, format=PercentFormatter(1, decimals=0), shrink=0.8)


def _types(figure: Figure, report: Figures) -> None:
    edges = report.owned_edges.sum(axis=0)
    shares = report.cut_edges.sum(axis=0) / np.maximum(edges, 1)
    shown = np.argsort(-edges, kind="stable")[:MOST_NAMES]
    axes = _named_bars(figure, [report.etypes[i] for i in shown], shares[shown], CUT)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))


def _disk(figure: Figure, report: Figures) -> None:
    sizes = {name: int(of_parts.sum()) for name, of_parts in report.file_sizes.items()}
    shown = sorted(sizes, key=sizes.__getitem__, reverse=True)[:MOST_NAMES]
    axes = _named_bars(figure, shown, np.array([sizes[name] for name in shown]), OWN)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_size(value)))
    axes.xaxis.set_major_locator(MaxNLocator(4))


def _named_bars(figure: Figure, names: list[str], values: np.ndarray, color: str) -> Axes:
    axes = figure.subplots()
    shown = [printable(name) if len(name) <= 32 else f"{printable(name[:31])}…" for name in names]
    axes.barh(np.arange(len(shown)), values, color=color, height=0.65)
    axes.set_yticks(np.arange(len(shown)), [name.replace("$", r"\$") for name in shown])
    axes.invert_yaxis()
    return axes


def _degrees(figure: Figure, report: Figures) -> None:
    counts = report.in_degrees.sum(axis=0)
    lows = ["0", *(_short(1 << (b - 1)) for b in range(1, counts.size))]
    axes = figure.subplots()
    axes.bar(np.arange(counts.size), counts, color=COUNTS)
    every = -(-counts.size // 10)
    axes.set_xticks(np.arange(0, counts.size, every), lows[::every])
    axes.set_xlabel("in-degree, from")
    axes.yaxis.set_major_formatter(FuncFormatter(_short))


def _short(value: float, _: int | None = None) -> str:
    """Return a count in few characters: ``"12k"``, ``"3.5M"``."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:g}"
