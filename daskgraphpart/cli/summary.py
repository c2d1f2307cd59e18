"""Print the summary of an assignment, and of a dispatch."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.tables import text_table
from daskgraphpart.units import format_count, format_seconds, format_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from daskgraphpart.assignment.assignment import Assignment
    from daskgraphpart.dispatching.finish import Outcome

MAX_PARTS_SHOWN = 16


def show_outcome(outcome: Outcome, values: Mapping[str, Any], in_dir: str | Path | None = None) -> None:
    """Print the quality of the partitions and where they are; the table of parts if verbose."""
    if values["quiet"]:
        return
    quality, config, sizes = outcome.quality, outcome.config_path, outcome.part_nbytes
    if values["verbose"]:
        click.echo(_part_table(outcome))
        click.echo("")
    facts = {
        "parts": f"{len(sizes)}, {format_size(sum(sizes))} in all",
        "edge cut": f"{quality.cut_share:.2%} ({format_count(quality.num_cut_edges)} edges)",
        "replication factor": f"{quality.replication_factor:.2f}",
        "imbalance": f"nodes {quality.node_imbalance:.1%}, edges {quality.edge_imbalance:.1%}",
        "time": format_seconds(values["seconds"]),
        "config": f"{config} on each machine" if outcome.hosts else str(config),
    }
    if in_dir is not None and not outcome.hosts and "dgl" in values["layout"]:
        facts["to verify"] = shlex.join(["daskgraphpart", "verify", str(in_dir), str(config.parent)])
    for name, value in facts.items():
        click.echo(f"{name:<18}  {value}")


def _part_table(outcome: Outcome) -> str:
    """Lay out what each part holds."""
    quality, headings = outcome.quality, ["part", "inner nodes", "HALO nodes", "owned edges", "on disk"]
    columns = (quality.num_inner_nodes, quality.num_halo_nodes, quality.num_owned_edges)
    rows = [
        [str(part), *map(format_count, counts), format_size(outcome.part_nbytes[part])]
        for part, counts in enumerate(zip(*(column[:MAX_PARTS_SHOWN] for column in columns), strict=True))
    ]
    if outcome.hosts:
        headings.append("machine")
        rows = [[*row, host] for row, host in zip(rows, outcome.hosts, strict=False)]
    if len(outcome.part_nbytes) > MAX_PARTS_SHOWN:
        rows.append(["..."] + [""] * (len(headings) - 1))
    return text_table(headings, rows, align=">>>>><"[: len(headings)])


def show_assignment(assignment: Assignment, seconds: float, directory: str) -> None:
    """Print method, cut, communication volume and the balance of every constraint."""
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
    """Write the report of an assignment as JSON."""
    from daskgraphpart.storage.atomic import write_json
    from daskgraphpart.storage.faults import environment_faults

    assert assignment.report is not None, "assign measures every assignment"
    report = assignment.report
    shares = {"cut_share": report.cut_share, "replication_factor": report.replication_factor}
    with environment_faults():
        write_json(Path(path), {**asdict(report), **shares, "warnings": list(report.warnings)})
