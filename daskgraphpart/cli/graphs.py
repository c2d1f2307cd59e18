"""``daskgraphpart generate``, ``chunk`` and ``info``: make chunked graphs, and show what is there."""

from __future__ import annotations

import gzip
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from daskgraphpart.cli.options import (
    CHANGE_OPTIONS,
    CONFINED_OPTION,
    FORMAT_NAMES,
    FORMAT_OPTIONS,
    READ_OPTIONS,
    RESOURCE_OPTIONS,
    Command,
    made_of,
    progress_of,
    resources_of,
    run_of,
    with_options,
)
from daskgraphpart.cli.session import LOG_OPTIONS
from daskgraphpart.errors import EnvironmentFaultError, LayoutError, OptionError
from daskgraphpart.layouts.written_files import OWN_LAYOUTS, description_of
from daskgraphpart.options import option_name, stated_options
from daskgraphpart.schema import DEFAULT_ETYPE, DEFAULT_NTYPE
from daskgraphpart.sources.options import GraphChanges, ReadOptions
from daskgraphpart.storage.files import is_directory, is_file, list_directory
from daskgraphpart.storage.json_file import read_json_object
from daskgraphpart.storage.paths import Location, resolve_path

if TYPE_CHECKING:
    from collections.abc import Iterable


NAMES = ("kind", "seed", *FORMAT_NAMES, "labels", "overwrite")


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path())
@click.option(
    "--kind",
    type=click.Choice(["rmat", "mag", "communities"]),
    default="rmat",
    show_default=True,
    help="Power-law homogeneous, MAG-like heterogeneous, or homogeneous with communities.",
)
@click.option("--nodes", default="1e6", show_default=True, help="Number of nodes, such as 5e6.")
@click.option("--edges", default="1e7", show_default=True, help="Number of edges.")
@click.option(
    "--features", type=click.IntRange(min=0), help="Width of the node features; default 50 (rmat) or 128 (mag)."
)
@click.option("--labels", is_flag=True, help="Add labels and train/val/test masks (mag has them anyway).")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed.")
@with_options(*FORMAT_OPTIONS)
@with_options(*RESOURCE_OPTIONS)
def generate(**values: Any) -> None:
    """Write a synthetic chunked graph (CGDF) to OUT_DIR, chunk by chunk.

    \b
    daskgraphpart generate graph --nodes 5e6 --edges 5e7
    daskgraphpart generate mag --kind mag --nodes 1e6 --edges 1e7 --edge-format csv
    """
    from daskgraphpart.chunked.graph import read_chunked
    from daskgraphpart.engine.runner import open_runner
    from daskgraphpart.sources.generate import generate
    from daskgraphpart.units import parse_count

    with progress_of(values) as progress, open_runner(resources_of(values), progress) as runner:
        generate(
            values["out_dir"],
            num_nodes=parse_count(values["nodes"]),
            num_edges=parse_count(values["edges"]),
            feature_width=values["features"],
            **{name: values[name] for name in NAMES},
            runner=runner,
        )
    if not values["quiet"]:
        click.echo(repr(read_chunked(values["out_dir"])))


@click.command(cls=Command)
@click.argument("directory", type=click.Path())
@CONFINED_OPTION
@with_options(*LOG_OPTIONS)
def info(directory: str, confined: bool) -> None:
    """Show what the chunked graph, or the partitioned graph, in DIRECTORY holds. Reads no data.

    \b
    daskgraphpart info graph
    daskgraphpart info partitions
    """
    if _is_partitioned(resolve_path(directory)):
        from daskgraphpart.partitioned.graph import open_partitions

        click.echo(repr(open_partitions(directory, confined=confined)))
    else:
        from daskgraphpart.chunked.graph import read_chunked

        click.echo(repr(read_chunked(directory, confined=confined)))


def _is_partitioned(path: Location) -> bool:
    """Whether there is a partition config, which may bear the name of a chunked graph's metadata, or another layout."""
    names = list_directory(path) if is_directory(path) else {}
    if any(is_file(path / description_of(layout)) for layout in OWN_LAYOUTS):
        return True
    candidates = [path / name for name in names if name.endswith(".json")] if names else [path]
    for candidate in candidates:
        try:
            content = read_json_object(candidate, LayoutError)
        except EnvironmentFaultError:
            raise
        except (OSError, LayoutError):
            continue
        if "part-0" in content:
            return True
    return False


KINDS = ("ogb", "mag240m", "igb", "wikikg")
INPUT_OPTIONS = (
    click.option(
        "--graph",
        type=click.Path(),
        metavar="DIRECTORY",
        help="A chunked graph, to be changed, or cut into other files, in place of --edges.",
    ),
    click.option(
        "--edges",
        multiple=True,
        metavar="[SRC:REL:DST=]FILE[:WORD]",
        help="Edges of one type: text, parquet, Matrix Market, npz or npy; a file, a directory (also of Delta or "
        "Iceberg), a quoted pattern, a pipe, or - for standard input. WORD says how this file is read: header, "
        "no-header, comma, tab, space, semicolon, the columns SRC,DST, or, of raw binary rows, their dtype and width: "
        "uint32, int64:3. May be repeated, for further files and types. Without a type: _N:_E:_N.",
    ),
    click.option(
        "--from",
        type=(click.Choice(KINDS), click.Path()),
        metavar="|".join(KINDS) + " DIR",
        help="A public data set, as it is downloaded: of OGB's node and link property prediction, MAG240M, IGB, "
        "WikiKG90Mv2. "
        "Splits become train_mask, val_mask and test_mask. Other options add to it.",
    ),
    click.option(
        "--num-nodes",
        multiple=True,
        metavar="[TYPE=]N|FILE",
        help="Number of nodes of a type whose IDs are not mapped, or a file of it; default the rows of a feature, or "
        "the largest ID and one.",
    ),
    click.option(
        "--nodes",
        multiple=True,
        metavar="[TYPE=]FILE[:COLUMN]",
        help="A list of nodes; some may have no edges. COLUMN holds the IDs; default id, or the first.",
    ),
    click.option(
        "--node-data",
        multiple=True,
        metavar="[TYPE:]NAME=FILE[:[ID:]COLUMN],...",
        help="A feature of nodes. A COLUMN of a table goes to the nodes whose IDs are beside it, in the column ID "
        "(default that of --nodes, id, or the first). A whole file, npy, parquet, CSV, or raw binary as "
        "FILE:float32:WIDTH, and an array of an npz file, have rows in the order of IDs, or of the list given to "
        "--nodes.",
    ),
    click.option(
        "--edge-data",
        multiple=True,
        metavar="[SRC:REL:DST:]NAME=FILE[:COLUMN],...",
        help="A feature of edges: npy, parquet or CSV, rows in the order of the edges.",
    ),
    click.option(
        "--mask",
        multiple=True,
        metavar="[TYPE:]NAME=FILE[:COLUMN],...",
        help="A list of node IDs that becomes a feature, true for these nodes, such as train_mask.",
    ),
)

INPUT_NAMES = ("from", "edges", "nodes", "num_nodes", "node_data", "edge_data", "mask", *stated_options(ReadOptions))


@click.command(cls=Command)
@click.argument("out_dir", type=click.Path())
@with_options(*INPUT_OPTIONS, *READ_OPTIONS, *CHANGE_OPTIONS)
@click.option("--name", help="Name of the graph; default graph, or that of --graph.")
@with_options(*FORMAT_OPTIONS)
@with_options(*RESOURCE_OPTIONS)
def chunk(**values: Any) -> None:
    """Make a chunked graph (CGDF) in OUT_DIR of tables of edges and nodes, out of core.

    \b
    daskgraphpart chunk graph --edges edges.csv
    daskgraphpart chunk graph --edges 'follows-*.tsv' --columns from,to --edge-columns weight --map-ids
    daskgraphpart chunk both-ways --graph graph --add-reverse dgl --remove-self-loops
    daskgraphpart chunk mag240m --from mag240m mag240m_kddcup2021
    daskgraphpart chunk mag --map-ids --edges author:writes:paper=writes.csv --edges paper:cites:paper=cites.parquet \\
        --nodes paper=papers.csv:doi --node-data paper:year=papers.csv:year --mask paper:train_mask=train.csv.gz
    """
    from daskgraphpart.api.chunk_graph import chunk_edge_lists, chunk_graph
    from daskgraphpart.chunked.graph import read_chunked
    from daskgraphpart.units import format_seconds

    how = {name: values[name] for name in (*stated_options(GraphChanges), *FORMAT_NAMES)}
    with run_of(values) as run:
        if values["graph"] is None:
            path = chunk_edge_lists(values["out_dir"], **{**how, **_tables(values)}, **run)
        else:
            _refuse_tables()
            graph = read_chunked(values["graph"])
            name = values["name"] or graph.schema.name
            how |= {"edges_fmt": how.pop("edge_format"), "data_fmt": how.pop("data_format")}
            path = chunk_graph(graph, name, output_path=values["out_dir"], **how, **run)
    if not values["quiet"]:
        kept = f"mapped; the original ones are in {path.parent / 'id_map'}" if values["map_ids"] else "as they were"
        click.echo(f"{read_chunked(path.parent)!r}\n")
        click.echo(f"IDs       {kept}")
        click.echo(f"time      {format_seconds(values['seconds'])}")
        click.echo(f"metadata  {path}")


def _tables(values: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments that only tables have; what a public data set has, too, is that of the options."""
    from daskgraphpart.sources.published import describe_dataset

    if not values["edges"] and not values["from"]:
        raise click.UsageError("Missing option '--edges', '--from' or '--graph'.")
    tables = describe_dataset(*values["from"]) if values["from"] else {}
    if values["split_by"]:
        tables.pop("split_by", None)
    given: dict[str, dict[str, Any]] = {
        "edges": _by_type(values["edges"], DEFAULT_ETYPE, ":"),
        "num_nodes": _num_nodes(values["num_nodes"]),
        "node_data": _features(values["node_data"], DEFAULT_NTYPE, "--node-data"),
        "edge_data": _features(values["edge_data"], DEFAULT_ETYPE, "--edge-data"),
        "masks": _features(values["mask"], DEFAULT_NTYPE, "--mask"),
    }
    for name, by_type in given.items():
        known = tables.setdefault(name, {})
        for of_type, value in by_type.items():
            known[of_type] = {**known.get(of_type, {}), **value} if isinstance(value, dict) else value
    return {
        **tables,
        "name": values["name"] or "graph",
        "nodes": _by_type(values["nodes"], DEFAULT_NTYPE),
        **asdict(made_of(ReadOptions, values)),
    }


def _refuse_tables() -> None:
    """Refuse options about tables beside a chunked graph, which has IDs and features itself."""
    ctx = click.get_current_context()
    for name in INPUT_NAMES:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            what, hint = "a chunked graph has its IDs and features itself", "leave it out"
            raise OptionError(f"{what}, so --graph goes without it", place=option_name(name), hint=hint)


def _split(text: str, default: str, mark: str = "") -> tuple[str, str]:
    """Return type and value of ``[TYPE=]VALUE``; an ``=`` may belong to the name of a file."""
    before, sign, value = text.partition("=")
    is_typed = sign and mark in before and "/" not in before and not Path(text).is_file()
    return (before, value) if is_typed else (default, text)


def _by_type(given: Iterable[str], default: str, mark: str = "") -> dict[str, list[str]]:
    """Files by type."""
    files: dict[str, list[str]] = {}
    for text in given:
        of_type, path = _split(text, default, mark)
        files.setdefault(of_type, []).append(path)
    return files


def _num_nodes(given: Iterable[str]) -> dict[str, int]:
    from daskgraphpart.units import parse_count

    counts: dict[str, int] = {}
    for text in given:
        ntype, count = _split(text, DEFAULT_NTYPE)
        if ntype in counts:
            raise OptionError(f"two numbers of {ntype!r} nodes", place="--num-nodes", hint="remove one")
        if Path(count).is_file():
            with gzip.open(count, "rt") if count.endswith(".gz") else Path(count).open() as file:
                count = file.read(64).strip()
        counts[ntype] = parse_count(count)
    return counts


def _features(given: Iterable[str], default: str, place: str) -> dict[str, dict[str, list[str]]]:
    """Files by type and feature; the same feature may be given several times, for further files."""
    found: dict[str, dict[str, list[str]]] = {}
    for text in given:
        full_name, sign, paths = text.partition("=")
        if not sign or not paths:
            raise OptionError("no file", place=place, expected="[TYPE:]NAME=FILE", found=text)
        type_name, _, name = full_name.rpartition(":")
        found.setdefault(type_name or default, {}).setdefault(name, []).extend(paths.split(","))
    return found
