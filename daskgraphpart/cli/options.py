"""Options that several commands share, and what they are turned into."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from daskgraphpart.cli.session import LOG_OPTIONS, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from daskgraphpart.dispatching.options import DispatchOptions
    from daskgraphpart.engine.progress import ProgressListener
    from daskgraphpart.engine.resources import Resources


def _begin_cluster(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Have the workers of a local cluster import what they need while this process does; each takes a second."""
    if value == "local":
        from daskgraphpart.engine.executors import fork_server

        fork_server.begin(["daskgraphpart.api.pipeline"])
    return value


FORMAT_OPTIONS = (
    click.option(
        "--edge-format",
        type=click.Choice(["parquet", "csv", "numpy"]),
        default="parquet",
        show_default=True,
        help="Format of edge files.",
    ),
    click.option(
        "--data-format",
        type=click.Choice(["numpy", "parquet"]),
        default="numpy",
        show_default=True,
        help="Format of feature files.",
    ),
)

RESOURCE_OPTIONS = (
    click.option(
        "--memory", metavar="SIZE", help="Memory that the data may take, such as 2GB; default half of the machine's."
    ),
    click.option(
        "--cluster",
        metavar="threads|processes|sync|local|ADDRESS|FILE|slurm|...",
        callback=_begin_cluster,
        help="Where tasks run: threads or processes of this machine, a dask LocalCluster, the scheduler at an address "
        "or of a scheduler file, or jobs of a queueing system (slurm, pbs, sge, lsf, htcondor, oar, moab). "
        "Default: daskgraphpart.cluster of the dask configuration, else threads.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Tasks that run at one time; default all processors of the machine, the cluster, or one job.",
    ),
    click.option(
        "--workspace",
        type=click.Path(file_okay=False),
        help="Directory for temporary files; default beside the output.",
    ),
    click.option(
        "--progress",
        type=click.Choice(["auto", "bar", "log", "json", "none"]),
        default="auto",
        show_default=True,
        help="On standard error: bars, log lines, or JSON lines for programs; auto takes bars in a terminal.",
    ),
    click.option("--quiet", is_flag=True, help="No progress, no summary."),
    *LOG_OPTIONS,
)

STAGING_OPTION = click.option(
    "--staging",
    type=click.Choice(["auto", "in-place", "zarr"]),
    default="auto",
    show_default=True,
    help="How features travel: written where they belong, or through zarr arrays in the workspace.",
)

CONFINED_OPTION = click.option(
    "--confined", is_flag=True, help="Refuse input files outside the input directory, links followed."
)

OUTPUT_OPTIONS = (
    click.option("--num-hops", type=click.IntRange(min=1), default=1, show_default=True, help="Hops of HALO nodes."),
    click.option(
        "--graph-formats",
        default="coo",
        show_default=True,
        help="Formats in graph.dgl: some of coo,csr,csc.",
    ),
    click.option(
        "--out-edges", is_flag=True, help="Also store edges from inner to HALO nodes, as DGL's partition_graph does."
    ),
    click.option("--overwrite", is_flag=True, help="Replace partitions that are in OUT_DIR."),
)

DISPATCH_OPTION = click.option(
    "--dispatch",
    "dispatch_to",
    metavar="IP_CONFIG",
    type=click.Path(),
    help="File of machines, one address per line: part p goes to OUT_DIR on the disk of machine p modulo lines. Needs "
    "a --cluster with a worker on each, and a --workspace that all share.",
)

JOB_OPTIONS = (
    click.option("--restart", is_flag=True, help="Start over, where an unfinished run would be continued."),
    click.option("--keep-workspace", is_flag=True, help="Keep the temporary files when all is done."),
)

METHOD_OPTIONS = (
    click.option(
        "--method",
        default="auto",
        show_default=True,
        metavar="auto|kaminpar|metis|multilevel|fennel|ldg|random|DIR",
        help="Partitioner, or a directory of owners; auto takes the best that fits into the memory.",
    ),
    click.option(
        "--balance",
        metavar="ITEM,...",
        help="What is balanced: nodes, ntypes, edges, edges-by-ntype, bytes, types:NTYPE/FEATURE, "
        "weight:NTYPE/FEATURE, file:PATH.npy, each with a tolerance if need be (edges=0.05). Default: nodes,edges.",
    ),
    click.option(
        "--imbalance", type=float, default=0.03, show_default=True, help="How much larger than average a part may be."
    ),
    click.option("--refine", is_flag=True, help="Improve the result, or the given owners, further."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of the partitioner."),
    click.option(
        "--threads",
        type=int,
        help="Threads of KaMinPar on large graphs; 1 makes its result repeatable. Default: all workers.",
    ),
    click.option("--passes", type=int, help="Passes over the graph; default 1 for ldg, 3 for fennel."),
    click.option("--objtype", default="cut", show_default=True, metavar="cut|vol", help="What METIS minimises."),
    click.option("--recursive", is_flag=True, help="METIS by recursive bisection."),
    click.option("--fill-parts", is_flag=True, help="Give every part a node of each type that has enough of them."),
    click.option(
        "--num-trainers-per-machine",
        type=int,
        default=1,
        show_default=True,
        help="Smaller parts that every part is made of, kept as feature trainer_id.",
    ),
)
METHOD_NAMES = (
    "method", "balance", "imbalance", "refine", "seed", "threads", "passes", "objtype", "recursive", "fill_parts",
    "num_trainers_per_machine",
)  # fmt: skip


def method_of(values: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `assign` and `partition` from the values of `METHOD_OPTIONS`."""
    return {name: values[name] for name in METHOD_NAMES}


def with_options(options: tuple[Callable[[Any], Any], ...]) -> Callable[[Any], Any]:
    """Decorate a command with several options, in their order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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

    formats = tuple(name.strip() for name in values["graph_formats"].split(","))
    return DispatchOptions(values["num_hops"], formats, values["out_edges"], config_name)


@contextmanager
def progress_of(values: dict[str, Any]) -> Iterator[ProgressListener]:
    """Show progress as `RESOURCE_OPTIONS` say; nothing when quiet."""
    from daskgraphpart.engine.progress import open_progress

    click.get_current_context().ensure_object(Session).use_json(values["progress"] == "json")
    with open_progress("none" if values["quiet"] else values["progress"]) as listener:
        yield listener


def one_of(*given: Any, name: str) -> Any:
    """Return the one value that is given, positional or by one of DGL's flags.

    Raises
    ------
    click.UsageError
        If none or several are given.
    """
    values = [value for value in given if value is not None]
    if len(values) != 1:
        raise click.UsageError(f"{'Missing' if not values else 'Give only one'} {name}.")
    return values[0]
