"""The command `daskgraphpart`: finds the subcommand, turns errors into exit codes.

Exit codes: 0 done; 1 `verify` found faults; 2 a mistake in the input or usage; 3 the machine failed (disk, worker);
70 a bug of ours.
"""

from __future__ import annotations

import importlib
import logging
import sys
from typing import Any

import click

from daskgraphpart import __version__
from daskgraphpart.errors import GraphPartError
from daskgraphpart.storage.atomic import environment_faults

logger = logging.getLogger("daskgraphpart")

COMMANDS = {
    "generate": "Write a synthetic chunked graph of any size.",
    "chunk": "Make a chunked graph of plain edge lists; map string or sparse IDs to dense ones.",
    "info": "Show what a chunked graph, or a partitioned graph, holds.",
    "assign": "Give every node a part (step 1).",
    "dispatch": "Bring nodes, edges and features to their parts (steps 2 and 3).",
    "partition": "Assign and dispatch in one go.",
    "compare": "Partition by several methods, and tabulate cut, balance, time and memory.",
    "parmetis": "Write a graph for ParMETIS, and read the parts it has made.",
    "convert": "Turn the complete output of ParMETIS' pm_dglpart into partitions.",
    "remap": "Bring rows (embeddings, say) back into the order of the input graph.",
    "migrate": "Give a partition config of DGL 0.9 canonical edge types.",
    "report": "Show cut, balance, HALO, edges between parts and more, as text, JSON or a page.",
    "verify": "Compare partitions with the graph they were made from.",
}
BUG_EXIT_CODE = 70


class _Commands(click.Group):
    """Imports a subcommand when it is called, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"daskgraphpart.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="daskgraphpart")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is logged to standard error.",
)
def group(log_level: str) -> None:
    """Partition graphs that do not fit into memory, for distributed training with DGL.

    \b
    daskgraphpart generate graph --nodes 1e6 --edges 1e7
    daskgraphpart partition graph parts --num-parts 4
    daskgraphpart verify graph parts
    """
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s", stream=sys.stderr)
    logger.setLevel(log_level.upper())


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; ends the process with an exit code."""
    try:
        with environment_faults():
            group.main(args=arguments, prog_name="daskgraphpart")
    except GraphPartError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except MemoryError:
        click.echo("error: out of memory; give a smaller --memory or fewer --workers", err=True)
        sys.exit(3)
    except Exception:
        logger.exception("this is a bug in daskgraphpart; please report the lines below with the command you ran")
        sys.exit(BUG_EXIT_CODE)
