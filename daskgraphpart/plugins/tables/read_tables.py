"""`read_tables` and `read_dataset`: describe a graph that a job will read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from daskgraphpart.chunked.changes import GraphChanges
from daskgraphpart.errors import check_choice
from daskgraphpart.keywords import with_keywords
from daskgraphpart.options import chosen, stated_options
from daskgraphpart.plugins.tables.datasets import describe_dataset
from daskgraphpart.plugins.tables.options import ReadOptions, Tables
from daskgraphpart.plugins.tables.stage_frames import named_tables
from daskgraphpart.plugins.tables.table_scan import TableScan

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from daskgraphpart.chunked.scan import Scan
    from daskgraphpart.plugins.tables.describe.table_files import Paths


@with_keywords(stated_options(Tables), stated_options(ReadOptions))
def read_tables(edges: Mapping[str, Paths] | Paths, *, name: str = "graph", **keywords: Any) -> Scan:
    """Describe a graph in tables of edges and nodes.

    Reads nothing yet. The job you give the scan to opens and checks all files before it stages the first, and stages
    no more than it has to; an interrupted job resumes if the files are unchanged. `Scan.collect` reads the tables into
    a temporary directory and returns the `Graph`.

    Edges keep their order: files as you list them (those of a pattern sorted), rows as in the file.

    Where an option below says TYPE or NAME, give a mapping by type or name. A FILE is a path, or a list of paths, with
    the same words as on the command line: ``edges={"user:buys:item": "orders.csv:from,to"}``,
    ``node_data={"user": {"age": "users.csv:key:age"}}``. A single table of edges needs no mapping.

    In place of a FILE you can give a table in memory: a frame of pandas, dask or polars, a pyarrow table, a DuckDB
    relation, or a list of these. A feature in a frame or series is joined by node ID, which is the column ``id`` or the
    index; the rows of an array are in the order of nodes. A mask can be a list, series or frame of IDs. To change the
    graph, call methods of the scan, such as `Scan.with_reverse_edges`.

    Parameters
    ----------
    name : str
        Name of the graph.

    Returns
    -------
    Scan
        Pass it to any function; `Scan.write_chunked` writes it.

    Raises
    ------
    OptionError
        If an option has an invalid value. The job raises an `InputFileError` if files or rows are wrong.

    Examples
    --------
    >>> scan = dgp.read_tables("follows.tsv", map_ids=True)
    >>> scan
    Scan of 'graph', not read yet; collect() reads it
    edges      _N:_E:_N: follows.tsv
    files      follows.tsv, 24 B
    >>> dgp.partition(scan, "parts", 2, method="random")
    PartitionedGraph 'graph': 2 parts, 3 nodes, 3 edges
    part  inner nodes  HALO nodes  owned edges  on disk
    ----  -----------  ----------  -----------  -------
       0            2           0            2   5.4 kB
       1            1           1            1   5.4 kB
    """
    return described_tables(edges, name, **keywords)


def described_tables(edges: Mapping[str, Paths] | Paths, name: str, **keywords: Any) -> Scan:
    """Do what `read_tables` does, with changes of the graph as further keywords."""
    reading, changes = chosen(ReadOptions, keywords), chosen(GraphChanges, keywords)
    beside = (keywords.get(name) or {} for name in ("nodes", "node_data", "edge_data", "masks", "split"))
    tables = named_tables(edges, *beside, are_mapped=reading.map_ids)
    given: dict[str, Any] = {name: keywords.get(name) or {} for name in ("num_nodes", "num_edges")}
    return TableScan(Tables(**tables, **given), name, reading, changes)


@with_keywords()
def read_dataset(
    kind: str, path: str | os.PathLike[str], *, name: str | None = None, leave_out: Sequence[str] = ()
) -> Scan:
    """Describe a graph in a public data set, as downloaded and unpacked.

    Parameters
    ----------
    kind : str
        ``"ogb"`` (node and link property prediction), ``"mag240m"``, ``"wikikg"`` (WikiKG90Mv2), or ``"igb"``.
    path : path
        The unpacked directory; it holds `raw` and `split`, or `processed`.
    name : str, optional
        Name of the graph; default: the name of the directory.
    leave_out : sequence of str
        Features to leave out, as ``"type/feature"``, or ``"feature"`` for all features of that name.

    Returns
    -------
    Scan
        As by `read_tables`.

    Raises
    ------
    InputFileNotFoundError
        If files are missing; the message names them all.
    InputFileError
        If counts or splits are wrong.
    OptionError
        If `kind` is unknown, or a feature in `leave_out` does not exist.

    Examples
    --------
    >>> dgp.read_dataset("ogb", "dataset/ogbn_products").collect()
    Graph 'ogbn_products': 60 nodes, 200 edges, 5.1 kB
    type      count  files    size  features
    --------  -----  -----  ------  ----------------------------------------------------------------------------
    _N           60      5  1.9 kB  feat float32[5], label int64, train_mask bool, val_mask bool, test_mask bool
    _N:_E:_N    200      2  3.2 kB
    """
    tables = describe_dataset(kind, path)
    _leave_out(tables, leave_out)
    return described_tables(**{**tables, "name": name or Path(path).absolute().name})


def _leave_out(tables: Mapping[str, Any], names: Sequence[str]) -> None:
    kinds = [tables.get(kind, {}) for kind in ("node_data", "edge_data", "masks")]
    features = [(of, name, of_type) for of_kind in kinds for of, of_type in of_kind.items() for name in of_type]
    known = {f"{of}/{name}": name for of, name, _ in features}
    for wanted in names:
        check_choice("feature", "leave_out", wanted, dict.fromkeys((*known, *known.values())))
    for of, name, of_type in features:
        if name in names or f"{of}/{name}" in names:
            del of_type[name]
            tables.get("cast", {}).pop(f"{of}/{name}", None)
