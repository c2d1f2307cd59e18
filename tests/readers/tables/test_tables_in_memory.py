"""Tables in memory, of any library, are taken as the same tables in files: by the IDs of their rows, or refused."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import file_hashes
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_NODES, NUM_EDGES = 500, 3000
ETYPE = "_N:_E:_N"
RNG = np.random.default_rng(0)
NAMES = np.array([f"u{i:04d}" for i in range(NUM_NODES)], object)
EDGES = pd.DataFrame(
    {
        "src": NAMES[RNG.integers(0, NUM_NODES, NUM_EDGES)],
        "dst": NAMES[RNG.permutation(np.arange(NUM_EDGES) % NUM_NODES)],
    }
).assign(w=np.arange(NUM_EDGES) / 8)
NODES = pd.DataFrame({"id": NAMES, "age": np.arange(NUM_NODES) % 90}).sample(frac=1, random_state=3)
CHOSEN = NAMES[::7]


def parts_of(frame: pd.DataFrame) -> list[pd.DataFrame]:
    return [frame[:100], frame[100:101], frame[101:]]


def in_files_of_dask(frame: pd.DataFrame) -> Any:
    path = Path(tempfile.mkdtemp()) / "table.parquet"
    frame.reset_index(drop=True).to_parquet(path)
    return dd.read_parquet(path)


TABLES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "a list of pandas": parts_of,
    "dask": lambda frame: dd.from_pandas(frame.reset_index(drop=True), npartitions=4),
    "dask, which reads files": in_files_of_dask,
    "polars": lambda frame: pl.from_pandas(frame),
    "Arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "a record batch reader": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(100),
    "DuckDB": lambda frame: duckdb.connect().from_df(frame),
    "a list of several libraries": lambda frame: [pl.from_pandas(frame[:100]), frame[100:]],
}


def written(tmp_path: Path, edges: Any, **keywords: Any) -> dict[str, str]:
    graph = dgp.scan_tables(edges, map_ids=True, **keywords)
    graph.write_chunked(tmp_path / "out", overwrite=True, progress=False)
    return {name: found for name, found in file_hashes(tmp_path / "out").items() if "metadata" not in name}


@pytest.fixture(scope="module")
def of_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the same tables give as files."""
    tmp_path = tmp_path_factory.mktemp("files")
    for name, frame in (("edges", EDGES), ("nodes", NODES), ("chosen", pd.DataFrame({"id": CHOSEN}))):
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / f"{name}.parquet")
    return written(
        tmp_path,
        f"{tmp_path}/edges.parquet",
        edge_features="w",
        node_data={"_N": {"age": f"{tmp_path}/nodes.parquet:id:age"}},
        masks={"_N": {"train_mask": f"{tmp_path}/chosen.parquet"}},
    )


@pytest.mark.parametrize("library", TABLES)
def test_tables_of_any_library_are_those_of_files(library: str, of_files: dict[str, str], tmp_path: Path) -> None:
    make = TABLES[library]
    masks = {"_N": {"train_mask": make(pd.DataFrame({"id": CHOSEN}))}}
    assert written(tmp_path, make(EDGES), node_data={"_N": {"age": make(NODES)}}, masks=masks) == of_files


@pytest.mark.parametrize(
    "ages",
    [
        NODES.set_index("id")["age"],
        NODES.set_index("id"),
        NODES.set_index("id").rename_axis(None)["age"],
        dd.from_pandas(NODES.set_index("id")["age"], npartitions=3),
        dd.from_pandas(NODES.set_index("id"), npartitions=3, sort=False),
    ],
    ids=["series", "frame", "index without a name", "dask series", "dask frame"],
)
@pytest.mark.parametrize("chosen", [CHOSEN.tolist(), CHOSEN, pd.Series(CHOSEN), pl.Series(CHOSEN.tolist())])
def test_features_are_joined_by_index_and_masks_are_lists(
    ages: Any, chosen: Any, of_files: dict[str, str], tmp_path: Path
) -> None:
    found = written(tmp_path, EDGES, node_data={"_N": {"age": ages}}, masks={"_N": {"train_mask": chosen}})
    assert sorted(found.values()) == sorted(of_files.values()), "files of features may be numbered otherwise"


@pytest.mark.parametrize(
    ("ages", "what"),
    [
        (NODES["age"].reset_index(drop=True), "nothing says which node a row belongs to"),
        (NODES[["age"]].reset_index(drop=True), "nothing says which node a row belongs to"),
        (NODES.assign(more=1), None),
        (NODES[["id"]], "not exactly one column in addition to the IDs"),
        (NODES.rename(columns={"age": "a"}).assign(b=1), "not exactly one column in addition to the IDs"),
        (NODES.set_index(["id", "age"]).assign(x=1)["x"], "an index of several levels is no node ID"),
        (np.arange(NUM_NODES) % 90, "rows of _N/age have no IDs"),
        ((np.arange(NUM_NODES) % 90).tolist(), "rows of _N/age have no IDs"),
        (pl.from_pandas(NODES).lazy(), "a LazyFrame has no rows yet"),
    ],
)
def test_values_without_ids_are_refused_with_what_to_give(ages: Any, what: str | None, tmp_path: Path) -> None:
    if what is None:
        assert written(tmp_path, EDGES, node_data={"_N": {"age": ages}})
        return
    with pytest.raises(OptionError, match=what):
        written(tmp_path, EDGES, node_data={"_N": {"age": ages}})


def test_tables_of_a_list_have_the_same_columns(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="differ in their columns: expected src, dst, w, found src, dst"):
        written(tmp_path, [EDGES, EDGES[["src", "dst"]]])


@pytest.mark.parametrize("library", TABLES)
def test_dense_ids_need_no_tables(library: str, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(NUM_NODES)
    edges = pd.DataFrame({"src": order, "dst": np.arange(NUM_NODES), "w": np.arange(NUM_NODES) / 4})
    ages = pd.Series(order * 2, index=order)
    graph = dgp.from_edges(TABLES[library](edges), node_data={"age": ages})
    assert graph.node_data["_N"]["age"].compute().tolist() == list(range(0, 2 * NUM_NODES, 2))
    parts = dgp.partition(graph, tmp_path / "parts", 2, method="random", progress=False)
    assert parts.verify(graph, progress=False).ok
    np.testing.assert_array_equal(graph.edges[ETYPE].compute().to_numpy(), edges[["src", "dst"]].to_numpy())
    np.testing.assert_array_equal(graph.edge_data[ETYPE]["w"].compute(), edges["w"])


@pytest.mark.parametrize("ids", [[0, 1, 3], [0, 1, 1]])
def test_dense_ids_of_rows_are_all_there_once(ids: list[int]) -> None:
    edges = pd.DataFrame({"src": [0, 1, 2], "dst": [1, 2, 0]})
    with pytest.raises(OptionError, match=r"_N/y: not a row for each node: expected each ID below 3 once"):
        dgp.from_edges(edges, node_data={"y": pd.Series([1, 2, 3], index=ids)})


@pytest.mark.parametrize("road", ["objects", "Arrow", "16 bytes"])
def test_uuids_are_ids(road: str, tmp_path: Path) -> None:
    ids = [uuid.UUID(int=i * 2**90 + 5) for i in (3, 1, 2)]
    columns = {"src": ids, "dst": ids[::-1]}
    edges: Any = pd.DataFrame(columns)
    if road != "objects":
        kind = pa.uuid() if road == "Arrow" else pa.binary(16)
        edges = pa.table({name: pa.array([one.bytes for one in column], kind) for name, column in columns.items()})
        parquet.write_table(edges, tmp_path / "edges.parquet")
        edges = f"{tmp_path}/edges.parquet"
    written(tmp_path, edges)
    assert dgp.read_id_map(tmp_path / "out", "_N")["id"].compute().tolist() == sorted(map(str, ids))
    frame = dgp.read_chunked(tmp_path / "out").edges[ETYPE].compute()
    assert frame.to_numpy().tolist() == [[2, 1], [0, 0], [1, 2]]


@pytest.mark.parametrize("given", [None, 7, {1, 2}])
@pytest.mark.parametrize("place", ["nodes", "node_data", "edge_data", "masks", "split"])
def test_what_is_neither_rows_nor_files_is_refused(given: Any, place: str) -> None:
    edges = pd.DataFrame({"src": [0, 1], "dst": [1, 0]})
    told = {place: {"n:e:n" if place == "edge_data" else "n": given if place in ("nodes", "split") else {"x": given}}}
    with pytest.raises(dgp.errors.OptionError):
        dgp.plan(dgp.scan_tables(edges={"n:e:n": edges}, **told), 2)
