"""`scan_tables` and `scan_dataset`: describe a graph that a job will read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from daskgraphpart.errors import check_choice
from daskgraphpart.graph.transforms.changes import NO_CHANGES, GraphChanges
from daskgraphpart.keywords import check_keywords
from daskgraphpart.options import chosen, words_of
from daskgraphpart.readers.describe_dataset import describe_dataset
from daskgraphpart.readers.tables.read_options import ReadOptions, Tables, columns_by_type
from daskgraphpart.readers.tables.stage_frames import named_tables
from daskgraphpart.readers.tables.table_scan import TableScan

if TYPE_CHECKING:
    from daskgraphpart.graph.graph_like import Paths, Rows, Table
    from daskgraphpart.graph.scan import Scan


@check_keywords
def scan_tables(
    edges: Mapping[Any, Table] | Table,
    *,
    name: str = "graph",
    num_nodes: Mapping[str, int] | None = None,
    num_edges: Mapping[str, int] | None = None,
    nodes: Mapping[str, Table | tuple[Paths, str]] | None = None,
    node_data: Mapping[str, Mapping[str, Rows] | Rows] | None = None,
    edge_data: Mapping[str, Mapping[str, Rows] | Rows] | None = None,
    split: Mapping[str, Rows] | None = None,
    masks: Mapping[str, Mapping[str, Rows] | Rows] | None = None,
    endpoints: str | Sequence[str] | None = None,
    edge_features: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    comment: str = "#",
    map_ids: bool | None = None,
    ids_from: str | os.PathLike[str] | None = None,
    codes_from: str | os.PathLike[str] | None = None,
    id_type: Literal["auto", "integer", "string"] = "auto",
    unknown_nodes: Literal["add", "drop", "error"] = "add",
    missing_ids: Literal["error", "drop"] = "error",
    fill: Mapping[str, object] | object | None = None,
) -> Scan:
    """Describe a graph in tables of edges and nodes.

    Reads nothing yet. The job you give the scan to opens and checks all files before it stages the first, and stages
    no more than it has to; an interrupted job resumes if the files are unchanged. `Scan.collect` reads the tables into
    a temporary directory and returns the `Graph`.

    Edges keep their order: files as you list them (those of a pattern sorted), rows as in the file.

    Give tables by type, and features by type and name: ``edges={"user:buys:item": "orders.csv:from,to"}``,
    ``node_data={"user": {"age": "users.csv:key:age"}}``. A file is a path, or a list of paths, with the same words
    after a colon as on the command line. A single table of edges needs no mapping.

    In place of a file you can give a table in memory: a frame of pandas, dask or polars, a pyarrow table, a DuckDB
    relation, or a list of these. A feature in a frame or series is joined by node ID, which is the column ``id`` or the
    index; the rows of an array are in the order of nodes. A mask can be a list, series or frame of IDs. To change the
    graph, call methods of the scan, such as `Scan.with_reverse_edges`.

    Parameters
    ----------
    name : str
        Name of the graph.
    edges : Mapping[Any, Table] | Table
        Tables of edges, by edge type. Types are src:rel:dst, by default _N:_E:_N. Text, Parquet, JSON lines, Arrow,
        Matrix Market, npz or npy; a file, a directory (Delta and Iceberg, too), a quoted pattern, a pipe, or - for
        standard input. Words after a colon say how to read it: header, no-header, comma, tab, space, semicolon,
        decimal-comma, two columns such as user,item, or for raw binary rows their dtype and width: uint32, int64:3.
    num_nodes : Mapping[str, int], optional
        Number of nodes of a type whose IDs are not mapped, or a file that holds it (./10 if its name is a number).
        Default: the rows of a feature, else the largest ID plus one.
    num_edges : Mapping[str, int], optional
        Number of rows that the files of each edge type must have.
    nodes : Mapping[str, Table | tuple[Paths, str]], optional
        A list of nodes, which may have no edges. IDs are in the column id by default, else in the first.
    node_data : Mapping[str, Mapping[str, Rows] | Rows], optional
        A node feature; a column is joined by node ID. * takes each column as a feature. IDs are by default in the
        column that the list of nodes has them in, id, or the first. A whole file (npy, Parquet, CSV, or raw binary,
        such as feat.bin:float32:128) or an array of an npz file has its rows in the order of the list of nodes, or of
        IDs if they are not mapped.
    edge_data : Mapping[str, Mapping[str, Rows] | Rows], optional
        An edge feature from npy, Parquet or CSV, its rows in the order of the edges; * takes each column as a feature.
    split : Mapping[str, Rows], optional
        A column of nodes that names their sets: train, val (valid, validation) or test. It becomes train_mask, val_mask
        and test_mask; nodes without a word or without a row are in none. The column, split by default, is joined by
        node ID, as for features.
    masks : Mapping[str, Mapping[str, Rows] | Rows], optional
        A list of node IDs that becomes a mask, such as train_mask.
    endpoints : str | Sequence[str], optional
        Names or 0-based numbers of the ID columns. Default: those named src and dst, or alike; without a header the
        first two.
    edge_features : str | Sequence[str] | Mapping[str, str | Sequence[str]], default ()
        Columns to keep as edge features, of the tables of one edge type, or of all. Numbers in text become int64, or
        float64 if one is not an integer.
    delimiter : str, optional
        What separates fields of text; guessed by default. space is any run of spaces and tabs; colons are two, ::.
    decimal : str, optional
        What separates fractions in text; guessed by default. Commas that may separate thousands are refused unless you
        say comma.
    header : bool, optional
        Whether the first line of text names the columns; guessed by default.
    comment : str, default "#"
        Skip lines at the top of text that begin with this character; '' for none.
    map_ids : bool, optional
        Map string or sparse IDs to 0, 1, 2 and so on. They are sorted by number, or by UTF-8 bytes;
        id_map/<type>.parquet in the output keeps the map. Default: if IDs are strings, as their columns or most of the
        first rows tell.
    ids_from : str | os.PathLike[str], optional
        Continue the mapped IDs of an earlier graph, or of its partitions. Other nodes follow. Nodes that are gone stay,
        without edges.
    codes_from : str | os.PathLike[str], optional
        Keep the codes that strings have in an earlier graph. Or in its partitions, if they have ID maps. Other strings
        follow.
    id_type : Literal["auto", "integer", "string"], default "auto"
        What mapped IDs are. auto takes integers if all look like integers, and refuses a mixture.
    unknown_nodes : Literal["add", "drop", "error"], default "add"
        What to do with nodes that edges name and node lists do not. They are added, dropped with their edges, or
        refused.
    missing_ids : Literal["error", "drop"], default "error"
        What to do with rows that have no ID. They are refused, or dropped and counted.
    fill : Mapping[str, object] | object, optional
        Value for missing entries of a feature, or of all features. Without it missing numbers are an error, and missing
        strings get the code -1; for these, name a category. The dtype grows to hold the value.

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
    >>> scan = dgp.scan_tables("follows.tsv", map_ids=True)
    >>> scan
    Scan of 'graph', not read yet; collect() reads it
    edges      _N:_E:_N: follows.tsv
    files      follows.tsv, 24 B
    >>> dgp.partition(scan, "parts", 2, method="random")
    PartitionedGraph 'graph': 2 parts, 3 nodes, 3 edges
    part  own nodes  halo nodes  own edges  on disk
    ----  ---------  ----------  ---------  -------
       0          2           0          2   5.4 kB
       1          1           1          1   5.4 kB
    edge cut 33.33%; largest part / average: nodes 1.333, edges 1.333
    next: parts.report(), parts.verify(graph), parts.part(0).to_pyg()
    in DGL: dgl.distributed.load_partition('parts/graph.json', 0)
    """
    reading = ReadOptions(
        endpoints=words_of(endpoints), edge_features=columns_by_type(edge_features), delimiter=delimiter,
        decimal=decimal, header=header, comment=comment, map_ids=map_ids, ids_from=ids_from, codes_from=codes_from,
        id_type=id_type, unknown_nodes=unknown_nodes, missing_ids=missing_ids, fill=fill,
    )  # fmt: skip
    tables = {"nodes": nodes, "node_data": node_data, "edge_data": edge_data, "masks": masks, "split": split}
    counts = {"num_nodes": num_nodes, "num_edges": num_edges}
    return _scan_of({"edges": edges, **tables, **counts}, name, reading)


def described_tables(values: Mapping[str, Any]) -> Scan:
    """Describe tables by the values of options, which may change the graph as well."""
    return _scan_of(values, values.get("name", "graph"), chosen(ReadOptions, values), chosen(GraphChanges, values))


def _scan_of(tables: Mapping[str, Any], name: str, reading: ReadOptions, changes: GraphChanges = NO_CHANGES) -> Scan:
    beside = (tables.get(kind) or {} for kind in ("nodes", "node_data", "edge_data", "masks", "split"))
    named = named_tables(tables["edges"], *beside, are_mapped=bool(reading.map_ids), ends=reading.endpoints)
    counts: dict[str, Any] = {kind: tables.get(kind) or {} for kind in ("num_nodes", "num_edges")}
    return TableScan(Tables(**named, **counts), name, reading, changes)


@check_keywords
def scan_dataset(
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
        As by `scan_tables`.

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
    >>> dgp.scan_dataset("ogb", "dataset/ogbn_products").collect()
    Graph 'ogbn_products': 60 nodes, 200 edges, 5.1 kB
    type      count  files    size  features
    --------  -----  -----  ------  ----------------------------------------------------------------------------
    _N           60      5  1.9 kB  feat float32[5], label int64, train_mask bool, val_mask bool, test_mask bool
    _N:_E:_N    200      2  3.2 kB
    """
    tables = describe_dataset(kind, path)
    _leave_out(tables, leave_out)
    return described_tables({**tables, "name": name or Path(path).absolute().name})


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
