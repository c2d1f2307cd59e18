"""Draws the README's figure: python docs/figure.py"""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

PARTS = ("#4c72b0", "#dd8452", "#55a868")
INK = "#333333"


def box(axes, x, y, width, height, title, lines, color="#f4f4f4"):
    axes.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0.02,rounding_size=0.08", fc=color, ec="#999999", lw=1
        )
    )
    axes.text(x + width / 2, y + height - 0.2, title, ha="center", va="top", fontsize=10.5, weight="bold", color=INK)
    axes.text(x + width / 2, y + height - 0.52, "\n".join(lines), ha="center", va="top", fontsize=8.5, color=INK)


def arrow(axes, start, end):
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#777777", "lw": 1.4})


def main():
    figure, axes = plt.subplots(figsize=(11, 3.7))
    axes.set_xlim(0, 11)
    axes.set_ylim(0, 3.7)
    axes.axis("off")
    box(
        axes,
        0.1,
        2.0,
        1.9,
        1.5,
        "chunked graph",
        ["metadata.json", "edges: csv, npy, parquet", "features: npy, parquet"],
    )
    box(axes, 0.1, 0.2, 1.9, 1.4, "assignment", ["an owner for every node", "random, or your files"])
    box(
        axes,
        2.7,
        2.0,
        1.9,
        1.5,
        "count, relabel",
        ["owners counted", "new IDs by prefix sums", "every offset is known"],
    )
    box(axes, 2.7, 0.2, 1.9, 1.4, "bucket edges", ["join by look-up", "group by owner", "one run per block"])
    box(axes, 5.3, 0.2, 1.9, 1.4, "build graphs", ["HALO bitmap and ranks", "COO, CSR, CSC", "any number of hops"])
    box(axes, 5.3, 2.0, 1.9, 1.5, "place rows", ["one pass over features", "in place, or through zarr"])
    for start, end in (
        ((2.05, 2.75), (2.66, 2.75)),
        ((2.05, 0.9), (2.66, 2.1)),
        ((3.65, 1.97), (3.65, 1.66)),
        ((2.05, 2.2), (2.66, 1.4)),
        ((4.65, 0.9), (5.26, 0.9)),
        ((4.65, 2.75), (5.26, 2.75)),
    ):
        arrow(axes, start, end)
    for i, color in enumerate(PARTS):
        y = 2.55 - 1.15 * i
        axes.add_patch(
            FancyBboxPatch(
                (8.2, y), 2.6, 0.9, boxstyle="round,pad=0.02,rounding_size=0.08", fc=color, alpha=0.18, ec=color
            )
        )
        axes.text(8.35, y + 0.72, f"part{i}/", fontsize=10, weight="bold", color=color, va="top")
        files = "graph.dgl   node_feat.dgl\nedge_feat.dgl   orig_nids.dgl"
        axes.text(8.35, y + 0.44, files, fontsize=8, color=INK, va="top", family="monospace")
        for source in (0.9, 2.75):
            arrow(axes, (7.25, source), (8.14, y + 0.45))
    axes.text(9.5, 3.6, "what DGL loads", ha="center", va="center", fontsize=9, color=INK, style="italic")
    figure.tight_layout(pad=0.2)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
