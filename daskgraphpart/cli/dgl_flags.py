"""Options of DGL's own scripts: those that mean something here, and those that are accepted without effect."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.session import Option

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class DglOption(Option):
    """An option of one of DGL's scripts."""

    def __init__(self, *args: Any, script: str, **settings: Any) -> None:
        super().__init__(*args, heading="Options of DGL's scripts", **settings)
        self.script = script


def dgl_option(*names: str, script: str, meaning: str, **settings: Any) -> Callable[[Any], Any]:
    """Option of a script of DGL's that means something here."""
    return click.option(*names, cls=DglOption, script=script, help=f"As {script} has it: {meaning}.", **settings)


def unused_option(
    name: str, *, script: str, why: str, level: int = logging.INFO, is_flag: bool = False
) -> Callable[[Any], Any]:
    """Option of a script of DGL's that changes nothing here, as the log says: by a warning if it would elsewhere."""

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
        help=f"As {script} has it: no effect, {why}.",
    )
