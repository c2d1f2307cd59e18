"""The table at the end of a dispatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from daskgraphpart.display.tables import text_table
from daskgraphpart.display.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from daskgraphpart.dispatching.finish import Outcome

MOST_PARTS_SHOWN = 16


def show_outcome(outcome: Outcome, seconds: float) -> None:
    """Print what each part holds, and the quality of the whole."""
    quality, root = outcome.quality, outcome.config_path.parent
    rows = []
    columns = (quality.num_inner_nodes, quality.num_halo_nodes, quality.num_owned_edges)
    for part, (inner, halo, edges) in enumerate(zip(*columns, strict=True)):
        if part == MOST_PARTS_SHOWN:
            rows.append(["...", "", "", "", ""])
            break
        size = sum(path.stat().st_size for path in (root / f"part{part}").iterdir())
        rows.append([str(part), format_count(inner), format_count(halo), format_count(edges), format_size(size)])
    click.echo(text_table(["part", "inner nodes", "HALO nodes", "owned edges", "on disk"], rows, align=">>>>>"))
    click.echo("")
    click.echo(f"edge cut            {quality.cut_share:.2%} ({format_count(quality.num_cut_edges)} edges)")
    click.echo(f"replication factor  {quality.replication_factor:.2f}")
    click.echo(f"imbalance           nodes {quality.node_imbalance:.1%}, edges {quality.edge_imbalance:.1%}")
    click.echo(f"time                {format_seconds(seconds)}")
    click.echo(f"config              {outcome.config_path}")
