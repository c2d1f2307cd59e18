"""Draw the picture of README and front page, what goes in and what comes out: python docs/figure.py"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

sys.path.append(str(Path(__file__).parent / "pictures"))
from legible import INK, save_legible

PARTS = ("#f97316", "#0d9488", "#6366f1")  # of the logo
LINE = "#9ca3af"  # legible on white and on black
SOURCES = (
    ("edge lists and tables", "CSV, Parquet, npy, Delta, ..."),
    ("frames and arrays", "dask, pandas, numpy, PyG, DGL, ..."),
    ("chunked graphs", "DGL's CGDF, GSProcessing"),
    ("public data sets", "OGB, MAG240M, IGB, WikiKG90M"),
)
DESTINATIONS = (
    ("DGL", "graph.dgl, node_feat.dgl, ..."),
    ("GraphStorm, GraphBolt", "dist_graph, OnDiskDataset"),
    ("PyG, plain torch", "loaders, raw arrays by rank"),
    ("SQL, dask, Spark", "Parquet by type and part"),
)


def label(axes: Axes, x: float, y: float, title: str, below: str) -> None:
    box = FancyBboxPatch((x, y), 2.9, 0.72, boxstyle="round,pad=0.02,rounding_size=0.1", fc="none", ec=LINE, lw=1)
    axes.add_patch(box)
    axes.text(x + 0.15, y + 0.46, title, fontsize=11, weight="bold", color=INK, va="center")
    axes.text(x + 0.15, y + 0.18, below, fontsize=9.2, color=INK, va="center")


def draw_parts(axes: Axes) -> None:
    """A graph of three clusters, each a part, with the few edges that are cut."""
    rng = np.random.default_rng(7)
    centres = np.array([[4.75, 2.75], [6.25, 2.75], [5.5, 1.45]])
    turn, radius = np.arange(11) * 2.4, 0.17 * np.sqrt(np.arange(11))  # a sunflower
    flower = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    places = np.concatenate([centre + flower for centre in centres])
    part = np.arange(33) // 11
    for a, b in rng.integers(0, 33, (200, 2)):
        if part[a] == part[b] or rng.random() < 0.06:
            color = PARTS[part[b]] if part[a] == part[b] else LINE
            style = "-" if part[a] == part[b] else (0, (2, 2))
            axes.plot(*places[[a, b]].T, color=color, lw=0.8, ls=style, alpha=0.8, zorder=1)
    for i, color in enumerate(PARTS):
        axes.scatter(*places[part == i].T, s=34, color=color, zorder=2)


def main() -> None:
    plt.rcParams["svg.fonttype"], plt.rcParams["svg.hashsalt"] = "none", "figure"
    figure, axes = plt.subplots(figsize=(11, 3.9))
    axes.set(xlim=(0, 11), ylim=(0, 3.9))
    axes.axis("off")
    for i, (title, below) in enumerate(SOURCES):
        label(axes, 0.1, 2.75 - 0.88 * i, title, below)
    for i, (title, below) in enumerate(DESTINATIONS):
        label(axes, 7.95, 2.75 - 0.88 * i, title, below)
    draw_parts(axes)
    for x, text in ((1.55, "what you have"), (5.5, "daskgraphpart"), (9.4, "where it trains")):
        axes.text(x, 3.72, text, ha="center", va="center", fontsize=10, style="italic", color=INK)
    axes.text(
        5.5, 0.52, "every node one owner, few edges cut,\nparts of equal size", ha="center", fontsize=9, color=INK
    )
    for start, end in ((3.1, 3.95), (7.0, 7.85)):
        axes.annotate("", (end, 1.9), (start, 1.9), arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 2})
    figure.tight_layout(pad=0.1)
    figure.savefig(Path(__file__).with_suffix(".svg"), transparent=True, metadata={"Date": None})
    plt.close(figure)
    save_legible(Path(__file__).with_suffix(".svg"))


if __name__ == "__main__":
    main()
