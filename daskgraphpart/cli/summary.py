"""Print the summary of a dispatch."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.inputs import INPUT_NAMES
from daskgraphpart.cli.session import command_of, echo_result, show_result
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.graph.transforms.changes import GraphChanges
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.storage.paths import is_remote
from daskgraphpart.units import format_count, format_number, format_seconds, format_size, text_table

if TYPE_CHECKING:
    from daskgraphpart.dispatching.finish import JobResult
    from daskgraphpart.partitioner.assign_report import AssignReport
    from daskgraphpart.quality import Quality

MAX_PARTS_SHOWN = 16


def show_outcome(outcome: JobResult, values: Mapping[str, Any], graph: Sequence[str] | None = None) -> None:
    """Print the quality and place of partitions; if verbose, a table of parts.

    `graph` has the arguments that name it, none if options do.
    """
    if values["quiet"]:
        return
    quality, config, sizes, report = outcome.quality, outcome.config_path, outcome.part_nbytes, outcome.report
    if values["verbose"]:
        echo_result(_part_table(outcome))
        echo_result("")
    halo = f"{format_count(sum(quality.num_halo_nodes))}, replication factor {quality.replication_factor:.2f}"
    balance = f"nodes {1 + quality.node_imbalance:.3f}, edges {1 + quality.edge_imbalance:.3f}"
    facts = {
        "parts": f"{len(sizes)}, {format_size(sum(sizes))} in all",
        "edge cut": cut_of(quality) + weight_of_cut(report),
        "halo nodes": halo,
        "balance": f"{balance if report is None else balance_of(report)}; largest part / average",
        "time": format_seconds(values["seconds"]),
        "config": f"{config} on each machine" if outcome.hosts else str(config),
    }
    if outcome.traffic:
        facts["store"] = outcome.traffic
    if report is not None:
        facts = {"method": report.summary, **rows_of(report), **facts}
    if not outcome.hosts and "dgl" in chosen(DispatchOptions, values).graphs:
        out = str(config.parent)
        if graph is not None:
            verify = command_of("verify", [*graph, out])
            facts["to verify"] = " ".join([verify, " \\\n              ".join(_changes())]).strip()
        facts["to report"] = command_of("report", [out], "--output", "report.html")
        if not is_remote(config):
            facts["in DGL"] = f"dgl.distributed.load_partition({str(config)!r}, 0)"
        facts["in PyG"] = f"daskgraphpart.open_partitions({out!r}).part(0).to_pyg()"
    show_facts(facts)


def _changes() -> list[str]:
    """Options that change the graph, as given, with their values: `verify` needs them, too."""
    ctx, names, given = click.get_current_context(), {*INPUT_NAMES, *stated_options(GraphChanges)}, []
    for option in ctx.command.params:
        if option.name in names and ctx.get_parameter_source(option.name) is ParameterSource.COMMANDLINE:
            values = ctx.params[option.name] if option.multiple else [ctx.params[option.name]]
            bare = ("", True) if getattr(option, "is_bare", False) else (True,)
            given += [shlex.join(option.opts[:1] + ([] if value in bare else [str(value)])) for value in values]
    return given


def _part_table(outcome: JobResult) -> str:
    quality, headings = outcome.quality, ["part", "own nodes", "halo nodes", "own edges", "on disk"]
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


def cut_of(of: Quality | AssignReport) -> str:
    """Share and number of cut edges."""
    return f"{of.cut_share:.2%} ({format_number(of.num_cut_edges, 'edge')})"


def rows_of(report: AssignReport) -> dict[str, str]:
    """Rows that training fetches, if its fan-outs are known."""
    if report.rows is None:
        return {}
    rows, inputs = report.rows, sum(report.rows.inputs)
    counts = f"{format_count(rows.num_fetched)} of {format_count(inputs)} in an epoch"
    size = f", {format_size(sum(rows.nbytes))}" if any(rows.nbytes) else ""
    fetched = f"{rows.share:.2%} of rows ({counts}{size})"
    return {"fetched": f"{fetched}; work of the busiest part {rows.busiest:.3f} of the average"}


def weight_of_cut(report: AssignReport | None) -> str:
    """Share of the weight that is cut, if edges have weights."""
    cut = None if report is None else report.weighted
    return "" if cut is None else f", {cut.share:.2%} of their weight ({cut.cut:,.6g} of {cut.total:,.6g})"


def balance_of(report: AssignReport) -> str:
    """Ratios that constraints reach and may reach."""
    allowed = ["" if of.allowed is None else f" (at most {of.allowed:.3f})" for of in report.balances]
    return ", ".join(f"{f.name} {f.ratio:.3f}{most}" for f, most in zip(report.balances, allowed, strict=True))


def show_facts(facts: Mapping[str, str]) -> None:
    """Print a line for each."""
    for name, value in facts.items():
        show_result(f"{name:<10}  {value}")
