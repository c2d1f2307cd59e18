"""``daskgraphpart generate``."""

from __future__ import annotations

from typing import Any

import click

from daskgraphpart.cli.options import FORMAT_OPTIONS, RESOURCE_OPTIONS, Command, progress_of, resources_of, with_options

NAMES = ("kind", "seed", "edge_format", "data_format", "num_chunks", "labels", "overwrite")


@click.command("generate", cls=Command)
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
def command(**values: Any) -> None:
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
