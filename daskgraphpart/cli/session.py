"""State of one command: its log, and how it writes to standard error."""

from __future__ import annotations

import errno
import logging
import os
import re
import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click

from daskgraphpart.cli.help import Option
from daskgraphpart.engine.displays import json_event
from daskgraphpart.errors import EnvironmentFaultError

logger = logging.getLogger("daskgraphpart")

LEVELS = ("debug", "info", "warning", "error", "critical")
FILE_FORMAT = "%(asctime)s %(levelname)s %(message)s"


@dataclass(slots=True)
class Session:
    """State of one call."""

    words: Sequence[str] = ()  # arguments, as typed
    as_json: bool = False  # standard error gets only JSON lines
    handlers: list[logging.Handler] = field(default_factory=list)  # added to the log by this command

    def open_log(self) -> None:
        """Log to standard error, unless our caller has its own log."""
        logger.setLevel(logging.INFO)
        if not logging.getLogger().handlers:
            self._add(_StderrHandler(self))

    def log_to(self, path: str) -> None:
        """Also append the log to a file, with times."""
        try:
            self._add(logging.FileHandler(path, encoding="utf-8"), FILE_FORMAT)
        except OSError as fault:
            raise EnvironmentFaultError(
                "cannot write the log", file=path, option="log_file", found=fault.strerror
            ) from fault

    def close(self) -> None:
        """Take the log down."""
        for handler in self.handlers:
            logging.getLogger().removeHandler(handler)
            handler.close()

    def show(self, event: str, prefix: str, text: str, **content: Any) -> None:
        """Write a line to standard error, or its event for programs."""
        text = self.as_typed(text)
        line = f"{prefix}: {text}" if prefix else text
        click.echo(json_event(event, **content, text=text).rstrip() if self.as_json else line, err=True)

    def show_error(self, text: str, exit_code: int, **content: Any) -> int:
        """Write why the command ends, in one line; return the exit code."""
        self.show("error", "error", text, exit_code=exit_code, **content)
        return exit_code

    def as_typed(self, text: str) -> str:
        """Leave the working directory out of paths below it, unless an argument names it."""
        with suppress(OSError):  # it may be gone
            here = f"{os.getcwd().rstrip('/')}/"
            if len(here) > 1 and not any(here in word for word in self.words):
                # in the command for the shell, too, a name that begins with - must not become an option
                return re.sub(rf"(?<![\w./:-]){re.escape(here)}(-?)", lambda match: "./-" if match[1] else "", text)
        return text

    def _add(self, handler: logging.Handler, form: str = "%(message)s") -> None:
        handler.setFormatter(logging.Formatter(form))
        handler.addFilter(_is_for_users)
        logging.getLogger().addHandler(handler)
        self.handlers.append(handler)


def _is_for_users(record: logging.LogRecord) -> bool:
    """Whether a record is ours, or at least a warning; distributed logs everything it does."""
    return record.name.startswith("daskgraphpart") or record.levelno >= logging.WARNING


class _StderrHandler(logging.Handler):
    """Writes to the current standard error: progress bars replace it, and stay below the lines."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        with suppress(OSError):
            name = record.levelname.lower()
            self.session.show("log", "" if record.levelno == logging.INFO else name, text, level=name)


def command_of(name: str, paths: Sequence[str], *options: str) -> str:
    """Write a command for the shell; a path that begins with - would be an option."""
    return shlex.join(["daskgraphpart", name, *(f"./{path}" if path[:1] == "-" else path for path in paths), *options])


def show_result(text: str) -> None:
    """Write to standard output what has been done, with paths as they were typed."""
    echo_result(click.get_current_context().ensure_object(Session).as_typed(text))


def echo_result(text: str) -> None:
    """Write to standard output what has been done; if that fails, say that nothing else is missing."""
    try:
        click.echo(text)
    except OSError as fault:
        if fault.errno == errno.EPIPE:  # whose reader has seen enough
            raise
        what, hint = "the summary cannot be written", "the output itself is complete; do not run again"
        raise EnvironmentFaultError(what, file="standard output", found=fault.strerror, hint=hint) from fault


def _log_level(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        logger.setLevel(value.upper())


def _log_file(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Session).log_to(value)


_log = partial(click.option, cls=Option, heading="Progress", expose_value=False, is_eager=True)
LOG_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _log(
        "--log-level",
        type=click.Choice(LEVELS, case_sensitive=False),
        callback=_log_level,
        help="Least level to log to standard error; default info.",
    ),
    _log("--log-file", type=click.Path(dir_okay=False), callback=_log_file, help="Append the log to this file, too."),
)
