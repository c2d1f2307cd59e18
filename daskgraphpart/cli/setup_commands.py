"""``daskgraphpart completion``, ``dgl-tools`` and ``plugins``: what shells and scripts need, and what can be named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from daskgraphpart.cli.command_options import with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.dispatching.dispatch_options import LAYOUTS
from daskgraphpart.errors import PluginError
from daskgraphpart.registry import BUILT_IN, PACKAGE, load_class, package_of, plugin_names, warn_of_unknown_groups
from daskgraphpart.storage.atomic import write_bytes
from daskgraphpart.units import text_table


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_options(*LOG_OPTIONS)
def completion(shell: str) -> None:
    """Print a script that completes commands and options in your shell.

    Load it once, or add the line to ~/.bashrc or ~/.zshrc.

    \b
    eval "$(daskgraphpart completion bash)"
    daskgraphpart completion fish > ~/.config/fish/completions/daskgraphpart.fish
    """
    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None, "click completes in these shells"
    for name in ("daskgraphpart", "dgp"):
        click.echo(kind(root.command, {}, name, "_DASKGRAPHPART_COMPLETE").source())


SCRIPTS = {
    "partition_algo/random_partition.py": ("assign", "--method", "random", "--overwrite"),
    "dispatch_data.py": ("dispatch",),
    "verify_partitions.py": ("verify",),
    "distpartitioning/parmetis_preprocess.py": ("parmetis", "write", "--overwrite"),
    "distpartitioning/parmetis_postprocess.py": ("parmetis", "read", "--overwrite"),
}
SCRIPT = """# Written by `daskgraphpart dgl-tools`: runs it in place of the script of dgl/tools, by whichever Python 3.
import os
import sys

if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":  # of several processes that mpirun starts, one does the work
    os.execv({python!r}, [{python!r}, "-m", "daskgraphpart", *{command!r}, *sys.argv[1:]])
"""


@click.command("dgl-tools", cls=Command)
@click.argument("directory", required=False, type=click.Path(file_okay=False))
@with_options(*LOG_OPTIONS)
def dgl_tools(directory: str | None) -> None:
    """Write stand-ins for the scripts of dgl/tools; print their directory.

    They run daskgraphpart by the Python of this command. DIRECTORY is by default one in your configuration.

    \b
    daskgraphpart dgl-tools tools
    python -m graphstorm.gpartition.dist_partition_graph ... \\
        --dgl-tool-path $(python -m daskgraphpart dgl-tools)
    """
    target = Path(directory or f"{click.get_app_dir('daskgraphpart')}/dgl-tools").absolute()
    for name, words in SCRIPTS.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target / name, SCRIPT.format(python=os.path.abspath(sys.executable), command=words).encode())
    click.echo(target)


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
