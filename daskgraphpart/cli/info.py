"""``daskgraphpart info``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from daskgraphpart.cli.options import CONFINED_OPTION, Command, with_options
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.errors import EnvironmentFaultError, LayoutError
from daskgraphpart.storage.files import is_directory, list_directory
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import resolve_path

if TYPE_CHECKING:
    from daskgraphpart.storage.paths import Location


@click.command("info", cls=Command)
@click.argument("directory", type=click.Path())
@CONFINED_OPTION
@with_options(*LOG_OPTIONS)
def command(directory: str, confined: bool) -> None:
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
    """Whether there is a partition config; one of DGL's dispatch bears the same name as a chunked graph's metadata."""
    names = list_directory(path) if is_directory(path) else {}
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
