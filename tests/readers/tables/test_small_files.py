"""Thousands of small files take no more work than a large one, beyond opening each."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import daskgraphpart as dgp
from daskgraphpart.errors import InputFileError
from daskgraphpart.readers import database
from daskgraphpart.readers.tables.load import load_rows

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys, time
import daskgraphpart as dgp
start = time.process_time()
dgp.scan_tables(sys.argv[1], map_ids=True).write_chunked(sys.argv[2], memory="200MB", workers=1, cluster="sync")
print(time.process_time() - start)
"""


def write_files(directory: Path, num_files: int, rows_each: int) -> str:
    directory.mkdir()
    ends = np.random.default_rng(0).integers(0, 5000, (num_files * rows_each, 2)).astype(str)
    for i in range(num_files):
        lines = [f"n{src},n{dst}\n" for src, dst in ends[i * rows_each : (i + 1) * rows_each]]
        (directory / f"{i}.csv").write_text("src,dst\n" + "".join(lines))
    return str(directory)


def read(given: str) -> list[tuple[str, str]]:
    graph = dgp.scan_tables(given, map_ids=True).collect(memory="200MB", workers=1)
    frame = graph.edge_frame("_N:_E:_N").compute(scheduler="sync")
    return list(zip(frame.src.tolist(), frame.dst.tolist(), strict=True))


def test_statements_do_not_follow_the_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements = list[str]()

    def count(connection: object, statement: str) -> list[object]:
        statements.append(statement)
        return run(connection, statement)  # type: ignore[arg-type]

    run = database.run
    monkeypatch.setattr(database, "run", count)
    monkeypatch.setattr(load_rows, "run", count)
    expected, num_statements = read(write_files(tmp_path / "one", 1, 300)), len(statements)
    assert expected == read(write_files(tmp_path / "many", 100, 3))
    assert len(statements) == 2 * num_statements


def test_a_file_that_is_refused_does_not_hide_bad_values_of_others(tmp_path: Path) -> None:
    texts = ["1,2,3\n", "1,2,3\n4,5,many\n6,7\n", "1,2,3\n4,5,few\n", "1,2,3\n"]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.csv").write_text("src,dst,w\n" + text)
    with pytest.raises(InputFileError) as refusal:
        dgp.scan_tables(str(tmp_path), edge_features="w", map_ids=True).collect(memory="200MB", workers=1)
    assert "1.csv, line 4: wrong number of fields" in str(refusal.value)
    assert "2.csv, line 3, column 'w': not a number" in str(refusal.value)
    assert "many" not in str(refusal.value)


@pytest.mark.parametrize("kinds", [["csv", "parquet", "csv"], ["parquet", "parquet", "csv"]])
def test_files_of_several_formats_keep_their_order(kinds: list[str], tmp_path: Path) -> None:
    frames = [pl.DataFrame({"src": [10 * i, 10 * i + 1], "dst": [7, 8], "w": [i, -i]}) for i in range(3)]
    for i, (kind, frame) in enumerate(zip(kinds, frames, strict=True)):
        getattr(frame, f"write_{kind}")(tmp_path / f"{i}.{kind}")
    scan = dgp.scan_tables(f"{tmp_path}/*", map_ids=True, edge_features="w", endpoints=["src", "dst"])
    assert [w for i in range(3) for w in (i, -i)] == scan.collect(memory="200MB").edge_data["_N:_E:_N"][
        "w"
    ].compute().tolist()


@pytest.mark.long
def test_ten_thousand_files_take_a_few_times_what_ten_do(tmp_path: Path) -> None:
    seconds = dict[int, float]()
    for num_files in (10, 10_000):
        given = write_files(tmp_path / f"{num_files}", num_files, 100_000 // num_files)
        command = [sys.executable, "-c", PROGRAM, given, str(tmp_path / f"of {num_files}")]
        seconds[num_files] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert seconds[10_000] < 10 * seconds[10], seconds  # 5 were measured; with a statement for each, 40
