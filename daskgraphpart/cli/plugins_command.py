"""``daskgraphpart plugins``: list what can be named."""

from __future__ import annotations

import click

from daskgraphpart.cli.command_options import with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.dispatching.dispatch_options import LAYOUTS
from daskgraphpart.errors import PluginError
from daskgraphpart.registry import BUILT_IN, PACKAGE, load_class, package_of, plugin_names, warn_of_unknown_groups
from daskgraphpart.units import text_table


@click.command(cls=Command)
@with_options(*LOG_OPTIONS)
def plugins() -> None:
    """List layouts, methods and readers, and whose they are.

    Those of other packages are imported; one that cannot be is listed with the reason.

    \b
    daskgraphpart plugins
    """
    warn_of_unknown_groups()
    names = {group: LAYOUTS if group == "layouts" else plugin_names(group) for group in BUILT_IN}
    rows = [[group.removesuffix("s"), name, _package(group, name)] for group, of in names.items() for name in of]
    click.echo(text_table(["kind", "name", "package"], rows))


def _package(group: str, name: str) -> str:
    """Name the package and its version, and what is wrong with it."""
    package = package_of(group, name)
    try:
        if package:
            load_class(group, name, object)
    except PluginError as fault:
        return f"{package}: {fault}"
    return package or PACKAGE
