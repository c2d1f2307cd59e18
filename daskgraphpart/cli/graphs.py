"""``daskgraphpart generate`` and ``daskgraphpart info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.options import (
    CONFINED_OPTION,
    FORMAT_OPTIONS,
    RESOURCE_OPTIONS,
    Command,
    progress_of,
    resources_of,
    with_options,
)
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.errors import EnvironmentFaultError, LayoutError
from daskgraphpart.layouts.written_files import OWN_LAYOUTS, description_of
from daskgraphpart.storage.files import is_directory, is_file, list_directory
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import resolve_path

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import Location

NAMES = ("kind", "seed", "edge_format", "data_format", "num_chunks", "labels", "overwrite")


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path())
@click.option(
    "--kind",
    type=click.Choice(["rmat", "mag", "communities"]),
    default="rmat",
    show_default=True,
    help="Power-law homogeneous, MAG-like heterogeneous, or homogeneous with communities.",
)
@click.option("--nodes", default="1e6", show_default=True, help="Number of nodes, such as 5e6.")
@click.option("--edges", default="1e7", show_default=True, help="Number of edges.")
@click.option(
    "--features", type=click.IntRange(min=0), help="Width of the node features; default 50 (rmat) or 128 (mag)."
)
@click.option("--labels", is_flag=True, help="Add labels and train/val/test masks (mag has them anyway).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed.")
@with_options(*FORMAT_OPTIONS)
@click.option("--num-chunks", type=click.IntRange(min=1), help="Files per type; default by size.")
@click.option("--overwrite", is_flag=True, help="Replace a graph that is in OUT_DIR.")
@with_options(*RESOURCE_OPTIONS)
def generate(**values: Any) -> None:
    """Write a synthetic chunked graph (CGDF) to OUT_DIR, chunk by chunk.

    \b
    daskgraphpart generate graph --nodes 5e6 --edges 5e7
    daskgraphpart generate mag --kind mag --nodes 1e6 --edges 1e7 --edge-format csv
    """
    from daskgraphpart.chunked.graph import read_chunked
    from daskgraphpart.engine.runner import open_runner
    from daskgraphpart.sources.generate import generate
    from daskgraphpart.units import parse_count

    with progress_of(values) as progress, open_runner(resources_of(values), progress) as runner:
        generate(
            values["out_dir"],
            num_nodes=parse_count(values["nodes"]),
            num_edges=parse_count(values["edges"]),
            feature_width=values["features"],
            **{name: values[name] for name in NAMES},
            runner=runner,
        )
    if not values["quiet"]:
        click.echo(repr(read_chunked(values["out_dir"])))


@click.command(cls=Command)
@click.argument("directory", type=click.Path())
@CONFINED_OPTION
@with_options(*LOG_OPTIONS)
def info(directory: str, confined: bool) -> None:
    """Show what the chunked graph, or the partitioned graph, in DIRECTORY holds. Reads no data.

    \b
    daskgraphpart info graph
    daskgraphpart info partitions
    """
    if _is_partitioned(resolve_path(directory)):
        from daskgraphpart.partitioned.graph import open_partitions

        click.echo(repr(open_partitions(directory, confined=confined)))
    else:
        from daskgraphpart.chunked.graph import read_chunked

        click.echo(repr(read_chunked(directory, confined=confined)))


def _is_partitioned(path: Location) -> bool:
    """Whether there is a partition config, which may bear the name of a chunked graph's metadata, or another layout."""
    names = list_directory(path) if is_directory(path) else {}
    if any(is_file(path / description_of(layout)) for layout in OWN_LAYOUTS):
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
