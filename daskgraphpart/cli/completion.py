"""``daskgraphpart completion``: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from daskgraphpart.cli.command_options import with_options
from daskgraphpart.cli.help import Command
from daskgraphpart.cli.session import LOG_OPTIONS


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
