"""Charts of docs/benchmarks.md from the newest results; `table.py` calls this."""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import partitioner_tables
import predict
from claims import newest_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
sys.path.append(str(PICTURES))
from legible import INK, save_legible  # noqa: E402

OURS, THEIRS, LINE = "#0d9488", "#94a3b8", "#9ca3af"  # legible on white and on black
WIDTH = 5.6  # inches: on a phone letters are small, and can be read
STYLE = {
    **dict.fromkeys(("text.color", "xtick.color", "ytick.color", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "axes.spines.left", "legend.frameon"), False),
    "axes.edgecolor": LINE,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "font.size": 10,
    "ytick.major.size": 0,
    "svg.fonttype": "none",
    "svg.hashsalt": "charts",
    "savefig.transparent": True,
}
GRAPHS = (
    ("communities, 50 M edges", "communities", 50_000_000),
    ("R-MAT, 50 M edges", "rmat", 50_000_000),
    ("curl's history, 12 M edges", "vcs_curl", 11_753_425),
    ("web (cnr-2000), 3 M edges", "cnr2000", 3_216_152),
)


def draw_all(to: Path = PICTURES) -> None:
    """Write all charts."""
    with mpl.rc_context(STYLE):
        for chart in (against_metis, memory_by_edges, memory_by_nodes, cut_by_kind):
            figure = chart()
            path = to / f"{chart.__name__.replace('_', '-')}.svg"
            figure.savefig(path, bbox_inches="tight", pad_inches=0.05, metadata={"Date": None, "Creator": None})
            plt.close(figure)
            save_legible(path)


def against_metis() -> Figure:
    """CPU time and memory of METIS and of the default method."""
    kept = partitioner_tables.large_cases()
    runs = [kept[graph, edges, 8, "nodes,edges"] for _, graph, edges in GRAPHS]
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 5.2), sharey=True)
    values: tuple[tuple[str, str, Callable[[dict[str, Any]], float]], ...] = (
        ("CPU time", "{:.0f} s", lambda run: run["cpu"]),
        ("Peak memory", "{:.1f} GB", lambda run: run["peak"] / 1e9),
    )
    for axes, (title, form, value) in zip(panels, values, strict=True):
        for shift, method, name, color in ((-0.2, "metis", "METIS", THEIRS), (0.2, "auto", "daskgraphpart", OURS)):
            widths = [value(run[method]) for run in runs]
            bars = axes.barh([place + shift for place in range(len(runs))], widths, 0.36, color=color, label=name)
            axes.bar_label(bars, [form.format(width) for width in widths], padding=4, color=INK)
        finish_bars(axes, title)
    panels[0].set_yticks(range(len(runs)), [title for title, *_ in GRAPHS])
    panels[0].invert_yaxis()
    panels[0].legend(loc="lower right")
    figure.tight_layout(h_pad=1.5)
    return figure


def finish_bars(axes: Axes, title: str) -> None:
    axes.set_title(title, weight="bold")
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.margins(x=0.18)


def memory_by_edges() -> Figure:
    """Memory of METIS, which holds the graph, of our partitioner, and of a whole job with random owners."""
    runs = sorted((case[1], run) for case, run in partitioner_tables.large_cases().items() if is_community(case))
    (largest,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    writing = newest_of("memory_vs_scale")["results"]
    lines = [
        ("METIS", THEIRS, (8, -4), [(edges, run["metis"]["peak"]) for edges, run in runs]),
        ("daskgraphpart", OURS, (-88, 6), [
            *((edges, run["auto"]["peak"]) for edges, run in runs), (1e9, largest["peak_bytes"])
        ]),
        ("writing parts", "#6366f1", (8, -12), [
            (float(edges), max(run["peak_bytes"] for run in of)) for edges, of in writing.items()
        ]),
    ]  # fmt: skip
    figure = plt.figure(figsize=(WIDTH, 3.6))
    axes = figure.add_subplot()
    for name, color, shift, points in lines:
        axes.plot(*zip(*points, strict=True), color=color, lw=2.5, marker="o")
        text = f"{name}, {points[-1][1] / 1e9:.1f} GB"
        axes.annotate(text, points[-1], shift, textcoords="offset points", weight="bold", color=color)
    axes.set(xscale="log", yscale="log", xlim=(4e6, 1.4e9), ylim=(1.5e8, 2e10), xlabel="edges, ten for each node")
    axes.set_xticks([1e7, 1e8, 1e9], ["10 M", "100 M", "1,000 M"])
    axes.set_yticks([2e8, 5e8, 1e9, 2e9, 5e9, 1e10], ["0.2", "0.5", "1", "2", "5", "10"])
    axes.minorticks_off()
    axes.set_title("Peak memory, GB (both axes logarithmic)", weight="bold")
    axes.grid(axis="y", color=LINE, alpha=0.3)
    return figure


def memory_by_nodes() -> Figure:
    """Memory that the partitioner needs, from `plan`'s formula, and what whole jobs took."""
    runs = [(case[1] / 10, run) for case, run in partitioner_tables.large_cases().items() if is_community(case)]
    (largest,) = newest_of("memory_vs_scale_multilevel")["results"]["1e9"]
    nodes = np.logspace(5.5, 9, 50)
    figure = plt.figure(figsize=(WIDTH, 3.6))
    axes = figure.add_subplot()
    for method, style, place, shift in (("multilevel", "-", -1, (-205, -4)), ("fennel", "--", 34, (12, -12))):
        need = [predict.needed(int(number), method) for number in nodes]
        axes.plot(nodes, need, color=OURS, lw=2.5, ls=style)
        name = "auto" if method == "multilevel" else method
        text = f"{name}: {need[-1] / nodes[-1]:.0f} bytes a node, {need[-1] / 1e9:.0f} GB"
        at = (nodes[place], need[place])
        axes.annotate(text, at, shift, textcoords="offset points", weight="bold", color=OURS)
    for name, color, shift, points in (
        ("METIS, measured", THEIRS, (8, -4), [(number, run["metis"]["peak"]) for number, run in runs]),
        ("auto, measured", OURS, (-96, 0), [
            *((number, run["auto"]["peak"]) for number, run in runs), (1e8, largest["peak_bytes"])
        ]),
    ):  # fmt: skip
        axes.plot(*zip(*sorted(points), strict=True), color=color, lw=0, marker="o")
        axes.annotate(name, max(points), shift, textcoords="offset points", color=color)
    axes.set(xscale="log", yscale="log", xlim=(3e5, 1.3e9), ylim=(1e8, 8e10), xlabel="nodes")
    axes.set_xticks([1e6, 1e7, 1e8, 1e9], ["1 M", "10 M", "100 M", "1,000 M"])
    axes.set_yticks([1e8, 1e9, 1e10], ["0.1", "1", "10"])
    axes.minorticks_off()
    axes.set_title("Memory, GB (both axes logarithmic)", weight="bold")
    axes.grid(axis="y", color=LINE, alpha=0.3)
    return figure


def is_community(case: tuple[Any, ...]) -> bool:
    return case[0] == "communities" and case[2:] == (8, "nodes,edges")


def cut_by_kind() -> Figure:
    """Cut of the default method over that of METIS, by kind of graph."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for row in partitioner_tables.kept("cuts"):
        kind = partitioner_tables.KINDS.get(row["graph"], "meshes")
        ratios[kind].append(partitioner_tables.over(row["both"]["auto"], row["both"]["metis"]))
    means = sorted(((statistics.mean(of) - 1, kind) for kind, of in ratios.items()), reverse=True)
    figure, axes = plt.subplots(figsize=(WIDTH, 2.8))
    widths = [mean for mean, _ in means]
    bars = axes.barh(
        [kind for _, kind in means], widths, 0.62, color=[OURS if mean <= 0 else THEIRS for mean in widths]
    )
    axes.bar_label(bars, [f"{mean:+.0%}" for mean in widths], padding=4, color=INK)
    axes.axvline(0, color=LINE, lw=1)
    finish_bars(axes, "Edges cut, compared with METIS")
    return figure
