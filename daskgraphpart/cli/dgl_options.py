"""Options that commands take over from DGL's scripts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.help import Option

logger = logging.getLogger(__name__)


def one_of(*given: Any, name: str) -> Any:
    """Return the only value given, positional or by one of DGL's flags."""
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise click.UsageError(f"{'Missing' if not values else 'Give only one'} {name}.")
    return values[0]


class DglOption(Option):
    """An option of one of DGL's scripts."""

    def __init__(self, *args: Any, script: str, **settings: Any) -> None:
        super().__init__(*args, heading=f"As DGL's {script} has them", **settings)
        self.script = script


def dgl_option(*names: str, script: str, meaning: str, **settings: Any) -> Callable[[Any], Any]:
    """Option of a DGL script that has a meaning here."""
    return click.option(*names, cls=DglOption, script=script, help=f"{meaning}.", **settings)


def unused_option(
    name: str, *, script: str, why: str, level: int = logging.INFO, is_flag: bool = False
) -> Callable[[Any], Any]:
    """Option of a DGL script without effect, as the log says; a warning if DGL would act on it."""

    def log(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        assert param.name is not None, "options have names"
        if ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            logger.log(level, "%s is accepted and has no effect: %s", name, why)

    return click.option(
        name,
        cls=DglOption,
        script=script,
        is_flag=is_flag,
        metavar=None if is_flag else "VALUE",
        expose_value=False,
        callback=log,
        help=f"No effect: {why}.",
    )
