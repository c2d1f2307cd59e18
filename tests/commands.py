"""Call the command line in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest
from inside import group, main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def call(*arguments: str | Path) -> int:
    """Run `daskgraphpart ARGUMENTS`; the exit code."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def every_command() -> dict[tuple[str, ...], click.Command]:
    """Every command, and every command of a command, by its words."""
    return dict(_walk(group, ()))


def _walk(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield (*path, name), inner
            yield from _walk(inner, (*path, name))
