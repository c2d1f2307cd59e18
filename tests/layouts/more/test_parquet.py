"""`--layout parquet`, read by dask, DuckDB and polars."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from commands import call
from graphs import Graph, file_hashes
from layout_readers import parquet_agrees
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import EdgeType, GraphSchema, NodeType
from daskgraphpart.array_layouts.parquet import ROW_GROUP_NBYTES, ParquetLayout
from daskgraphpart.errors import OptionError
from daskgraphpart.schema import DataSpec

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def small() -> Graph:
    """Every dtype, vectors and matrices, a type without edges."""
    rng = np.random.default_rng(0)
    types = (EdgeType("u", "r", "v", 60), EdgeType("v", "s", "u", 0))
    schema = GraphSchema("g", (NodeType("u", 12), NodeType("v", 3)), types)
    dtypes = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
    data = {f"x {dtype}": (rng.random((12, 3)) * 9).astype(dtype) for dtype in dtypes}
    nodes = {"u": {**data, "train_mask": rng.random(12) < 0.5, "matrix": rng.random((12, 3, 2)).astype("f4")}}
    edges = {"u:r:v": (rng.integers(0, 12, 60), rng.integers(0, 3, 60)), "v:s:u": (np.empty(0, int), np.empty(0, int))}
    return Graph(schema, edges, nodes, {"u:r:v": {"w": rng.random(60)}})


@pytest.mark.parametrize("how", [(), ("--staging", "zarr"), ("--memory", "40MB", "--keep-workspace")])
def test_any_types_beside_other_layouts(how: tuple[str, ...], small: Graph, tmp_path: Path) -> None:
    source, out = small.write(tmp_path / "in"), tmp_path / "out"
    common = ("--num-parts", "7", "--method", "random", "--quiet")
    assert call("partition", source, tmp_path / "alone", *common) == 0
    for _again in range(2):
        assert call("partition", source, out, *common, "--layout", "dgl,parquet", "--overwrite", *how) == 0
    parquet_agrees(small, [out])
    assert file_hashes(tmp_path / "alone").items() <= file_hashes(out).items()
    assert call("verify", source, out, "--quiet") == 0
    damaged = out / "parquet" / "edges" / "u__r__v" / "part=1" / "data.parquet"
    damaged.write_bytes(damaged.read_bytes() + b"\0")
    assert call("verify", source, out, "--quiet") == 1


def test_row_groups_are_of_one_size_whatever_the_memory(tmp_path: Path) -> None:
    rows, rng = 3 * ROW_GROUP_NBYTES // 64, np.random.default_rng(0)
    schema = GraphSchema("g", (NodeType("_N", rows),), (EdgeType("_N", "_E", "_N", 1),))
    edges, data = {"_N:_E:_N": (np.zeros(1, int), np.zeros(1, int))}, {"_N": {"x": rng.random((rows, 8), np.float64)}}
    source, found = Graph(schema, edges, data).write(tmp_path / "in"), []
    for memory, cluster in (("100MB", "sync"), ("2GB", "threads")):
        how: Any = ("--num-parts", "1", "--method", "random", "--layout", "parquet", "--quiet", "--memory", memory)
        assert call("partition", source, tmp_path / memory, *how, "--cluster", cluster) == 0
        found.append(file_hashes(tmp_path / memory))
    assert found[0] == found[1]
    metadata = duckdb.sql(f"select * from parquet_metadata('{tmp_path}/2GB/parquet/nodes/_N/*/*.parquet')")
    assert len(set(metadata["row_group_id"].fetchnumpy()["row_group_id"].tolist())) == 4


@pytest.mark.parametrize(
    "spec", [("new_id", ()), ("own_id", ()), ("Orig_ID", ()), ("part", ()), ("x", (0,)), ("x", (2, 0))]
)
def test_features_that_no_column_can_hold_are_refused(spec: tuple[str, tuple[int, ...]]) -> None:
    feature = DataSpec(spec[0], np.dtype("f4"), spec[1])
    with pytest.raises(OptionError, match="cannot be a table column"):
        ParquetLayout().check_fits(GraphSchema("g", (NodeType("u", 1, (feature,)),), ()))


@pytest.mark.parametrize("ids", ["strings", "integers"])
def test_nodes_have_their_own_ids(ids: str, tmp_path: Path) -> None:
    """DuckDB and polars need no map: of a graph from tables, and of one that is there; whatever the batches."""
    names = [f"n{i * 7 % 40:02}" if ids == "strings" else i * 7 % 40 * 100 for i in range(40)]
    pd.DataFrame({"src": names, "dst": [*names[1:], names[0]]}).to_csv(tmp_path / "e.csv", index=False)
    pd.DataFrame({"id": names, "x": range(40)}).to_csv(tmp_path / "n.csv", index=False)
    tables = dgp.scan_tables(tmp_path / "e.csv", map_ids=True, node_data={"_N": {"x": f"{tmp_path}/n.csv:x"}})
    graph, found = tables.write_chunked(tmp_path / "graph"), []
    for given, name in ((tables, "a"), (graph, "b")):
        dgp.partition(given, tmp_path / name, 3, method="random", layout="dgl,parquet", progress=False)
        nodes = pl.read_parquet(tmp_path / name / "parquet/nodes/_N", hive_partitioning=True)
        found.append(file_hashes(tmp_path / name / "parquet"))
        assert dict(nodes.select("own_id", "x").iter_rows()) == dict(zip(names, range(40), strict=True))
        parts = dgp.open_partitions(tmp_path / name)
        assert parts.own_ids("_N", nodes["new_id"].to_numpy()).tolist() == nodes["own_id"].to_list()
    assert found[0] == found[1]
    one = duckdb.sql(f"select x from '{tmp_path}/a/parquet/nodes/_N/*/*.parquet' where own_id = '{names[5]}'")
    assert one.fetchall() == [(5,)]


def test_wholegraph_gets_each_array_in_files_of_scalar_columns(tmp_path: Path) -> None:
    """Read by pylibwholegraph 26.10's `_iter_parquet_tensors`, these files gave the same rows."""
    rng = np.random.default_rng(3)
    data = {"x": rng.random((90, 5), np.float32), "y": rng.integers(0, 9, 90), "train_mask": rng.random(90) < 0.5}
    graph = dgp.from_edges(rng.integers(0, 90, (2, 400)), num_nodes=90, node_data={"_N": data})
    how: Any = {"method": "random", "layout": "dgl,parquet", "layout_options": {"wholegraph": True}, "progress": False}
    parts = dgp.partition(graph, tmp_path, 3, **how)
    parts = parts.add_node_data({"_N": {"later": np.arange(90.0)}}, progress=False)
    assert parts.verify(graph).ok
    arrays = json.loads((tmp_path / "parquet/parquet.json").read_text())["arrays"]
    for name in ("x", "y", "train_mask", "later"):
        of = arrays[f"node_data/_N/{name}"]
        files = [
            parquet.ParquetFile(tmp_path / f"parquet/{of['prefix']}_part_{part}_of_3.parquet") for part in range(3)
        ]
        assert np.cumsum([0, *(file.metadata.num_rows for file in files)]).tolist() == of["offsets"]
        columns = [np.column_stack([column.to_numpy() for column in file.read().columns]) for file in files]
        expected = parts.node_data["_N"][name].compute().reshape(90, -1)
        np.testing.assert_array_equal(np.concatenate(columns), expected)
        assert columns[0].dtype.name == of["dtype"]
