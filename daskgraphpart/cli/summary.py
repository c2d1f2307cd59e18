"""The tables at the end of an assignment and of a dispatch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from daskgraphpart.storage.files import file_sizes_in
from daskgraphpart.tables import text_table
from daskgraphpart.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.dispatching.finish import Outcome

MOST_PARTS_SHOWN = 16


def show_outcome(outcome: Outcome, seconds: float) -> None:
    """Print what each part holds, and the quality of the whole."""
    quality, root, rows = outcome.quality, outcome.config_path.parent, []
    columns = (quality.num_inner_nodes, quality.num_halo_nodes, quality.num_owned_edges)
    for part, (inner, halo, edges) in enumerate(zip(*columns, strict=True)):
        if part == MOST_PARTS_SHOWN:
            rows.append(["...", "", "", "", "", ""])
            break
        sizes = outcome.part_nbytes or {part: sum(file_sizes_in(root / f"part{part}").values())}
        cells = [str(part), format_count(inner), format_count(halo), format_count(edges), format_size(sizes[part])]
        rows.append([*cells, outcome.hosts[part] if outcome.hosts else ""])
    headings = ["part", "inner nodes", "HALO nodes", "owned edges", "on disk", "machine"]
    shown = slice(None if outcome.hosts else -1)
    click.echo(text_table(headings[shown], [row[shown] for row in rows], align=">>>>><"[shown]))
    click.echo("")
    click.echo(f"edge cut            {quality.cut_share:.2%} ({format_count(quality.num_cut_edges)} edges)")
    click.echo(f"replication factor  {quality.replication_factor:.2f}")
    click.echo(f"imbalance           nodes {quality.node_imbalance:.1%}, edges {quality.edge_imbalance:.1%}")
    click.echo(f"time                {format_seconds(seconds)}")
    where = " on each machine" if outcome.hosts else ""
    click.echo(f"config              {outcome.config_path}{where}")


def show_assignment(assignment: Assignment, seconds: float, directory: str) -> None:
    """Print what was used, cut, communication volume and the balance of every constraint."""
    report = assignment.report
    if report is not None:
        click.echo(f"method               {report.method}: {report.why}")
        click.echo(f"edge cut             {report.cut_share:.2%} ({format_count(report.num_cut_edges)} edges)")
        click.echo(f"communication volume {format_count(report.volume)} (replication {report.replication_factor:.2f})")
        for balance in report.balances:
            allowed = "" if balance.allowed is None else f" (at most {balance.allowed:.3f})"
            click.echo(f"{'balance of ' + balance.name:<20} {balance.ratio:.3f}{allowed}")
    parts = f"{assignment.num_parts} parts"
    click.echo(f"{'owners':<20} {parts} in {format_seconds(seconds)}: {directory}")


def write_report(assignment: Assignment, path: str) -> None:
    """Write what an assignment is worth, as JSON."""
    from daskgraphpart.storage.atomic import write_json
    from daskgraphpart.storage.faults import environment_faults

    assert assignment.report is not None, "assign measures every assignment"
    report = assignment.report
    shares = {"cut_share": report.cut_share, "replication_factor": report.replication_factor}
    with environment_faults():
        write_json(Path(path), {**asdict(report), **shares, "warnings": list(report.warnings)})
