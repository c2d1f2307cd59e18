"""``daskgraphpart build``: turn tables into a chunked graph, or change one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.command_options import RESOURCE_OPTIONS, refuse_options, run_of, with_options
from daskgraphpart.cli.graph_commands import FORMAT_NAMES, FORMAT_OPTIONS, name_of_directory
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.inputs import INPUT_OPTIONS, TABLE_NAMES, changed_graph, scan_of, scan_of_config
from daskgraphpart.cli.session import echo_result, show_result
from daskgraphpart.errors import OptionError
from daskgraphpart.graph.metadata import ID_MAP, METADATA_FILE
from daskgraphpart.storage.paths import to_path
from daskgraphpart.units import format_seconds


@click.command(cls=Command)
@click.argument("directories", nargs=-1, type=click.Path(), metavar="[CONFIG] OUT")
@click.option(
    "--graph",
    type=click.Path(),
    metavar="DIRECTORY",
    help="Change a chunked graph, or cut it into other files, instead of reading --edges.",
)
@with_options(*INPUT_OPTIONS)
@with_options(*FORMAT_OPTIONS)
@with_options(*RESOURCE_OPTIONS)
def build(**values: Any) -> None:
    """Turn tables of edges and nodes into a chunked graph in OUT.

    CONFIG is a construction config of GraphStorm (gconstruct or GSProcessing), which names the tables itself.

    \b
    daskgraphpart build graph --edges edges.csv
    daskgraphpart build graph --edges 'edges-*.tsv' --endpoints from,to --map-ids
    daskgraphpart build mag240m --from mag240m mag240m_kddcup2021
    daskgraphpart build both-ways --graph graph --add-reverse dgl
    daskgraphpart build config.json graph
    """
    *configs, out_dir = values["directories"] or [None]
    if out_dir is None or len(configs) > 1:
        raise click.UsageError("Give OUT, or CONFIG and OUT.")
    if configs:
        graph = _construction(configs[0], values)
    elif values["graph"] is None:
        values["name"] = values["name"] or name_of_directory(Path(out_dir), "graph")
        graph = scan_of(None, values)
    else:
        refuse_options(TABLE_NAMES, "--graph")
        graph = changed_graph(values["graph"], values)
    form = {name: values[name] for name in ("name", *FORMAT_NAMES)}
    with run_of(values) as run:
        written = graph.write_chunked(out_dir, **form, **run)
    if not values["quiet"]:
        directory = to_path(written.directory)
        kept = f"mapped; the original ones are in {directory / ID_MAP}" if written.id_maps else "as they were"
        echo_result(f"{written!r}\n")
        show_result(f"IDs       {kept}")
        echo_result(f"time      {format_seconds(values['seconds'])}")
        show_result(f"metadata  {directory / METADATA_FILE}")


def _construction(path: str, values: dict[str, Any]) -> Any:
    """Return the tables of a construction config; refuse anything else in its place."""
    scan = None if values["graph"] is not None else scan_of_config(path, values)
    if scan is None:
        expected = "a JSON file with nodes and edges, and no --graph"
        raise OptionError("not a construction config of GraphStorm", place="CONFIG", expected=expected, found=path)
    return scan
