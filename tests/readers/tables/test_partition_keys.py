"""Columns in names of directories, as Hive and Spark write them: features, IDs, and missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, edges_of, originals
from pyarrow import parquet

from daskgraphpart import read_chunked
from daskgraphpart.errors import InputFileError

if TYPE_CHECKING:
    from pathlib import Path

MISSING = "__HIVE_DEFAULT_PARTITION__"


def write(directory: Path, form: str, **columns: list[Any]) -> None:
    """Write a file of a table."""
    directory.mkdir(parents=True)
    if form == "parquet":
        parquet.write_table(pa.table(columns), directory / "0.parquet")
        return
    lines = [columns, *zip(*columns.values(), strict=True)]
    (directory / "0.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("values", "fill", "expected"),
    [(("2023", MISSING), -1, [2023, -1]), (("2024-05-01", MISSING), "2024-05-02", [0, 1])],
)
def test_the_default_partition_is_a_missing_value(
    form: str, values: tuple[str, str], fill: object, expected: list[int], tmp_path: Path
) -> None:
    for i, value in enumerate(values):
        write(tmp_path / "t" / f"p={value}", form, src=[i], dst=[0])
    with pytest.raises(InputFileError) as caught:
        chunk(tmp_path / "out", tmp_path / "t", edge_features=("p",), header=True)
    assert MISSING in str(caught.value.file)
    assert "missing" in caught.value.what
    assert "--fill" in str(caught.value.hint)
    out = chunk(tmp_path / "out", tmp_path / "t", edge_features=("p",), header=True, fill=fill)
    found = read_chunked(out).edge_data[DEFAULT]["p"].compute(scheduler="sync").tolist()
    days = [1_714_521_600_000_000 + 86_400_000_000 * day for day in expected]
    assert found == (days if values[0].startswith("2024-") else expected)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_default_partition_of_strings_has_no_category(form: str, tmp_path: Path) -> None:
    for i, value in enumerate((MISSING, "a%20{0}")):
        write(tmp_path / "t" / f"p={value}", form, src=[i], dst=[0])
    out = chunk(tmp_path / "out", tmp_path / "t", edge_features=("p",), header=True)
    assert read_chunked(out).edge_data[DEFAULT]["p"].compute(scheduler="sync").tolist() == [-1, 0]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_an_id_may_be_a_partition_key(form: str, tmp_path: Path) -> None:
    write(tmp_path / "t" / "src=7", form, dst=[3, 9])
    write(tmp_path / "t" / "src=3", form, dst=[7, 7])
    how: dict[str, Any] = {"header": True, "endpoints": ("src", "dst")}
    assert [ends.tolist() for ends in edges_of(chunk(tmp_path / "dense", tmp_path / "t", **how))] == [
        [3, 3, 7, 7], [7, 7, 3, 9]
    ]  # fmt: skip
    out = chunk(tmp_path / "mapped", tmp_path / "t", map_ids=True, **how)
    assert originals(out) == [3, 7, 9]
    assert [ends.tolist() for ends in edges_of(out)] == [[0, 0, 1, 1], [1, 1, 0, 2]]
    write(tmp_path / "t" / f"src={MISSING}", form, dst=[1])
    with pytest.raises(InputFileError, match="ID is missing"):
        chunk(tmp_path / "out", tmp_path / "t", **how)
    write(tmp_path / "names" / "who=an%20na", form, what=["x", "y"])
    out = chunk(tmp_path / "strings", tmp_path / "names", map_ids=True, header=True, endpoints=("who", "what"))
    assert originals(out) == ["an na", "x", "y"]
    with pytest.raises(InputFileError, match="integers"):
        chunk(tmp_path / "out", tmp_path / "names", header=True, endpoints=("who", "what"), map_ids=False)
