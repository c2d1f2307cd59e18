"""Options that several commands share, each named once, and the objects they are turned into."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.session import LOG_OPTIONS, Option, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from daskgraphpart.assignment.options import AssignOptions
    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources

OPTIONS = "Options"


class Command(click.Command):
    """A command whose help lists options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each heading, in the order of the first option of each."""
        sections: dict[str, list[tuple[str, str]]] = {OPTIONS: []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                heading = OPTIONS if param.name == "help" else getattr(param, "heading", OPTIONS)
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


_format = partial(click.option, cls=Option, heading="Files")
FORMAT_OPTIONS = (
    _format(
        "--edge-format",
        type=click.Choice(["parquet", "csv", "numpy"]),
        default="parquet",
        help="Format of edge files.",
    ),
    _format("--data-format", type=click.Choice(["numpy", "parquet"]), default="numpy", help="Format of feature files."),
)
FORM_OPTION = _format(
    "--form",
    type=click.Choice(["npy", "parquet", "zarr"]),
    default="npy",
    help="Binary form of the owners beside the text.",
)

_resource = partial(click.option, cls=Option, heading="Resources")
_shown = partial(click.option, cls=Option, heading="What is shown")
RESOURCE_OPTIONS = (
    _resource(
        "--memory", metavar="SIZE", help="Memory that the data may take, such as 2GB; default half of the machine's."
    ),
    _resource(
        "--cluster",
        metavar="threads|processes|sync|local|slurm|pbs|sge|lsf|htcondor|oar|moab|ADDRESS|FILE",
        help="Where tasks run: threads or processes of this machine, a dask LocalCluster, jobs of a queueing system, "
        "or the workers of the scheduler at an address or of a scheduler file. Default: daskgraphpart.cluster of the "
        "dask configuration, else threads.",
    ),
    _resource(
        "--workers",
        type=click.IntRange(min=1),
        help="Tasks that run at one time; default all processors of the machine, the cluster, or one job.",
    ),
    _resource(
        "--workspace",
        type=click.Path(file_okay=False),
        help="Directory for temporary files; default beside the output.",
    ),
    _shown(
        "--progress",
        type=click.Choice(["auto", "bar", "log", "json", "none"]),
        default="auto",
        help="On standard error: a bar and a line per pass, log lines, or JSON lines for programs. auto: a bar in a "
        "terminal, and lines for passes of ten seconds and more.",
    ),
    _shown("--quiet", is_flag=True, help="No progress, no plan, no summary."),
    _shown("--verbose", "-v", is_flag=True, help="Show every pass, and a table of the parts."),
    *LOG_OPTIONS,
)
STAGING_OPTION = _resource(
    "--staging",
    type=click.Choice(["auto", "in-place", "zarr"]),
    default="auto",
    help="How features travel: written in place, or through zarr arrays in the workspace.",
)

CONFINED_OPTION = click.option(
    "--confined", is_flag=True, help="Refuse input files outside the input directory, links followed."
)

_output = partial(click.option, cls=Option, heading="Partitions")
OUTPUT_OPTIONS = (
    _output(
        "--layout",
        default="dgl",
        help="What is written: some of dgl (what DGL loads), ranks (raw arrays by rank), parquet (tables); the "
        "latter in a directory of their name.",
    ),
    _output("--num-hops", type=click.IntRange(min=1), default=1, help="Hops of HALO nodes."),
    _output("--graph-formats", default="coo", help="Formats in graph.dgl: some of coo,csr,csc."),
    _output(
        "--out-edges", is_flag=True, help="Also store edges from inner to HALO nodes, as DGL's partition_graph does."
    ),
    _output("--overwrite", is_flag=True, help="Replace partitions that are in OUT_DIR."),
)
DISPATCH_OPTION = _output(
    "--dispatch",
    "dispatch_to",
    metavar="IP_CONFIG",
    type=click.Path(),
    help="File of machines, one address per line: part p goes to OUT_DIR on the disk of machine p modulo lines. Needs "
    "a --cluster with a worker on each, and a --workspace that all share.",
)

_run = partial(click.option, cls=Option, heading="Unfinished runs")
JOB_OPTIONS = (
    _run("--restart", is_flag=True, help="Start over, where an unfinished run would be continued."),
    _run("--keep-workspace", is_flag=True, help="Keep the temporary files at the end."),
)

_method = partial(click.option, cls=Option, heading="Assignment")
METHOD_OPTIONS = (
    _method(
        "--method",
        default="auto",
        metavar="auto|kaminpar|metis|multilevel|fennel|random|DIR",
        help="Partitioner, or a directory of owners; auto takes the best that fits into the memory.",
    ),
    _method(
        "--balance",
        metavar="ITEM,...",
        help="What is balanced: nodes, ntypes, edges, edges-by-ntype, bytes, types:NTYPE/FEATURE, "
        "weight:NTYPE/FEATURE, file:PATH.npy, each with a tolerance if need be (edges=0.05). Default: nodes,edges.",
    ),
    _method("--imbalance", type=float, default=0.03, help="How much larger than average a part may be."),
    _method("--refine", is_flag=True, help="Refine the result, or the given owners, further."),
    _method("--seed", type=int, default=0, help="Seed of the partitioner."),
    _method(
        "--threads",
        type=int,
        help="Threads of KaMinPar on large graphs; 1 makes its result repeatable. Default: all workers.",
    ),
    _method("--passes", type=int, help="Passes of fennel over the graph; default 3."),
    _method(
        "--objtype",
        type=click.Choice(["cut", "vol"]),
        default="cut",
        help="What METIS minimises: cut edges, or the communication volume.",
    ),
    _method("--recursive", is_flag=True, help="METIS by recursive bisection."),
    _method("--fill-parts", is_flag=True, help="Give every part a node of each type that has enough of them."),
    _method(
        "--num-trainers-per-machine",
        type=int,
        default=1,
        help="Smaller parts that every part is made of, kept as feature trainer_id.",
    ),
)
PARTITION_OPTIONS = (
    click.option("--num-parts", type=int, required=True, help="Number of parts."),
    *METHOD_OPTIONS,
    *OUTPUT_OPTIONS,
    DISPATCH_OPTION,
    *RESOURCE_OPTIONS,
    STAGING_OPTION,
    *JOB_OPTIONS,
    CONFINED_OPTION,
)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorate a command with several options, in their order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def assign_options_of(values: dict[str, Any]) -> AssignOptions:
    """Assign options from the values of `METHOD_OPTIONS`."""
    from daskgraphpart.assignment.options import AssignOptions

    return AssignOptions(**{field.name: values[field.name] for field in fields(AssignOptions)})


def resources_of(values: dict[str, Any]) -> Resources:
    """Resources from the values of `RESOURCE_OPTIONS` and `STAGING_OPTION`."""
    from daskgraphpart.engine.resources import detect_resources

    return detect_resources(
        values["memory"], values["cluster"], values["workers"], values.get("staging", "auto"), values["workspace"]
    )


def graph_of(in_dir: str | Path, values: dict[str, Any]) -> Any:
    """Return the graph in a directory, opened already if `CONFINED_OPTION` was given."""
    if not values["confined"]:
        return in_dir
    from daskgraphpart.chunked.graph import read_chunked

    return read_chunked(in_dir, confined=True)


def dispatch_options_of(values: dict[str, Any], config_name: str | None = None) -> DispatchOptions:
    """Dispatch options from the values of `OUTPUT_OPTIONS`."""
    from daskgraphpart.dispatching.options import DispatchOptions

    formats, layout = (tuple(map(str.strip, values[name].split(","))) for name in ("graph_formats", "layout"))
    return DispatchOptions(values["num_hops"], formats, values["out_edges"], config_name, layout=layout)


@contextmanager
def progress_of(values: dict[str, Any]) -> Iterator[ProgressListener]:
    """Show progress as `RESOURCE_OPTIONS` say; nothing when quiet."""
    from daskgraphpart.engine.progress import open_progress

    click.get_current_context().ensure_object(Session).as_json = values["progress"] == "json"
    kind = "bar" if values["verbose"] and values["progress"] == "auto" else values["progress"]
    with open_progress("none" if values["quiet"] else kind) as listener:
        yield listener


@contextmanager
def run_of(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keyword arguments that every function which starts tasks takes; progress is shown meanwhile.

    Afterwards ``values["seconds"]`` is the time it took.
    """
    started = time.monotonic()
    with progress_of(values) as progress:
        yield {"resources": resources_of(values), "progress": progress} | {
            name: values[name] for name in ("overwrite", "restart", "keep_workspace") if name in values
        }
    values["seconds"] = time.monotonic() - started


def one_of(*given: Any, name: str) -> Any:
    """Return the one value that is given, positional or by one of DGL's flags."""
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise click.UsageError(f"{'Missing' if not values else 'Give only one'} {name}.")
    return values[0]
