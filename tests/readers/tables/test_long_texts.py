"""Categories of any length: few of megabytes in many rows take what the few take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError, PlanError
from daskgraphpart.readers.tables.load import loaded_tables

if TYPE_CHECKING:
    from pathlib import Path

TYPE = "_N:_E:_N"
WORDS = ["b" * 20_000, "a" * 20_000, "a" * 20_000 + "b", "short", "", "\x02long:x", "\x02", None, "é" * 9000]


def write(path: Path, form: str, values: list[Any]) -> Any:
    rows = {"src": [*range(len(values))], "dst": [*reversed(range(len(values)))], "c": values}
    if form == "csv":
        pl.DataFrame(rows).write_csv(path, quote_style="non_numeric")
    elif form == "frame":
        return pl.DataFrame(rows)
    else:
        column = pa.array(values, pa.binary() if form == "binary" else pa.string())
        rows["c"] = column.dictionary_encode() if form == "codes" else column
        parquet.write_table(pa.table(rows), path, row_group_size=7)
    return str(path)


@pytest.mark.parametrize("longest", [loaded_tables.LONG, 3])
@pytest.mark.parametrize("form", ["csv", "parquet", "codes", "binary", "frame"])
def test_codes_are_ranks_of_whole_texts(
    form: str, longest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tables, "LONG", longest)
    values = [WORDS[i] for i in np.random.default_rng(0).integers(0, len(WORDS), 60)]
    given = write(tmp_path / "e", form, [v and v.encode() for v in values] if form == "binary" else values)
    dgp.scan_tables(given, map_ids=True, edge_features=["c"]).write_chunked(tmp_path / "out", memory="300MB", workers=2)
    ranks = {text: i for i, text in enumerate(sorted({v for v in values if v is not None}, key=str.encode))}
    codes = dgp.read_chunked(tmp_path / "out").edge_data[TYPE]["c"].compute(scheduler="sync")
    assert [-1 if v is None else ranks[v] for v in values] == codes.tolist()
    kept = parquet.read_table(tmp_path / "out" / "categories" / TYPE / "c.parquet")
    assert [*ranks] == kept.column(0).to_pylist()


def test_long_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    given = write(tmp_path / "e", "binary", [b"a" * 20_000, b"\xff" * 20_000])
    with pytest.raises(InputFileError, match="row 1, column 'c'"):
        dgp.scan_tables(given, map_ids=True, edge_features=["c"]).collect(memory="300MB", workers=1)


@pytest.mark.parametrize("form", ["csv", "codes"])
def test_categories_of_a_megabyte_end_or_say_how_much_memory_is_enough(form: str, tmp_path: Path) -> None:
    words = [f"{i:02d}" + "x" * 1_000_000 for i in range(50)]
    given = write(tmp_path / "e", form, [words[i * 7 % 50] for i in range(100 if form == "codes" else 60)])
    scan = dgp.scan_tables(given, map_ids=True, edge_features=["c"])
    with pytest.raises(PlanError) as refusal:
        scan.collect(memory="64MB", workers=2)
    enough = re.search(r"[Uu]se (\d+MB) or more", str(refusal.value))
    assert enough is not None
    codes = scan.collect(memory=enough[1], workers=2).edge_data[TYPE]["c"].compute(scheduler="sync")
    assert [i * 7 % 50 for i in range(len(codes))] == codes.tolist()
