"""Draw the pictures of docs/concepts.md: python docs/pictures/draw_concepts.py

All that they show, who owns what, halo nodes, IDs and cuts, is read from partitions that are made here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from legible import INK, ON_COLOUR, save_legible
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import daskgraphpart as dgp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
PARTS = ("#f97316", "#0d9488", "#6366f1", "#db2777")  # the first three of the logo
LINE = "#9ca3af"  # legible on white and on black
WIDTH = 5.6  # inches: on a phone letters are small, and can be read
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "concepts", "savefig.transparent": True, "font.size": 10}
FOLLOWS = (
    *(("ann", "cid"), ("cid", "eve"), ("eve", "ann"), ("ann", "gus"), ("gus", "cid"), ("eve", "ivy"), ("ivy", "gus")),
    *(("bob", "dan"), ("dan", "fay"), ("fay", "bob"), ("bob", "hal"), ("hal", "dan"), ("fay", "jon"), ("jon", "hal")),
    *(("eve", "bob"), ("dan", "gus")),
)
"""Who follows whom: the table `follows.csv` of the page."""
PLACES = {
    "ann": (0.5, 2.5), "cid": (1.7, 2.9), "eve": (2.1, 1.9), "gus": (1.5, 0.9), "ivy": (0.4, 1.2),
    "bob": (3.7, 2.4), "dan": (3.9, 1.1), "fay": (5.2, 2.9), "hal": (5.0, 0.6), "jon": (5.8, 1.7),
}  # fmt: skip
RADIUS = 0.27
CLUSTERS, MEMBERS = 4, 14  # of the graph of which random owners and those of `auto` are drawn


def draw_all(to: Path = HERE) -> None:
    """Write all pictures."""
    with mpl.rc_context(STYLE), tempfile.TemporaryDirectory() as root:
        table = Path(root, "follows.csv")
        table.write_text("\n".join(["src,dst", *map(",".join, FOLLOWS)]) + "\n")
        parts = dgp.partition(dgp.scan_tables(str(table), map_ids=True), Path(root, "parts"), 2, progress=False)
        for name, figure in (("halo", halo(parts)), ("random-or-auto", random_or_auto()), ("ids", ids(parts))):
            figure.savefig(
                to / f"{name}.svg", bbox_inches="tight", pad_inches=0.05, metadata={"Date": None, "Creator": None}
            )
            plt.close(figure)
            save_legible(to / f"{name}.svg")


def halo(parts: Any) -> Figure:
    """The whole graph above; what each part holds below: own nodes filled, halo nodes rings."""
    figure = plt.figure(figsize=(WIDTH, 5.2))
    whole, *below = (figure.add_axes(box) for box in ((0, 0.48, 1, 0.48), (0, 0, 0.49, 0.42), (0.51, 0, 0.49, 0.42)))
    held = [dict(zip(names_of(part), part.to_pyg().inner_mask.tolist(), strict=True)) for part in parts.parts]
    owner = {name: p for p, names in enumerate(held) for name, is_own in names.items() if is_own}
    draw(whole, dict.fromkeys(PLACES, True), FOLLOWS, owner)
    num_cut = sum(owner[a] != owner[b] for a, b in FOLLOWS)
    whole.set_title(
        f"Who follows whom: {len(FOLLOWS)} edges, {num_cut} of them cut", color=INK, weight="bold", fontsize=11
    )
    for p, (axes, names, part) in enumerate(zip(below, held, parts.parts, strict=True)):
        local = names_of(part)
        edges = [(local[a], local[b]) for a, b in part.to_pyg().edge_index.T.tolist()]
        draw(axes, names, edges, owner)
        (copy,) = (name for name, is_own in names.items() if not is_own)
        axes.set_title(f"Part {p}, with a copy of {copy}", color=PARTS[p], weight="bold", fontsize=11)
    return figure


def names_of(part: Any) -> list[str]:
    """What each local node is called in the table."""
    return [str(name) for name in part.own_ids("_N", part.to_pyg().n_id)]


def draw(axes: Axes, names: dict[str, bool], edges: Any, owner: dict[str, int]) -> None:
    """Nodes in the colour of their owner, those of others as rings; cut edges are dashed."""
    for a, b in edges:
        is_cut = owner[a] != owner[b]
        color = LINE if is_cut else PARTS[owner[b]]
        style = {"color": color, "ls": (0, (3, 2)) if is_cut else "-", "lw": 1.6, "shrinkA": 0, "shrinkB": 0}
        start, end = (np.array(PLACES[name]) for name in (a, b))
        step = (end - start) / np.linalg.norm(end - start) * RADIUS
        axes.add_patch(FancyArrowPatch(start + step, end - step, arrowstyle="-|>", mutation_scale=10, **style))
    for name, is_own in names.items():
        color = PARTS[owner[name]]
        face = color if is_own else "none"
        axes.add_patch(plt.Circle(PLACES[name], RADIUS, fc=face, ec=color, lw=2, ls="-" if is_own else (0, (2, 1))))
        axes.text(*PLACES[name], name, ha="center", va="center", fontsize=8.5, color=ON_COLOUR if is_own else color)
    x = np.array([PLACES[name][0] for name in names])
    axes.set(xlim=(x.min() - 0.4, x.max() + 0.4), ylim=(0.2, 3.3), aspect="equal")
    axes.axis("off")


def random_or_auto() -> Figure:
    """The same graph in four parts by two methods, with the share of edges that each cuts."""
    rng = np.random.default_rng(3)
    num_nodes = CLUSTERS * MEMBERS
    src, dst = rng.integers(0, num_nodes, (2, 1500))
    stays = (src // MEMBERS == dst // MEMBERS) & (rng.random(1500) < 0.7) | (rng.random(1500) < 0.02)
    src, dst = src[stays & (src != dst)], dst[stays & (src != dst)]
    turn, radius = np.arange(MEMBERS) * 2.4, 0.24 * np.sqrt(np.arange(MEMBERS))  # a sunflower
    flower = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    centres = np.array([[0, 2.4], [2.4, 2.4], [0, 0], [2.4, 0]])
    places = np.concatenate([centre + flower for centre in centres])
    graph = dgp.from_edges((src, dst), num_nodes=num_nodes)
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, 3.1))
    for axes, method in zip(panels, ("random", "auto"), strict=True):
        found = dgp.assign(graph, CLUSTERS, method=method, progress=False)
        owner = found.owners["_N"].compute()
        for a, b in zip(src, dst, strict=True):
            is_cut = owner[a] != owner[b]
            color = LINE if is_cut else PARTS[owner[a]]
            axes.plot(*places[[a, b]].T, color=color, lw=0.7, ls=(0, (2, 2)) if is_cut else "-", alpha=0.8, zorder=1)
        for p, color in enumerate(PARTS):
            axes.scatter(*places[owner == p].T, s=34, color=color, zorder=2)
        axes.set(aspect="equal")
        axes.axis("off")
        title = f"{method}: {found.quality.cut_share:.0%} of edges cut"
        axes.set_title(title, color=INK, weight="bold", fontsize=11)
    figure.tight_layout(w_pad=0.5)
    return figure


def ids(parts: Any) -> Figure:
    """A node from its ID in the tables to the local IDs that two parts have of it, and the calls between."""
    (new,) = parts.ids_of("_N", ["eve"]).tolist()
    original = int(parts.nodes["_N"].original_ids[new])
    local = [part.to_pyg().n_id.tolist().index(new) for part in parts.parts]
    last = parts.part(0).num_inner_nodes - 1
    boxes = (
        ('your ID: "eve"', "in your tables"),
        (f"original ID: {original}", "its row in id_map/_N.parquet"),
        (f"new ID: {new}", f"part 0 owns 0 to {last}, part 1 the rest"),
        (f"local ID: {local[0]} in part 0, {local[1]} in part 1", "own nodes first, then halo nodes"),
    )
    calls = (
        f'dgp.read_id_map("parts", "_N").loc[{original}]',
        f'parts.nodes["_N"].original_ids[{new}]',
        f"parts.part(1).to_pyg().n_id[{local[1]}]",
    )
    figure = plt.figure(figsize=(WIDTH, 4.7))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(0, 4.7))
    axes.axis("off")
    arrow = {"arrowstyle": "-|>", "mutation_scale": 12, "color": LINE, "lw": 1.5}
    mono = {"family": "monospace", "fontsize": 7.5, "color": INK, "va": "center"}
    bottoms = [4.02 - i * 1.2 for i in range(len(boxes))]
    for y, (title, where) in zip(bottoms, boxes, strict=True):
        shape = FancyBboxPatch((0.1, y), 2.9, 0.6, boxstyle="round,pad=0.02,rounding_size=0.08", fc="none", ec=LINE)
        axes.add_patch(shape)
        axes.text(0.2, y + 0.42, title, weight="bold", color=PARTS[1], va="center")
        axes.text(0.2, y + 0.16, where, fontsize=8.5, color=INK, va="center")
    for y, call in zip(bottoms, calls, strict=False):
        axes.add_patch(FancyArrowPatch((0.5, y - 0.55), (0.5, y - 0.05), **arrow))
        axes.text(0.65, y - 0.3, call, **mono)
    there_and_back = {**arrow, "arrowstyle": "<|-|>", "connectionstyle": "arc3,rad=-0.3"}
    axes.add_patch(FancyArrowPatch((3.15, bottoms[0] + 0.3), (3.15, bottoms[2] + 0.3), **there_and_back))
    for call, y in (('parts.ids_of("_N", ["eve"])', 0.42), (f'parts.own_ids("_N", [{new}])', 0.16)):
        axes.text(3.7, bottoms[1] + y, call, **mono)
    return figure


if __name__ == "__main__":
    draw_all()
