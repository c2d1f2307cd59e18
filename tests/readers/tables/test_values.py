"""Values of tables become the numbers that they are, or one error that names the row: no text is taken for another."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from edge_lists import DEFAULT, chunk
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart import read_chunked
from daskgraphpart.errors import InputFileError, OptionError
from daskgraphpart.readers.tables.describe.column_file import BYTES_PER_BATCH, open_parquet_file
from daskgraphpart.readers.tables.describe.parquet_batches import BYTES_PER_READ
from daskgraphpart.readers.tables.describe.table_files import find_files, with_form
from daskgraphpart.readers.tables.read_options import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path

NOON = 1_714_564_800_000_000  # 2024-05-01 12:00 UTC, in microseconds
HOUR = 3_600_000_000


def write_text(tmp_path: Path, **columns: list[str]) -> Path:
    """Edges in text, with further columns of two rows."""
    path, rows = tmp_path / "e.csv", zip(*columns.values(), strict=True)
    lines = [["src", "dst", *columns], *([str(i), "0", *row] for i, row in enumerate(rows))]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


def features(tmp_path: Path, path: Path, names: list[str], **options: Any) -> dict[str, np.ndarray]:
    """Columns of a table as features of edges."""
    out = chunk(tmp_path / "out", path, edge_features=names, **options)
    return {name: rows.compute(scheduler="sync") for name, rows in read_chunked(out).edge_data[DEFAULT].items()}


def refused(tmp_path: Path, path: Path, names: list[str], **options: Any) -> InputFileError:
    """The error that a table of edges with these features is."""
    with pytest.raises(InputFileError) as caught:
        features(tmp_path, path, names, **options)
    return caught.value


def test_text_is_a_number_if_it_is_written_as_one(tmp_path: Path) -> None:
    columns: dict[str, tuple[list[str], list[Any]]] = {
        "a": (["2023_1", "20_231"], [0, 1]),  # categories: what underscores join is no number
        "b": (["x", "1_0.5"], [1, 0]),
        "c": (["\u0661", "1"], [1, 0]),  # an Arabic digit
        "d": (["1", "+2"], [1, 2]),
        "e": (["1", " 2 "], [1, 2]),
        "f": (["1", "1e3"], [1.0, 1000.0]),
        "g": (["1", ".5"], [1.0, 0.5]),
        "h": (["NaN", "-inf"], [np.nan, -np.inf]),
    }
    path = write_text(tmp_path, **{name: texts for name, (texts, _) in columns.items()})
    found = features(tmp_path, path, list(columns))
    for name, (_, expected) in columns.items():
        np.testing.assert_array_equal(found[name], np.array(expected), strict=True)


@pytest.mark.parametrize(
    ("first", "value"),
    [("1.5", "4_7"), ("nan", "4_7")]
    + [
        ("1", value) for value in ("4_7", "1e0_1", "_1", "+-5", "nan(5)", "0x1F", "0b1", "\u0661", '"1,,"', "1 2", "5f")
    ],
)
def test_text_that_is_no_number_is_refused_beside_numbers(first: str, value: str, tmp_path: Path) -> None:
    error = refused(tmp_path, write_text(tmp_path, v=[first, value]), ["v"])
    assert (error.what, error.place) == ("not a number", "line 3, column 'v'")


def test_times_are_those_of_utc_whatever_their_offset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    times = {
        "2024-05-01 12:00:00": NOON,
        "2024-05-01T12:00": NOON,
        "2024-05-01": NOON - 12 * HOUR,
        "2024-05-01T12:00:00Z": NOON,
        "2024-05-01 12:00:00 UTC": NOON,
        "2024-05-01 12:00:00+02:00": NOON - 2 * HOUR,
        "2024-05-01T12:00:00-07:00": NOON + 7 * HOUR,
        "2024-05-01 12:00:00-07": NOON + 7 * HOUR,
        "2024-05-01 12:00:00 +0530": NOON - 11 * HOUR // 2,
        "2024-05-01 12:00:00.1234567+00:00": NOON + 123_456,
        " 2024-05-01 12:00:00.5 ": NOON + 500_000,
        "1969-12-31 23:59:59.9999999": -1,
    }
    found = features(tmp_path, write_text(tmp_path, v=list(times)), ["v"])["v"]
    np.testing.assert_array_equal(found, np.array(list(times.values())), strict=True)


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-01 12:00:00 Europe/Berlin", "2024-05-01 12:00:00+99:00", "2024-02-30", "2024-05-01 25:00:00",
        "infinity", "epoch", "2024/05/01", "12024-05-01", "2024-05-01 12:00:00 +", "now",
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_beside_times(value: str, tmp_path: Path) -> None:
    error = refused(tmp_path, write_text(tmp_path, v=["2024-05-01", value]), ["v"])
    assert (error.what, error.place) == ("not a timestamp", "line 3, column 'v'")
    assert error.hint


def write_parquet(tmp_path: Path, **columns: Any) -> Path:
    """Edges in parquet, with further columns."""
    path, num_rows = tmp_path / "e.parquet", len(next(iter(columns.values())))
    parquet.write_table(pa.table({"src": range(num_rows), "dst": [0] * num_rows, **columns}), path, row_group_size=2)
    return path


def test_times_of_any_unit_are_microseconds_rounded_down(tmp_path: Path) -> None:
    numbers = {
        "s": [-(2**43), 2**43],  # seconds that microseconds can hold, as milliseconds in parquet
        "ms": [-(2**53), 2**53],
        "us": [-(2**63) + 1, 2**63 - 1],
        "ns": [-1, 2**63 - 1],
    }
    columns: dict[str, Any] = {unit: pa.array(values, pa.timestamp(unit)) for unit, values in numbers.items()}
    columns["day"] = pa.array([-(2**26), 2**26], pa.int32()).cast(pa.date32())
    columns["zone"] = pa.array([0, 1], pa.timestamp("ms", "Asia/Tokyo"))
    found = features(tmp_path, write_parquet(tmp_path, **columns), list(columns))
    microseconds = {"s": 10**6, "ms": 1000, "us": 1, "ns": 0.001}
    for unit, values in numbers.items():
        expected = [value // 1000 if unit == "ns" else value * microseconds[unit] for value in values]
        assert found[unit].tolist() == expected, unit
    assert found["day"].tolist() == [-(2**26) * 86_400 * 10**6, 2**26 * 86_400 * 10**6]
    assert found["zone"].tolist() == [0, 1000]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([0, 1, None, 2**62 + 5], pa.timestamp("ms")),
        pa.array([0, 1, None, -(2**53)], pa.timestamp("s")),  # milliseconds in parquet, too
        pa.array([0, 1, None, 2**31 - 1], pa.int32()).cast(pa.date32()),
        pa.array([0, 1, None, 2**30], pa.int32()).cast(pa.date32()).cast(pa.date64()),
        pa.array([0, 1, None, Decimal(10) ** 20], pa.decimal128(30, 0)),
        pa.array([0, 1, None, -(Decimal(10) ** 40)], pa.decimal256(50, 0)),
    ],
    ids=lambda values: str(values.type),
)
def test_what_64_bits_cannot_hold_is_refused_with_its_row(values: Any, tmp_path: Path) -> None:
    error = refused(tmp_path, write_parquet(tmp_path, v=values), ["v"], fill=0)
    assert error.what.endswith("out of range")
    assert error.place == "row 3, column 'v'"
    assert error.hint


@pytest.mark.parametrize(
    ("dtype", "fill", "expected"),
    [
        ("float16", "1e6", "float32"),
        ("float16", "-70000", "float32"),
        ("float16", "1e39", "float64"),
        ("float32", "1e39", "float64"),
        ("float16", "65504", "float16"),
        ("float32", "1e38", "float32"),
        ("float16", "nan", "float16"),
        ("float32", "-inf", "float32"),
        ("int64", "9223372036854775807", "int64"),
        ("uint8", "256", "int32"),
    ],
)
def test_no_fill_becomes_infinite(dtype: str, fill: str, expected: str, tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", np.ones((1, 2), dtype))
    (tmp_path / "n.csv").write_text("id\n0\n")
    path = write_parquet(tmp_path, v=pa.array([1, None], pa.from_numpy_dtype(dtype)))
    how = {"nodes": {"_N": tmp_path / "n.csv"}, "node_data": {"_N": {"f": tmp_path / "f.npy"}}}
    out = chunk(tmp_path / "out", path, edge_features=("v",), fill=fill, **how)
    graph = read_chunked(out)
    found = [graph.edge_data[DEFAULT]["v"], graph.node_data["_N"]["f"][:, 0]]
    for rows in found:
        wanted = np.array([1, float(fill)]) if "." in fill or "e" in fill or "n" in fill else np.array([1, int(fill)])
        np.testing.assert_array_equal(rows.compute(scheduler="sync"), wanted.astype(expected), strict=True)


@pytest.mark.parametrize(
    ("second", "options", "expected"),
    [
        (pa.array([2.5, 3.5]), {}, [[1, 2.5], [2, 3.5]]),
        (pa.array([None, 3], pa.int32()), {"fill": 0.5}, [[1, 0.5], [2, 3]]),
    ],
)
def test_columns_of_a_vector_share_a_dtype_that_holds_all_of_them(
    second: Any, options: dict[str, Any], expected: list[Any], tmp_path: Path
) -> None:
    edges = write_text(tmp_path, w=["1", "2"])
    table = pa.table({"id": [0, 1], "a": pa.array([1, 2], pa.int32()), "b": second})
    parquet.write_table(table, tmp_path / "n.parquet")
    out = chunk(tmp_path / "out", edges, node_data={"_N": {"x": f"{tmp_path}/n.parquet:id:*"}}, **options)
    assert read_chunked(out).node_data["_N"]["x"].compute(scheduler="sync").tolist() == expected


@pytest.mark.parametrize("name", ["\u00b2", "\u00b2,1"])
def test_a_digit_that_is_no_number_names_no_column(name: str, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("0,1\n\u00b2 3\n")
    with pytest.raises((InputFileError, OptionError)):
        chunk(tmp_path / "out", f"{tmp_path}/e.csv:{name}")


@pytest.mark.parametrize("fill", ["1e400", "9223372036854775808", "1_0", "x", "\u0661", "0x1"])
def test_what_is_no_number_of_64_bits_fills_nothing(fill: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        features(tmp_path, write_parquet(tmp_path, v=[1, None]), ["v"], fill=fill)
    assert caught.value.option == "fill"


def gaps() -> dict[str, Any]:
    """Values of two rows, of which one is not there."""
    return {
        "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
        "masked rows": np.ma.array([[1], [2]], mask=[[True], [False]]),
        "nullable integers": pd.array([2**53 + 1, None], "Int64"),
        "nullable bools": pd.Series(pd.array([True, None], "boolean")),
        "integers of Arrow": pd.Series(pd.array([2**53 + 1, None], "int64[pyarrow]")),
        "a masked array of dask": da.from_array(np.ma.array([1, 2], mask=[False, True]), chunks=1),
    }


@pytest.mark.parametrize("what", gaps())
def test_values_that_an_array_lacks_are_refused(what: str, tmp_path: Path) -> None:
    values = gaps()[what]
    edges = (np.array([0, 1]), np.array([1, 0]))
    how = {"output_path": tmp_path / "out", "memory": 64 << 20, "cluster": "sync"}
    with pytest.raises(OptionError, match=r"masked|missing"):
        dgp.chunk_graph(edges, "g", {"x": values}, **how)
    if np.ndim(values) == 1:
        with pytest.raises(OptionError, match=r"masked|missing"):
            dgp.chunk_graph((edges[0], values), "g", **how)
    if isinstance(values, (np.ma.MaskedArray, da.Array)):
        graph = dgp.from_edges(
            {"n:e:n": dd.from_pandas(pd.DataFrame({"src": [0, 1], "dst": [1, 0]}), npartitions=1)},
            node_data={"n": {"x": da.asanyarray(values)}},
        )
        with pytest.raises(OptionError, match="masked"):
            dgp.partition(graph, tmp_path / "parts", 2, method="random", memory=64 << 20, cluster="sync")
    else:
        frame = pd.DataFrame({"src": edges[0], "dst": edges[1], "v": values})
        with pytest.raises(OptionError, match="missing"):
            dgp.chunk_graph(frame, "g", **how)
    assert not (tmp_path / "out").exists()


def test_a_mask_that_masks_nothing_is_no_gap(tmp_path: Path) -> None:
    values = np.ma.array([1.0, 2.0], mask=[False, False])
    path = dgp.chunk_graph((np.array([0, 1]), np.array([1, 0])), "g", {"x": values}, output_path=tmp_path / "out")
    assert read_chunked(path).node_data["_N"]["x"].compute(scheduler="sync").tolist() == [1.0, 2.0]


@pytest.mark.parametrize("size", [2**62, 2**63, 2**64 + 5, 10**30])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_matrix_larger_than_any_graph_is_refused(size: int, place: int, tmp_path: Path) -> None:
    sizes = [3, 3, 2]
    sizes[place] = size
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{' '.join(map(str, sizes))}\n1 2\n2 1\n")
    error = refused(tmp_path, path, [])
    assert (error.file, error.place) == (str(path), "line 2")
    if size < 2**63 and place < 2:
        arrays = {"format": "coo", "shape": sizes[:2], "row": [0], "col": [1], "data": [1.0]}
        np.savez(tmp_path / "m.npz", **arrays)
        assert refused(tmp_path, tmp_path / "m.npz", []).file == str(tmp_path / "m.npz")


def test_vectors_of_text_columns_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("src,dst\n0,1\n1,0\n")
    (tmp_path / "n.csv").write_text("id,a,b\n0,16777217,1\n1,2,3\n")
    (tmp_path / "f.csv").write_text("id,a,b\n0,16777217.5,1\n1,2,3\n")
    data = {"x": f"{tmp_path}/n.csv:id:*", "y": f"{tmp_path}/f.csv:id:*"}
    out = chunk(tmp_path / "out", tmp_path / "e.csv", node_data={"_N": data})
    found = {name: rows.compute() for name, rows in read_chunked(out).node_data["_N"].items()}
    assert (found["x"].dtype, found["x"].tolist()) == (np.int64, [[16777217, 1], [2, 3]])
    assert (found["y"].dtype, found["y"].tolist()) == (np.float64, [[16777217.5, 1.0], [2.0, 3.0]])


def test_strings_of_a_dictionary_are_decoded_in_batches_of_some_megabytes(tmp_path: Path) -> None:
    """All of them together are more than an Arrow array of strings can hold."""
    size, codes = 1 << 20, np.where(np.arange(2_200) == 100, 0, 1).astype(np.int32)
    strings = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(["short", "x" * size]))
    parquet.write_table(pa.table({"v": strings}), tmp_path / "e.parquet")
    (file,) = find_files(str(tmp_path / "e.parquet"), "--edges", ReadOptions())
    lengths, most = [], 0
    for (batch,) in open_parquet_file(with_form(file, tmp_path), ("v",), 0).batches([0]):
        lengths += pc.binary_length(batch).to_pylist()
        most = max(most, batch.nbytes)
    assert lengths == np.where(codes, size, len("short")).tolist()
    assert most <= 2 * BYTES_PER_BATCH


@pytest.mark.parametrize("is_plain", [False, True])
def test_a_long_string_of_a_dictionary_is_refused_before_it_fills_the_memory(is_plain: bool, tmp_path: Path) -> None:
    """In each of its rows, it would take 200 GB."""
    strings = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), pa.array(["x" * 10_000_000]))
    columns = {"src": np.zeros(20_000, int), "dst": np.zeros(20_000, int), "v": strings}
    table, path = pa.table(columns), tmp_path / "e.parquet"
    parquet.write_table(table, path, store_schema=not is_plain, dictionary_pagesize_limit=1 << 30)
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(InputFileError, match=r"row 0, column 'v': text too long: expected 1 MiB at most, found 10,000"):
        dgp.scan_tables(str(path), edge_features="v").collect()
    assert pa.default_memory_pool().max_memory() < before + 200_000_000


def test_rows_of_long_vectors_are_read_in_batches_of_some_megabytes(tmp_path: Path) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12_000_000, dtype=np.float32)), 2_000)
    parquet.write_table(pa.table({"v": vectors}), tmp_path / "v.parquet", use_dictionary=False)
    (file,) = find_files(str(tmp_path / "v.parquet"), "--node-data", ReadOptions())
    sizes = [of.nbytes for (of,) in open_parquet_file(with_form(file, tmp_path), ("v",), 0).batches([0])]
    assert sum(sizes) >= vectors.nbytes and max(sizes) <= 2 * BYTES_PER_READ
