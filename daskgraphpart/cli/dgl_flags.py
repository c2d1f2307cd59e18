"""Options that scripts written for DGL's tools give: those that mean something here, and those that are only taken."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class DglOption(click.Option):
    """An option of one of DGL's scripts; no key of configuration files.

    Parameters
    ----------
    script : str
        The script.
    """

    def __init__(self, *args: Any, script: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.script = script


def dgl_option(*names: str, script: str, meaning: str, **settings: Any) -> Callable[[Any], Any]:
    """Option of a script of DGL's that has a meaning here.

    Parameters
    ----------
    *names : str
        As for `click.option`.
    script : str
        The script.
    meaning : str
        What it is here.
    **settings
        As for `click.option`.
    """
    return click.option(*names, cls=DglOption, script=script, help=f"As {script} has it: {meaning}.", **settings)


def unused_option(
    name: str, *, script: str, why: str, level: int = logging.INFO, is_flag: bool = False
) -> Callable[[Any], Any]:
    """Option of a script of DGL's that changes nothing here; who gives it is told so in the log.

    Parameters
    ----------
    name : str
        The option.
    script : str
        The script.
    why : str
        Why there is nothing to do, or what to do instead.
    level : int
        Of the line in the log: a warning if the outcome is not what DGL's would be.
    is_flag : bool
        Whether it has no value.
    """

    def tell(ctx: click.Context, param: click.Parameter, value: Any) -> None:
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
        callback=tell,
        help=f"As {script} has it: no effect, {why}.",
    )
