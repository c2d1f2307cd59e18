"""``daskgraphpart completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from daskgraphpart.cli.options import with_options
from daskgraphpart.cli.session import LOG_OPTIONS


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_options(LOG_OPTIONS)
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script by which SHELL completes commands, options and their choices.

    \b
    daskgraphpart completion bash > ~/.local/share/bash-completion/completions/daskgraphpart
    daskgraphpart completion zsh > ~/.zfunc/_daskgraphpart     (a directory of your fpath)
    daskgraphpart completion fish > ~/.config/fish/completions/daskgraphpart.fish
    """
    completion = get_completion_class(shell)
    assert completion is not None, "click knows these shells"
    click.echo(completion(ctx.find_root().command, {}, "daskgraphpart", "_DASKGRAPHPART_COMPLETE").source())
