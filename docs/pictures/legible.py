"""Make pictures legible on a light page and on a dark one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

INK, ON_COLOUR = "#7a828e", "#fefefe"
COLOURS = {
    INK: ("#57606a", "#a9b3bd"),
    "#0d9488": ("#0b7d73", "#2bb5a5"),
    "#94a3b8": ("#64748b", "#94a3b8"),
    "#f97316": ("#c2560a", "#ea6a12"),
    ON_COLOUR: ("#ffffff", "#10262a"),
}
"""Colours as figures draw them, for viewers that know neither page; then those on a light and on a dark page."""


def save_legible(path: Path) -> None:
    """Let the viewer choose the colours of an SVG that matplotlib has written."""
    text = path.read_text(encoding="utf-8")
    sets = ["".join(f"--c{color[1:]}:{on[page]};" for color, on in COLOURS.items()) for page in (0, 1)]
    style = f"<style>:root{{{sets[0]}}}@media(prefers-color-scheme:dark){{:root{{{sets[1]}}}}}</style>"
    for color in COLOURS:
        text = text.replace(color, f"var(--c{color[1:]}, {color})")
    path.write_text(re.sub(r"(<svg\b[^>]*>)", lambda found: f"{found[1]}{style}", text, count=1), encoding="utf-8")
