"""Rows keep their order at sizes where the database uses several threads, spills, and turns conditions into joins."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import daskgraphpart as dgp

if TYPE_CHECKING:
    from pathlib import Path

NUM_ROWS, NUM_NODES = 600_000, 60_000
WORDS = np.array(["click", "view", "", "buy", "NA", "x y"], object)
SETS = np.array(["train", "val", "", "test"], object)


@cache
def table(num_rows: int = NUM_ROWS) -> pd.DataFrame:
    """Edges between string IDs; each column tells which row it belongs to."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, NUM_NODES, (2, num_rows))
    days = pd.to_datetime((src + dst) % 9000, unit="D").strftime("%Y-%m-%d").to_numpy(object)
    columns = {"src": names(src), "dst": names(dst), "kind": WORDS[(src * 3 + dst) % 6], "day": days}
    weights = (src * 7 + dst) % 1000 / 4
    return pd.DataFrame({**columns, "w": np.where(weights == 0, np.nan, weights)})


def names(ids: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.char.add("u", np.char.zfill(ids.astype(str), 6)).astype(object)
    return found


def described(tmp_path: Path, edges: Any, num_rows: int = NUM_ROWS, **keywords: Any) -> dgp.Graph:
    """Tables of these edges, with features in files of their own: by row, and by node ID in another order."""
    numbers = np.char.lstrip(table(num_rows)[["src", "dst"]].to_numpy(str), "u0").astype("U6")
    src, dst = (np.where(column == "", "0", column).astype(np.int64) for column in numbers.T)
    np.save(tmp_path / "key.npy", src * NUM_NODES + dst)
    nodes = pd.DataFrame({"id": names(np.arange(NUM_NODES)), "age": np.arange(NUM_NODES) % 97})
    nodes.sample(frac=1, random_state=1).to_csv(tmp_path / "nodes.csv", index=False)
    chosen = pd.Series(names(np.arange(0, NUM_NODES, 3)), name="id").sample(frac=1, random_state=2)
    chosen.to_frame().to_csv(tmp_path / "third.csv", index=False)
    write_gaps(tmp_path / "gaps.csv")
    of_nodes = {"age": f"{tmp_path}/nodes.csv:age", "score": f"{tmp_path}/gaps.csv:score"}
    return dgp.scan_tables(
        edges,
        map_ids=True,
        edge_features="kind,day,w",
        edge_data={"_N:_E:_N": {"key": str(tmp_path / "key.npy")}},
        node_data={"_N": of_nodes},
        masks={"_N": {"is_third": f"{tmp_path}/third.csv"}},
        split={"_N": f"{tmp_path}/gaps.csv:set"},
        fill={"score": -1, "w": -1},
        **keywords,
    )


def write_gaps(path: Path) -> None:
    """Nodes that lack scores, words of sets or, every thirteenth, a row."""
    ids = np.arange(NUM_NODES)
    scores = pd.Series(ids % 89, dtype="Int64").mask(ids % 11 == 0)
    nodes = pd.DataFrame({"id": names(ids), "score": scores, "set": SETS[ids % 4]})
    nodes[ids % 13 != 5].sample(frac=1, random_state=3).to_csv(path, index=False)


def digest(directory: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in directory.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(directory)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def assert_rows_are_right(directory: Path) -> None:
    graph, etype = dgp.read_chunked(directory), "_N:_E:_N"
    ids = dgp.read_id_map(directory, "_N")["id"].compute().str[1:].astype("int64").to_numpy()
    frame = graph.edges[etype].compute()
    src, dst = ids[frame["src"]], ids[frame["dst"]]
    np.testing.assert_array_equal(graph.edge_data[etype]["key"].compute(), src * NUM_NODES + dst)
    weights, of_nodes = (src * 7 + dst) % 1000 / 4, {name: of.compute() for name, of in graph.node_data["_N"].items()}
    np.testing.assert_array_equal(graph.edge_data[etype]["w"].compute(), np.where(weights == 0, -1, weights))
    np.testing.assert_array_equal(of_nodes["age"], ids % 97)
    has_row = ids % 13 != 5
    np.testing.assert_array_equal(of_nodes["score"], np.where(has_row & (ids % 11 != 0), ids % 89, -1))
    np.testing.assert_array_equal(of_nodes["is_third"], ids % 3 == 0)
    for name, number in (("train_mask", 0), ("val_mask", 1), ("test_mask", 3)):
        np.testing.assert_array_equal(of_nodes[name], has_row & (ids % 4 == number))


def test_rows_of_text_stay_with_their_features_for_any_number_of_threads(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    table().to_csv(path, index=False)
    found = set()
    for workers, memory in ((1, "200MB"), (4, "1GB")):
        described(tmp_path, str(path)).write_chunked(tmp_path / "out", memory=memory, workers=workers, overwrite=True)
        found.add(digest(tmp_path / "out"))
    assert len(found) == 1
    assert_rows_are_right(tmp_path / "out")


def test_numbers_of_rows_last_when_others_are_dropped(tmp_path: Path) -> None:
    edges = table().copy()
    is_gone = np.arange(NUM_ROWS) % 5 == 0
    edges.loc[is_gone, "src"] = ""
    edges.to_csv(tmp_path / "edges.csv", index=False)
    graph = described(tmp_path, f"{tmp_path}/edges.csv", missing_ids="drop")
    graph.without_duplicates().write_chunked(tmp_path / "out", memory="1GB", workers=2)
    assert_rows_are_right(tmp_path / "out")
    kept = table()[~is_gone].drop_duplicates(["src", "dst"])
    frame = dgp.read_chunked(tmp_path / "out").edges["_N:_E:_N"].compute()
    ids = dgp.read_id_map(tmp_path / "out", "_N")["id"].compute().to_numpy(object)
    assert (ids[frame["src"]] == kept["src"].to_numpy()).all()


def write_as(kind: str, edges: pd.DataFrame, tmp_path: Path) -> Any:
    """The same edges by another road."""
    path, kinds = tmp_path / f"edges.{kind}", edges["kind"].replace({"": None, "NA": None})
    missing = edges.assign(kind=kinds, day=pd.to_datetime(edges["day"]))
    halves = [missing[: len(missing) // 3], missing[len(missing) // 3 :]]
    if kind == "csv":
        edges.to_csv(path, index=False)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(edges.to_csv(index=False).encode(), 1))
    elif kind == "parquet":
        parquet.write_table(pa.Table.from_pandas(missing, preserve_index=False), path, row_group_size=50_000)
    elif kind == "directory":
        path.mkdir()
        for i, half in enumerate((edges[: len(edges) // 3], edges[len(edges) // 3 :])):
            half.to_csv(path / f"part-{i}.csv", index=False)
    elif kind == "hive":
        for i, half in enumerate(halves):
            (path / f"year={i}").mkdir(parents=True)
            parquet.write_table(pa.Table.from_pandas(half, preserve_index=False), path / f"year={i}" / "0.parquet")
    elif kind == "pandas":
        return missing
    elif kind == "arrow":
        return pa.Table.from_pandas(missing, preserve_index=False)
    elif kind == "dask":
        return dd.from_pandas(missing, npartitions=7, sort=False)
    return str(path)


ROADS = ("csv", "csv.gz", "parquet", "directory", "hive", "pandas", "arrow", "dask")


@pytest.mark.long
@pytest.mark.parametrize("road", ROADS)
def test_a_million_rows_have_the_same_bytes_in_ten_runs(road: str, tmp_path: Path) -> None:
    num_rows, chunked, partitions = 1_000_000, set(), set()
    edges = write_as(road, table(num_rows), tmp_path)
    for run in range(10):
        how: dict[str, Any] = {"workers": (1, 2, 4)[run % 3], "memory": "600MB" if run % 2 else "2GB"}
        graph = described(tmp_path, edges, num_rows)
        graph.write_chunked(tmp_path / "out", overwrite=True, **how)
        dgp.partition(graph, tmp_path / "parts", 3, method="random", overwrite=True, **how)
        chunked.add(digest(tmp_path / "out"))
        partitions.add(digest(tmp_path / "parts"))
    assert (len(chunked), len(partitions)) == (1, 1)
    assert_rows_are_right(tmp_path / "out")


@pytest.mark.long
def test_every_road_leads_to_the_same_bytes(tmp_path: Path) -> None:
    found = {}
    for road in ROADS:
        (tmp_path / road).mkdir()
        graph = described(tmp_path / road, write_as(road, table(), tmp_path / road))
        graph.write_chunked(tmp_path / road / "out", workers=2, memory="1GB")
        found[road] = digest(tmp_path / road / "out")
    assert len(set(found.values())) == 1, found
