"""Figures as one HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from daskgraphpart.reporting.text import report_text

if TYPE_CHECKING:
    from daskgraphpart.reporting.figures import Figures


def report_page(figures: Figures) -> str:
    """Return a whole page."""
    return f"<!doctype html><html><body>{report_fragment(figures)}</body></html>"


def report_fragment(figures: Figures) -> str:
    """Return what a notebook shows."""
    return f"<pre>{escape(report_text(figures))}</pre>"
