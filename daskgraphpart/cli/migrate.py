"""``daskgraphpart migrate``."""

from __future__ import annotations

import click

from daskgraphpart.cli.options import CONFINED_OPTION


@click.command("migrate")
@click.argument("config", type=click.Path())
@CONFINED_OPTION
def command(config: str, confined: bool) -> None:
    """Give the partition config CONFIG of DGL 0.9 canonical edge types (src:relation:dst), in place.

    The keys in the files of edge features are changed as well. The old config is kept beside it. DGL's own tool for it
    is change_etype_to_canonical_etype.py.

    \b
    daskgraphpart migrate partitions/mag.json
    """
    from daskgraphpart.conversion.migrate import migrate_config
    from daskgraphpart.partitioned.graph import open_partitions

    if confined:
        open_partitions(config, confined=True)
    kept = migrate_config(config)
    click.echo("nothing to do: edge types are canonical" if kept is None else f"migrated; the old config is {kept}")
