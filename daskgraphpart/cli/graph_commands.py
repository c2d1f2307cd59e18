"""``daskgraphpart generate`` and ``info``: make and show chunked graphs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from daskgraphpart.cli.command_options import CONFINED_OPTION, RESOURCE_OPTIONS, progress_of, with_options
from daskgraphpart.cli.help import Command, Option
from daskgraphpart.cli.session import LOG_OPTIONS, echo_result
from daskgraphpart.engine.resources import resources_of
from daskgraphpart.engine.runner import open_runner
from daskgraphpart.errors import EnvironmentFaultError, LayoutError, MetadataError
from daskgraphpart.graph.graph import read_chunked
from daskgraphpart.layouts.known_outputs import description_of
from daskgraphpart.partitioned.partitioned_graph import open_partitions
from daskgraphpart.registry import plugin_names
from daskgraphpart.schema import check_name
from daskgraphpart.storage.files import is_file, list_directory
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import Location, resolve_path
from daskgraphpart.tools.generate import KINDS
from daskgraphpart.tools.generate import generate as write_synthetic
from daskgraphpart.units import parse_count

_files = partial(click.option, cls=Option, heading="Files to write")
FORMAT_NAMES = ("edge_format", "data_format", "num_chunks")
FORMAT_OPTIONS = (
    _files(
        "--edge-format",
        type=click.Choice(["parquet", "csv", "numpy"]),
        default="parquet",
        help="Format of edge files.",
    ),
    _files("--data-format", type=click.Choice(["numpy", "parquet"]), default="numpy", help="Format of feature files."),
    _files("--num-chunks", type=click.IntRange(min=1), help="Files per edge type and feature; default by size."),
    _files("--overwrite", is_flag=True, common=True, help="Replace an existing graph."),
)
NAMES = ("kind", "seed", *FORMAT_NAMES, "labels", "overwrite")


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path(), metavar="OUT")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="rmat",
    show_default=True,
    help="Power law, communities, or as MAG; papers in order of time, pages of hosts, users and items, LFR's "
    "communities, a knowledge graph of 200 relations, or a 3-d grid with some long edges.",
)
@click.option("--nodes", default="1e6", show_default=True, help="Number of nodes, such as 5e6.")
@click.option("--edges", default="1e7", show_default=True, help="Number of edges.")
@click.option("--features", type=click.IntRange(min=0), help="Width of node features; default 50, or 128 for mag.")
@click.option("--labels", is_flag=True, help="Add labels and train/val/test masks; mag always has them.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed.")
@click.option("--name", help="Name of the graph; default that of its directory.")
@with_options(*FORMAT_OPTIONS)
@with_options(*RESOURCE_OPTIONS)
def generate(**values: Any) -> None:
    """Write a synthetic chunked graph of any size to OUT.

    \b
    daskgraphpart generate graph --nodes 5e6 --edges 5e7
    daskgraphpart generate mag --kind mag --nodes 1e6 --edges 1e7
    """
    with progress_of(values) as progress, open_runner(resources_of(values), progress) as runner:
        write_synthetic(
            values["out_dir"],
            num_nodes=parse_count(values["nodes"]),
            num_edges=parse_count(values["edges"]),
            feature_width=values["features"],
            name=values["name"] or name_of_directory(Path(values["out_dir"]), values["kind"]),
            **{name: values[name] for name in NAMES},
            runner=runner,
        )
    if not values["quiet"]:
        echo_result(repr(read_chunked(values["out_dir"])))


@click.command(cls=Command)
@click.argument("directory", type=click.Path())
@CONFINED_OPTION
@with_options(*LOG_OPTIONS)
def info(directory: str, confined: bool) -> None:
    """Show what a chunked graph or partitions hold, without reading the data.

    \b
    daskgraphpart info graph
    daskgraphpart info parts
    """
    path = resolve_path(directory)
    if is_file(path) and path.suffix != ".json":
        hint = "give a directory with metadata.json or <graph>.json"
        raise MetadataError("neither a chunked graph nor partitions", file=directory, hint=hint)
    if _is_partitioned(path):
        click.echo(repr(open_partitions(directory, confined=confined)))
    else:
        click.echo(repr(read_chunked(directory, confined=confined)))


def name_of_directory(directory: Path, otherwise: str) -> str:
    """Name a graph after its output directory, if DGL's files can hold that name."""
    name = directory.absolute().name
    try:
        check_name(name, "graph name")
    except MetadataError:
        return otherwise
    return name


def _is_partitioned(path: Location) -> bool:
    """Whether there is a partition config (perhaps named like a graph's metadata), or another layout."""
    names = list_directory(path)
    if any(is_file(path / description_of(layout)) for layout in plugin_names("layouts")):
        return True
    candidates = [path / name for name in names if name.endswith(".json")] if names else [path]
    for candidate in candidates:
        try:
            content = read_json_object(candidate, LayoutError)
        except EnvironmentFaultError:
            raise
        except (OSError, LayoutError):
            continue
        if "part-0" in content:
            return True
    return False
