"""Options shared by commands, and what they become; those of jobs come from their dataclasses."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from daskgraphpart.cli.help import Command, Option
from daskgraphpart.cli.session import LOG_OPTIONS, Session
from daskgraphpart.dispatching.dispatch_options import DispatchOptions
from daskgraphpart.engine.progress import ProgressListener, open_progress
from daskgraphpart.engine.resources import Resources
from daskgraphpart.errors import OptionError, PluginError, option_name
from daskgraphpart.graph.graph import read_chunked
from daskgraphpart.layouts.plugin_layouts import load_layout
from daskgraphpart.options import by_name, stated_options
from daskgraphpart.partitioner.assign_options import AssignOptions
from daskgraphpart.registry import plugin_names

if TYPE_CHECKING:
    from dataclasses import Field


logger = logging.getLogger(__name__)


def options_of(kind: type, heading: str, *names: str) -> tuple[Callable[[Any], Any], ...]:
    """Options that a dataclass states; without defaults if found out later."""
    stated = stated_options(kind)
    return tuple(
        click.option(*_names_of(stated[name]), cls=Option, heading=heading, **_settings_of(stated[name]))
        for name in names or stated
        if stated[name].metadata["values"] or not stated[name].metadata["members"]
    )


def _names_of(stated: Field[Any]) -> tuple[str, str]:
    """Flags of an option, and its keyword."""
    name = option_name(stated.name)
    is_open = stated.default is None and stated.metadata["kind"] is bool
    return f"{name}/--no-{name[2:]}" if is_open else name, stated.name


def _settings_of(stated: Field[Any]) -> dict[str, Any]:
    """What click has to know of an option."""
    limits = stated.metadata
    default = (",".join(stated.default) or None) if isinstance(stated.default, tuple) else stated.default
    settings: dict[str, Any] = {
        "default": None if limits["is_open"] else default,
        "metavar": limits["values"],
        "common": limits["common"],
    }
    if re.fullmatch(r"\[[^][]*\]", limits["values"] or ""):
        settings |= {"type": str, "default": (), "multiple": True, "is_bare": True}
    elif limits["kind"] is bool:
        settings |= {"is_flag": True} if stated.default is False else {"default": None}
    elif stated.default == ():
        settings |= {"type": str, "default": (), "multiple": True}
    elif limits["values"] == "DIRECTORY":
        settings["type"] = click.Path(file_okay=False)
    elif limits["values"]:
        settings |= {"type": str, "shell_complete": partial(_complete, limits["choices"])}
    elif limits["choices"]:
        settings["type"] = click.Choice(limits["choices"])
    else:
        settings["type"] = limits["kind"]
    return {"help": limits["meaning"], **settings}


def _complete(choices: tuple[str, ...], ctx: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the last word of a list; anything that is no choice is a path."""
    before, comma, last = typed.rpartition(",")
    completions = [CompletionItem(f"{before}{comma}{choice}") for choice in choices if choice.startswith(last)]
    return completions or [CompletionItem(typed, type="file")]


_shown = partial(click.option, cls=Option, heading="Progress", common=True)
RESOURCE_OPTIONS = (
    *options_of(Resources, "Resources", "memory", "cluster", "workers", "workspace"),
    _shown(
        "--progress",
        type=click.Choice(["auto", "bar", "log", "json", "none"]),
        default="auto",
        metavar="FORM",
        help="auto, bar, log, json or none. It goes to standard error. auto shows a bar in a terminal and nothing "
        "elsewhere; json writes lines for programs.",
    ),
    _shown("--quiet", is_flag=True, help="Show no progress, plan or summary."),
    _shown("--verbose", "-v", is_flag=True, help="Show every pass and a table of the parts."),
    *LOG_OPTIONS,
)
STAGING_OPTIONS = options_of(Resources, "Resources", "staging")
CONFINED_OPTION = click.option(
    "--confined", cls=Option, is_flag=True, help="Refuse input files outside the input directory, even through links."
)
_output = partial(click.option, cls=Option, heading="Output")
OUTPUT_OPTIONS = (
    *options_of(
        DispatchOptions, "Output", "layout", "num_hops", "graph_formats", "out_edges", "map_feature", "hot_rows"
    ),
    _output("--overwrite", is_flag=True, common=True, help="Replace existing partitions in OUT."),
)
JOB_OPTIONS = (
    _output("--restart", is_flag=True, common=True, help="Start over instead of resuming a stopped run."),
    _output("--keep-workspace", is_flag=True, help="Keep the temporary files."),
)
NUM_PARTS_OPTION = click.option("--num-parts", type=int, required=True, help="Number of parts.")
METHOD_OPTIONS = options_of(AssignOptions, "Method")
_DISPATCH_OPTION = _output(
    "--dispatch-to",
    metavar="IP_CONFIG",
    type=click.Path(),
    help="Send the parts to the disks of machines, one address per line of this file. Part p goes to OUT on "
    "machine p modulo lines. Needs a --cluster with a worker on each, and a --workspace that all share.",
)
DISPATCH_OPTIONS = (
    *OUTPUT_OPTIONS,
    _DISPATCH_OPTION,
    *RESOURCE_OPTIONS,
    *STAGING_OPTIONS,
    *JOB_OPTIONS,
    CONFINED_OPTION,
)


WORDS = "daskgraphpart.words"
"""Key of the words of a command in its context."""


class DispatchCommand(Command):
    """A command that writes layouts: it takes the options of those that are plug-ins, too.

    Only layouts that the words of the command may mean are imported: the others would take a fiftieth of a small job.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, with the options of the layouts that they name."""
        ctx.meta[WORDS] = args
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """List the parameters, those of plug-ins before ``--help``; one that cannot be imported has none."""
        *own, help_option = super().get_params(ctx)
        words, names = ctx.meta.get(WORDS, ()), plugin_names("layouts")
        if words and not {"-h", "--help", "--help-all"} & {*words}:
            names = tuple(name for name in names if any(name in word for word in words))
        return [*own, *_options_of_layouts(names), help_option]


@cache
def _options_of_layouts(names: tuple[str, ...]) -> tuple[click.Parameter, ...]:
    options: list[click.Parameter] = []
    for name in names:
        with suppress(PluginError):  # it is an error for who writes this layout; all others do without
            stated = stated_options(load_layout(name)).values()
            how: dict[str, Any] = {"heading": f"Layout {name}", "callback": _keep, "expose_value": False}
            options += [Option(_names_of(of), **how, **_settings_of(of)) for of in stated]
    return tuple(options)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Put the option of a layout, if given, among `DispatchOptions.layout_options`."""
    assert param.name is not None, "options have names"
    if ctx.get_parameter_source(param.name) is not ParameterSource.DEFAULT:
        ctx.params.setdefault("layout_options", {})[param.name] = value


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorate a command with several options, in their order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def keywords_of(values: dict[str, Any], *kinds: type) -> dict[str, Any]:
    """Keywords of a function, from options stated by classes, some of them in mappings."""
    given = {name: values[name] for kind in kinds for name in stated_options(kind) if name in values}
    for name, stated in ((name, stated) for kind in kinds for name, stated in stated_options(kind).items()):
        if members := stated.metadata["members"]:
            inside = {member: given.pop(member) for member in members if member in given}
            others = given.get(name) or {}
            inside |= by_name(others, option_name(name)) if isinstance(others, tuple) else others
            given |= {name: inside} if inside else {}
    return given


def graph_of(in_dir: str | Path, values: dict[str, Any]) -> Any:
    """Return the graph in a directory, open already if `CONFINED_OPTION` was given."""
    if not values["confined"]:
        return in_dir
    return read_chunked(in_dir, confined=True)


@contextmanager
def progress_of(values: dict[str, Any]) -> Iterator[ProgressListener]:
    """Show progress by `RESOURCE_OPTIONS`; nothing when quiet."""
    click.get_current_context().ensure_object(Session).as_json = values["progress"] == "json"
    kind = "bar" if values["verbose"] and values["progress"] == "auto" else values["progress"]
    with open_progress("none" if values["quiet"] else kind) as listener:
        yield listener


@contextmanager
def run_of(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keywords of all functions that start tasks; shows progress and handles Ctrl-C meanwhile.

    Afterwards ``values["seconds"]`` has the elapsed time.
    """
    started = time.monotonic()
    with progress_of(values) as progress, _answering_interrupts("restart" in values):
        yield {"progress": progress, **keywords_of(values, Resources)} | {
            name: values[name] for name in ("overwrite", "restart") if name in values
        }
    values["seconds"] = time.monotonic() - started


@contextmanager
def _answering_interrupts(can_continue: bool) -> Iterator[None]:
    """Answer the first Ctrl-C at once, since running tasks finish first; the second kills the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with suppress(RuntimeError):  # a line was being written
            logger.warning("stopping%s", "; run the same command again to continue" if can_continue else "")
        raise KeyboardInterrupt

    def end(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with suppress(RuntimeError):
            logger.warning("terminated%s", "; run the same command again to continue" if can_continue else "")
        os.kill(os.getpid(), signal.SIGTERM)

    # queues send SIGTERM when the time is up; what our caller handles or ignores stays, as SIGINT of a job behind `&`
    usual = ((signal.SIGINT, signal.default_int_handler, answer), (signal.SIGTERM, signal.SIG_DFL, end))
    ours = [(number, before, handler) for number, before, handler in usual if signal.getsignal(number) is before]
    for number, _, handler in ours:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before, _ in ours:
            signal.signal(number, before)


def refuse_options(
    names: Iterable[str], where: str, what: str = "a chunked graph has its own IDs and features"
) -> None:
    """Refuse options of tables beside a chunked graph or a config."""
    ctx = click.get_current_context()
    for name in names:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise OptionError(
                f"{what}, so {where} does not take this option", place=option_name(name), hint="leave it out"
            )
