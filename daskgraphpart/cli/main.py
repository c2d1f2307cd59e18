"""Find the subcommand of `daskgraphpart`, and turn errors into exit codes.

Exit codes: 0 done; 1 `verify` found faults; 2 a mistake in input or usage; 3 the machine failed (disk, worker);
70 our bug; 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import sys
from itertools import pairwise
from typing import Any

import click

from daskgraphpart import __version__
from daskgraphpart.cli.session import LOG_OPTIONS, Session
from daskgraphpart.errors import EnvironmentFaultError, GraphPartError, did_you_mean, write_sentences
from daskgraphpart.storage.faults import environment_faults

logger = logging.getLogger("daskgraphpart")

COMMANDS = {
    "partition": ("partition", "Partition a graph, or tables."),
    "verify": ("verify_command", "Compare partitions with their graph, node by node."),
    "report": ("report_command", "Show how good partitions are: rows fetched, cut, balance."),
    "plan": ("partition", "Estimate disk, memory and method of a partition."),
    "compare": ("compare_command", "Compare methods: cut, balance, time, memory."),
    "build": ("build_command", "Turn tables into a chunked graph."),
    "info": ("graph_commands", "Show what a graph or partitions hold."),
    "assign": ("assign_dispatch", "Give every node an owner; the first half of partition."),
    "dispatch": ("assign_dispatch", "Write the parts; the second half of partition."),
    "add": ("add_command", "Add features to finished partitions."),
    "to-original": ("id_commands", "Put predictions or embeddings back into your own order."),
    "from-original": ("id_commands", "Put rows of your own order into that of the parts."),
    "ids": ("id_commands", "Show the new IDs of your own ones, or the reverse."),
    "generate": ("graph_commands", "Write a synthetic graph of any size."),
    "parmetis": ("parmetis_commands", "Partition with ParMETIS: write, read, convert."),
    "dgl-tools": ("setup_commands", "Write stand-ins for the scripts of dgl/tools."),
    "plugins": ("setup_commands", "List layouts, methods and readers, and whose they are."),
    "completion": ("setup_commands", "Print a script that completes commands in your shell."),
}
"""Module of each command, and what `--help` says, in the order of use."""
MISTAKE_EXIT_CODE, ENVIRONMENT_EXIT_CODE, BUG_EXIT_CODE, INTERRUPTED_EXIT_CODE = 2, 3, 70, 130


class _Interrupted(Exception):  # noqa: N818
    """Ctrl-C; click would print lines of its own."""


class _Commands(click.Group):
    """Imports a subcommand when called, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"daskgraphpart.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # one program reads all, so earlier warnings and errors are JSON, too
        if "--progress=json" in args or ("--progress", "json") in pairwise(args):
            ctx.ensure_object(Session).as_json = True
        name = _with_dashes(args[0])
        if name not in COMMANDS and not name.startswith("-"):
            ctx.fail(write_sentences([f"No such command {args[0]!r}", *filter(None, [did_you_mean(name, COMMANDS)])]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as fault:
            raise _Interrupted("; ".join(getattr(fault, "__notes__", []))) from None


def _with_dashes(token: str) -> str:
    """Accept underscores in options, as in some of DGL's scripts."""
    return token.replace("_", "-")


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the version, with ``--verbose`` all that a bug report needs, and end."""
    if value:
        # the report imports importlib.metadata, which takes 25 ms
        verbose = ctx.params["verbose"] and importlib.import_module("daskgraphpart.cli.versions")
        click.echo(verbose.version_report() if verbose else f"daskgraphpart {__version__}")
        ctx.exit()


@click.command(
    cls=_Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "show_default": True,
        "token_normalize_func": _with_dashes,
        "max_content_width": 120,
    },
    epilog="`daskgraphpart COMMAND --help` shows the common options of a command, --help-all all of them. Exit codes: "
    "0 done, 1 verify found faults, 2 wrong input or usage, 3 the machine failed (run the command again to continue), "
    "70 a bug in daskgraphpart, 130 interrupted.",
)
@click.option("-V", "--version", is_flag=True, expose_value=False, callback=_show_version, help="Show the version.")
@click.option(
    "--verbose",
    is_flag=True,
    is_eager=True,
    help="With --version: also of all libraries, and the machine, for a bug report.",
)
@LOG_OPTIONS[0]
@LOG_OPTIONS[1]
def group(verbose: bool) -> None:
    """Partition graphs that do not fit into memory, for distributed GNN training.

    \b
    daskgraphpart partition parts --num-parts 4 --edges edges.csv
    daskgraphpart verify parts --edges edges.csv
    daskgraphpart info parts
    """
    if verbose:
        raise click.UsageError("--verbose goes with --version. Type daskgraphpart --version --verbose.")


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; ends the process with an exit code."""
    if arguments is None:  # a process of our own
        _do_without_extras()
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by our caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    session = Session(sys.argv[1:] if arguments is None else arguments)
    session.open_log()
    try:
        code = _run(arguments, session)
    finally:
        session.close()
        if arguments is None and "duckdb" not in sys.modules:  # duckdb would complain about what is not freed
            gc.freeze()  # else Python searches all imports for garbage: 0.22 of 1.04 s, of a tiny `partition`
    sys.exit(code)


def _do_without_extras() -> None:
    """Let numba not find the BLAS of scipy and cffi, and numpy's BLAS start no threads, which wait busily at first.

    No kernel needs them, and they take 0.33 of 1.15 seconds of a tiny `partition`, and 16 MB.
    """
    for name in ("scipy.linalg", "cffi"):
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run(arguments: list[str] | None, session: Session) -> int:
    """Run a command; on failure print one line; return the exit code."""
    try:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            raise EnvironmentFaultError("kernels do not run uncompiled", place="NUMBA_DISABLE_JIT", hint="unset it")
        with environment_faults():
            if sys.getfilesystemencoding() != "utf-8":
                # UTF-8 that was read as something else has no encoding
                "".join(sys.argv[1:] if arguments is None else arguments).encode()
            code = group.main(args=arguments, prog_name="daskgraphpart", standalone_mode=False, obj=session)
    except click.ClickException as error:
        return _show_usage(error, session)
    except (_Interrupted, KeyboardInterrupt, click.Abort) as stop:
        if sys.stderr.isatty():
            click.echo(err=True)  # after the terminal's ^C
        return session.show_error(f"interrupted{'. ' if str(stop) else ''}{stop}", INTERRUPTED_EXIT_CODE)
    except GraphPartError as error:
        text = f"{error.for_command_line()} [{error.kind}]"
        return session.show_error(text, error.exit_code, kind=error.kind)
    except MemoryError:
        return session.show_error("Out of memory. Give a smaller --memory or fewer --workers.", ENVIRONMENT_EXIT_CODE)
    except Exception:
        logger.exception("This is a bug in daskgraphpart. Please report the lines below and the command you ran.")
        return BUG_EXIT_CODE
    return code if isinstance(code, int) else 0


def _show_usage(error: click.ClickException, session: Session) -> int:
    """Print a usage mistake in one line, and where to read on."""
    ctx = getattr(error, "ctx", None)
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()  # no arguments at all is no mistake
        return error.exit_code
    text = " ".join(error.format_message().split())
    if ctx is not None:
        text += f" See {ctx.command_path} --help."
    return session.show_error(text, MISTAKE_EXIT_CODE)
