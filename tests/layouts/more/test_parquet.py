"""`--layout parquet`, read by dask, DuckDB and polars."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
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
    from collections.abc import Iterator


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


@pytest.fixture(scope="module")
def wholegraph() -> Iterator[Any]:
    """`pylibwholegraph.torch.tensor` of its wheel; the compiled part, which needs CUDA, only owns the memory."""
    wheel = Path(__file__).parents[3] / "build" / "wholegraph" / "pylibwholegraph"
    if not wheel.exists():
        pytest.skip("no pylibwholegraph: run `make wholegraph`")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("pylibwholegraph", "pylibwholegraph.torch", "pylibwholegraph.binding"):
            package = ModuleType(name)
            package.__path__ = [str(wheel.joinpath(*name.split(".")[1:]))]
            patched.setitem(sys.modules, name, package)
        patched.setitem(sys.modules, "pylibwholegraph.binding.wholememory_binding", MagicMock())
        yield importlib.import_module("pylibwholegraph.torch.tensor")


def read_by_wholegraph(of: Any, files: list[str], dtype: torch.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Read files as `create_wholememory_tensor_from_filelist` does on two processes, into memory of this one."""
    is_stored = dtype != torch.int8  # WholeGraph has no bool: a mask is converted
    rows = torch.empty(of._resolve_filelist_shape(files, "parquet", dtype, None, shape, is_stored), dtype=dtype)
    middle = len(rows) // 2
    for start, mine in ((0, rows[:middle]), (middle, rows[middle:])):
        owner, stored = MagicMock(shape=rows.shape), of.torch_dtype_to_wholememory_dtype(dtype)
        owner.configure_mock(**{"dim.return_value": rows.dim(), "dtype": stored})
        owner.get_wholememory_handle().get_memory_location.return_value = of.WholeMemoryMemoryLocation.MlHost
        owner.get_local_tensor.return_value = (mine, start)
        of.WholeMemoryTensor(owner).from_filelist(files, file_format="auto")
    found: np.ndarray = rows.numpy()
    return found


@pytest.mark.filterwarnings("ignore:Parquet file .*train_mask:UserWarning")  # of its bool, converted
def test_wholegraph_itself_reads_each_array(wholegraph: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    data = {"x": rng.random((90, 5), np.float32), "y": rng.integers(0, 9, 90), "train_mask": rng.random(90) < 0.5}
    graph = dgp.from_edges(rng.integers(0, 90, (2, 400)), num_nodes=90, node_data={"_N": data})
    how: Any = {"method": "random", "layout": "dgl,parquet", "layout_options": {"wholegraph": True}, "progress": False}
    parts = dgp.partition(graph, tmp_path, 3, **how)
    parts = parts.add_node_data({"_N": {"later": np.arange(90.0)}}, progress=False)
    assert parts.verify(graph).ok
    arrays = json.loads((tmp_path / "parquet/parquet.json").read_text())["arrays"]
    dtypes = {"x": torch.float32, "y": torch.int64, "train_mask": torch.int8, "later": torch.float64}
    for name, dtype in dtypes.items():
        of, expected = arrays[f"node_data/_N/{name}"], parts.node_data["_N"][name].compute()
        files = [str(tmp_path / f"parquet/{of['prefix']}_part_{part}_of_3.parquet") for part in range(3)]
        counts = [parquet.ParquetFile(file).metadata.num_rows for file in files]
        assert np.cumsum([0, *counts]).tolist() == of["offsets"]
        np.testing.assert_array_equal(read_by_wholegraph(wholegraph, files, dtype, expected.shape), expected)
