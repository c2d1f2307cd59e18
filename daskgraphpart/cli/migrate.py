"""``daskgraphpart migrate``."""

from __future__ import annotations

import click

from daskgraphpart.cli.dgl_flags import dgl_option
from daskgraphpart.cli.options import CONFINED_OPTION, one_of, with_options
from daskgraphpart.cli.session import LOG_OPTIONS


@click.command("migrate")
@click.argument("config", required=False, type=click.Path())
@dgl_option(
    "--part-config", "dgl_config", type=click.Path(), script="change_etype_to_canonical_etype.py", meaning="CONFIG"
)
@CONFINED_OPTION
@with_options(LOG_OPTIONS)
def command(config: str | None, dgl_config: str | None, confined: bool) -> None:
    """Give the partition config CONFIG of DGL 0.9 canonical edge types (src:relation:dst), in place.

    The keys in the files of edge features are changed as well. The old config is kept beside it. DGL's own tool for it
    is change_etype_to_canonical_etype.py.

    \b
    daskgraphpart migrate partitions/mag.json
    daskgraphpart migrate --part-config partitions/mag.json
    """
    from daskgraphpart.conversion.migrate import migrate_config
    from daskgraphpart.partitioned.graph import open_partitions

    path = one_of(config, dgl_config, name="CONFIG")
    if confined:
        open_partitions(path, confined=True)
    kept = migrate_config(path)
    click.echo("nothing to do: edge types are canonical" if kept is None else f"migrated; the old config is {kept}")
