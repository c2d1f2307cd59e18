"""Plots, with matplotlib if it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence


def draw_lines(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], x_label: str, path: str | os.PathLike[str]
) -> None:
    """Draw panels side by side, a line per name, both axes logarithmic where values are positive."""
    try:
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise OptionError("matplotlib is not installed", place="--plot", hint="pip install matplotlib") from fault
    figure = Figure(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            axis.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=4, label=name)
        ticks = sorted({x for points in lines.values() for x, _ in points})
        axis.set_xscale("log", base=2)
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        if all(y > 0 for points in lines.values() for _, y in points):
            axis.set_yscale("log")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(x_label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    try:
        figure.savefig(path)
    except ValueError as fault:
        raise OptionError("unknown format of a picture", place="--plot", found=str(fault)) from fault
