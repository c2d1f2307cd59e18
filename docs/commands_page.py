"""Hook of mkdocs: the page of the command line is what `--help` shows of every command, set as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.main import group

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 110


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add the commands to their page."""
    return markdown + "".join(sections()) if page.file.src_uri == "reference/cli.md" else markdown


def sections() -> Iterator[str]:
    """A heading and the help of every command."""
    yield from _sections(_context(group, "daskgraphpart"))


def _sections(ctx: click.Context) -> Iterator[str]:
    yield f"\n## {ctx.command_path}\n\n```text\n{ctx.get_help()}\n```\n"
    if isinstance(ctx.command, click.Group):
        for name in ctx.command.list_commands(ctx):
            command = ctx.command.get_command(ctx, name)
            assert command is not None
            yield from _sections(_context(command, name, ctx))


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent, name, terminal_width=WIDTH, **command.context_settings)
