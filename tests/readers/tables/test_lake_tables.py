"""Tables of Delta and Iceberg, written by their own libraries, are read as of their newest version."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from edge_lists import DEFAULT, chunk, edges_of

from daskgraphpart import GraphPartError, read_chunked
from daskgraphpart.errors import InputFileError, InputFileNotFoundError, MissingPackageError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore")  # of these libraries
TABLE = pa.table({"src": [0, 1, 2], "dst": [1, 2, 0], "price": [0.1, 0.2, 0.3], "day": ["a b", "a b", "ü/x"]})


def write_delta(path: Path, **options: Any) -> Path:
    """Two versions appended, then one row of each deleted: half of the files are no longer valid."""
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(path, TABLE, **options)
    deltalake.write_deltalake(path, TABLE, mode="append")
    deltalake.DeltaTable(path).delete("src = 1")
    return path


def write_iceberg(path: Path) -> Path:
    pytest.importorskip("sqlalchemy")
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = sql.SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{path}")
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.sales", schema=TABLE.schema)
    table.append(TABLE)
    table.append(TABLE)
    table.delete("src = 1")
    catalog.engine.dispose()
    return path / "shop" / "sales"


def sorted_edges(out: Path) -> list[tuple[int, int]]:
    return sorted(zip(*(ends.tolist() for ends in edges_of(out)), strict=True))


def test_a_delta_table_has_the_rows_of_its_newest_version(tmp_path: Path) -> None:
    table = write_delta(tmp_path / "sales", partition_by=["day"])
    out = chunk(tmp_path / "out", table, edge_features=("price", "day"))
    assert sorted_edges(out) == [(0, 1), (0, 1), (2, 0), (2, 0)]
    data = read_chunked(out).edge_data[DEFAULT]
    src, _ = edges_of(out)
    np.testing.assert_array_equal(data["price"].compute(scheduler="sync"), np.where(src == 0, 0.1, 0.3))
    np.testing.assert_array_equal(data["day"].compute(scheduler="sync"), np.where(src == 0, 0, 1))


def test_an_iceberg_table_has_the_rows_of_its_newest_version(tmp_path: Path) -> None:
    out = chunk(tmp_path / "out", write_iceberg(tmp_path / "lake"))
    assert sorted_edges(out) == [(0, 1), (0, 1), (2, 0), (2, 0)]


def test_a_table_whose_files_have_rows_that_it_has_not_is_refused(tmp_path: Path) -> None:
    table = write_delta(tmp_path / "sales", configuration={"delta.enableDeletionVectors": "true"})
    with pytest.raises(InputFileError, match="cannot read this Delta table's files as its rows: deletionVectors"):
        chunk(tmp_path / "out", table)


def test_a_table_with_files_that_are_gone_is_refused(tmp_path: Path) -> None:
    table = write_iceberg(tmp_path / "lake")
    (tmp_path / "lake").rename(tmp_path / "moved")
    with pytest.raises(GraphPartError, match="Iceberg table"):
        chunk(tmp_path / "out", tmp_path / "moved" / table.relative_to(tmp_path / "lake"))
    table = write_delta(tmp_path / "sales")
    for path in table.glob("*.parquet"):
        path.unlink()
    with pytest.raises(InputFileNotFoundError, match=r"expected .*\.parquet, found [12] of [12] missing"):
        chunk(tmp_path / "out", table)


@pytest.mark.parametrize(("log", "package"), [("_delta_log", "deltalake"), ("metadata", "pyiceberg")])
def test_a_package_that_is_missing_names_its_extra(
    log: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / "t" / log).mkdir(parents=True)
    (tmp_path / "t" / log / "v1.metadata.json").write_text("{}")
    extra = package.removesuffix("lake").removeprefix("py")
    with pytest.raises(MissingPackageError, match=rf'{package} is not installed\. Run pip install "\.\[{extra}\]"'):
        chunk(tmp_path / "out", tmp_path / "t")
