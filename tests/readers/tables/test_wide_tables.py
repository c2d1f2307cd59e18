"""Values follow their IDs, whatever is read at once: columns, lists and arrays of any width, by IDs of any kind."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, OptionError, PlanError
from daskgraphpart.graph.dask_sources import return_unchanged
from daskgraphpart.readers.tables import stage_frames
from daskgraphpart.readers.tables.describe import parquet_batches, text_rows
from daskgraphpart.readers.tables.load import feature_file
from daskgraphpart.source import Input

if TYPE_CHECKING:
    from pathlib import Path

HOW: dict[str, Any] = {"memory": "500MB", "workers": 1}
NUM_NODES, WIDTH = 97, 7
RNG = np.random.default_rng(5)
VALUES = RNG.random((NUM_NODES, WIDTH)).astype(np.float32)
ORDER = RNG.permutation(NUM_NODES)
KINDS: dict[str, list[Any]] = {
    "string": [f"paper/{i:03d}" for i in range(NUM_NODES)],
    "integer": [10**12 + 7 * i for i in range(NUM_NODES)],
    "uuid": [str(uuid.UUID(int=(i + 1) << 100)) for i in range(NUM_NODES)],
}


def columns_of(ids: list[Any], order: np.ndarray = ORDER) -> dict[str, Any]:
    return {"id": [ids[i] for i in order]} | {f"x{i}": VALUES[order, i] for i in range(WIDTH)}


def write(path: Path, form: str, ids: list[Any]) -> Any:
    """Write a table of IDs and values in shuffled order; return it as given for the feature `v`."""
    table = pa.table(columns_of(ids))
    lists = pa.table({"id": table["id"], "v": pl.Series(VALUES[ORDER]).to_arrow()})
    if form == "csv":
        csv.write_csv(table, path)
        return f"{path}:id:*"
    if form == "frame":
        return pl.from_arrow(lists)
    if form == "pandas":
        return pd.DataFrame({"id": table["id"].to_pylist(), "v": list(VALUES[ORDER])})
    if form == "dask":
        with dask.config.set({"dataframe.convert-string": False}):
            return dd.from_pandas(write(path, "pandas", ids), npartitions=3)
    if form == "dask of lists":
        return dd.from_pandas(lists.to_pandas(types_mapper=pd.ArrowDtype), npartitions=3)
    if form == "lists":
        lists = lists.set_column(1, "v", lists["v"].cast(pa.list_(pa.float32())))
    parquet.write_table(table if form == "columns" else lists, path, row_group_size=60)
    return f"{path}:id:{'*' if form == 'columns' else 'v'}"


@pytest.mark.parametrize("at_once", [(1 << 22, 1 << 19, 32), (300, 21, 2)], ids=["large", "small"])
@pytest.mark.parametrize("form", ["csv", "columns", "lists", "arrays", "frame", "pandas", "dask", "dask of lists"])
@pytest.mark.parametrize("kind", KINDS)
def test_vectors_follow_ids(
    kind: str, form: str, at_once: tuple[int, int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = KINDS[kind]
    monkeypatch.setattr(parquet_batches, "BYTES_PER_READ", at_once[0])
    monkeypatch.setattr(text_rows, "BOUNDS_PER_BATCH", at_once[1])
    monkeypatch.setattr(feature_file, "COLUMNS_PER_FILE", at_once[2])
    monkeypatch.setattr(stage_frames, "COLUMN_NBYTES", at_once[0])
    edges = pl.DataFrame({"src": ids, "dst": ids[1:] + ids[:1]})
    given = write(tmp_path / "feat", form, ids)
    graph = dgp.scan_tables(edges, map_ids=True, node_data={"_N": {"v": given}}).collect(**HOW)
    assert np.array_equal(VALUES, graph.node_data["_N"]["v"].compute().astype(np.float32))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_more_columns_than_are_read_at_once_become_features(form: str, tmp_path: Path) -> None:
    ids = KINDS["string"]
    values = {f"y{i}": np.arange(NUM_NODES)[ORDER] * 100 + i for i in range(feature_file.COLUMNS_PER_FILE + 3)}
    table = pa.table({"id": [ids[i] for i in ORDER], **values})
    (csv if form == "csv" else parquet).__dict__["write_csv" if form == "csv" else "write_table"](table, tmp_path / "t")
    edges = pl.DataFrame({"src": ids, "dst": ids})
    graph = dgp.scan_tables(edges, map_ids=True, node_data={"_N": {"*": f"{tmp_path}/t:id:*"}}).collect(**HOW)
    for i, name in enumerate(values):
        assert np.array_equal(np.arange(NUM_NODES) * 100 + i, graph.node_data["_N"][name].compute())


@pytest.mark.parametrize("last", ["9", "0.5", "+7", " 3", "-0", "1e3"])
def test_numbers_in_text_are_of_one_dtype_wherever_the_odd_one_is(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [str(2**53 + 1), *map(str, range(50)), last, "4"]
    (tmp_path / "e.csv").write_text("src,dst,w\n" + "".join(f"{i},{i},{text}\n" for i, text in enumerate(texts)))
    expected = np.array([int(t) for t in texts]) if last.strip() not in ("0.5", "1e3") else np.array(texts, np.float64)
    for bounds in (1 << 19, 15):
        monkeypatch.setattr(text_rows, "BOUNDS_PER_BATCH", bounds)
        graph = dgp.scan_tables(f"{tmp_path}/e.csv", edge_features="w").collect(**HOW)
        weights = graph.edge_data["_N:_E:_N"]["w"].compute()
        assert weights.dtype == expected.dtype
        assert weights.tobytes() == expected.tobytes()


def write_wide(path: Path, form: str) -> str:
    """Write three rows of 5 MB, in pages of 5 or 15 MB."""
    rows = np.arange(3 * 1_250_000, dtype=np.float32).reshape(3, -1)
    if form == "npz":
        np.savez(path.with_suffix(".npz"), id=np.arange(3), v=rows)
        return f"{path}.npz:id:v"
    lists = pl.Series(rows).to_arrow()
    lists = lists.cast(pa.list_(pa.float32())) if form == "lists" else lists
    options: Any = {"data_page_size": 1 << 30, "use_dictionary": False} if form == "pages" else {}
    parquet.write_table(pa.table({"id": range(3), "v": lists}), path, **options)
    return f"{path}:id:v"


@pytest.mark.parametrize("form", ["npz", "lists", "arrays", "pages"])
def test_a_budget_too_small_for_wide_rows_is_refused_with_one_that_is_enough(form: str, tmp_path: Path) -> None:
    given = write_wide(tmp_path / "x", form)
    scan = dgp.scan_tables(pl.DataFrame({"src": [0, 1], "dst": [1, 2]}), map_ids=True, node_data={"_N": {"v": given}})
    with pytest.raises(PlanError, match=r"rows of 5\.0 MB.*Use (\d+)MB or more") as refusal:
        scan.collect(memory="64MB", workers=1)
    enough = int(re.search(r"Use (\d+)MB", str(refusal.value))[1])  # type: ignore[index]
    with pytest.raises(PlanError, match=f"Use {enough}MB"):
        scan.collect(memory=(enough - 1) * 1_000_000, workers=1)
    found = scan.collect(memory=enough * 1_000_000, workers=2).node_data["_N"]["v"].compute()
    assert np.array_equal(np.arange(3 * 1_250_000).reshape(3, -1), found)


def test_arrays_that_dask_made_text_of_are_refused() -> None:
    vectors = dd.from_pandas(pd.DataFrame({"id": ["a", "b"], "v": list(np.zeros((2, 3)))}), npartitions=1)
    edges = pl.DataFrame({"src": ["a"], "dst": ["b"]})
    with pytest.raises(OptionError, match=r"column 'v' holds text.*'\[0\. 0\. 0\.\]'.*convert-string"):
        dgp.scan_tables(edges, map_ids=True, node_data={"_N": {"v": vectors}}).collect(**HOW)


@pytest.mark.parametrize("width", [1, 3000])
def test_frames_are_written_in_row_groups_of_bounded_bytes(width: int, tmp_path: Path) -> None:
    rows = 2_000_000 if width == 1 else 4000
    frame = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * width, np.float32)), width)})
    unit = stage_frames.FrameUnit(Input(return_unchanged, frame), "frame", str(tmp_path / "x"))
    stage_frames.write_frame(unit, None)
    footer = parquet.ParquetFile(tmp_path / "x").metadata
    groups = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
    assert max(groups) == (65536 if width == 1 else stage_frames.COLUMN_NBYTES // 12_000)


def test_values_that_repeat_are_read_few_at_a_time(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(20_000 * 768, np.float32)), 768)
    parquet.write_table(pa.table({"v": vectors}), tmp_path / "x")  # a dictionary of one number
    assert (tmp_path / "x").stat().st_size < 100_000
    sizes = [batch.nbytes for batch in parquet_batches.read_batches(str(tmp_path / "x"), ["v"])]
    assert max(sizes) < 2 * parquet_batches.BYTES_PER_READ


def test_rows_that_are_dropped_may_hold_anything(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst,w\n1,2,5\n,2,many\n2,1,7\n")
    graph = dgp.scan_tables(f"{tmp_path}/e.csv", map_ids=True, edge_features="w", missing_ids="drop").collect(**HOW)
    assert graph.edge_data["_N:_E:_N"]["w"].compute().tolist() == [5, 7]
    with pytest.raises(InputFileError, match="ID is missing"):
        dgp.scan_tables(f"{tmp_path}/e.csv", map_ids=True, edge_features="w").collect(**HOW)
